"""One iteration of training, from rollout to update, as one compiled function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from safe_rl.algos.jax.advantages import generalised_advantages, lagrangian_advantages
from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.networks import Networks, Parameters
from safe_rl.algos.jax.rollout import collect
from safe_rl.algos.jax.shards import AXIS, Axis, mean, own_key, total, tree_mean
from safe_rl.algos.jax.state import (
    Controls,
    EndedEpisodes,
    LocalState,
    Product,
    RunningEpisodes,
    RunState,
    SharedState,
)
from safe_rl.algos.jax.statistics import RunningMoments, normalise, scale_rewards
from safe_rl.algos.jax.update import Batch, adam, learn

__all__ = ["Iteration"]

Metrics = dict[str, jax.Array]


@dataclass(frozen=True)
class Iteration:
    """The compiled functions of a run, or of several runs that differ in their seeds.

    Attributes:
        product: the environment under its specifications.
        networks: actor and critics.
        arguments: of the run.
        shards: equal parts of the environments.
        devices: of the runs' seeds where there are several, else of the shards.
        num_seeds: runs side by side; None for one run without an axis of seeds.
    """

    product: Product
    networks: Networks
    arguments: Arguments
    shards: int
    devices: tuple[jax.Device, ...]
    num_seeds: int | None = None

    # --- one run ---------------------------------------------------------------------------------

    def start(self, seed: jax.Array, params: Parameters) -> RunState:
        """Return the state of a new run; ``seed`` is an integer, ``params`` are fresh."""
        key, reset_key = jax.random.split(jax.random.key(seed))
        entries = self.networks.observation_size if self.arguments.normalize_observations else 0
        shared = SharedState(
            params=params,
            optimizer=adam().init(params),
            average=params["actor"] if self.arguments.policy_average else {},
            averaged=jnp.zeros((), jnp.int32),
            observations=RunningMoments.start((entries,)),
            returns=RunningMoments.start(()),
            key=key,
        )
        num_envs = self.arguments.num_envs // self.shards

        def begin(shard_key: jax.Array) -> LocalState:
            env, observation = self.product.reset(shard_key, num_envs)
            episodes = RunningEpisodes.start(num_envs, self.networks.num_costs)
            return LocalState(env, observation.astype(jnp.float32), episodes)

        shard_keys = jax.random.split(reset_key, self.shards)
        return RunState(shared, jax.vmap(begin)(shard_keys))

    def _shard(
        self, shared: SharedState, local: LocalState, controls: Controls, axis: Axis
    ) -> tuple[SharedState, LocalState, EndedEpisodes, Metrics]:
        """Run one shard's part of an iteration; only means and sums pass between shards."""
        arguments, networks = self.arguments, self.networks
        key, base = jax.random.split(shared.key)
        steps = 2 * arguments.n_steps
        keys = jax.random.split(own_key(base, axis), steps + arguments.n_epochs)
        local, rollout, ended, moments = collect(
            self.product, networks, arguments, shared, local, keys[:steps].reshape(-1, 2)
        )
        observations, returns = shared.observations, shared.returns
        last = local.observation
        if arguments.normalize_observations:
            last = normalise(last, observations)
            observations = observations.take(total(moments, axis))
        signals = rollout.signals
        if arguments.normalize_rewards:
            returns = returns.take(total(returns.measure(rollout.discounted.reshape(-1)), axis))
            signals = signals.at[..., 0].set(scale_rewards(signals[..., 0], returns))
        values = networks.values(shared.params, rollout.observations)
        costs = networks.num_costs
        advantages = generalised_advantages(
            signals,
            values,
            networks.values(shared.params, last),
            rollout.dones,
            rollout.bootstraps,
            jnp.asarray([arguments.gamma] + [arguments.for_costs("gamma")] * costs),
            jnp.asarray([arguments.gae_lambda] + [arguments.for_costs("gae_lambda")] * costs),
        )
        combined, scale = lagrangian_advantages(
            advantages, controls.multipliers, arguments.normalize_advantage, axis
        )
        targets = advantages + values
        params, optimizer, losses = learn(
            networks,
            arguments,
            shared.params,
            shared.optimizer,
            Batch(rollout.observations, rollout.actions, rollout.log_probs, combined, targets),
            controls,
            scale,
            keys[steps:],
            axis,
        )
        average, averaged = self._averaged(shared, params["actor"])
        metrics = dict(tree_mean(losses, axis)._asdict())
        metrics["explained_variance"] = _explained(values[..., 0], targets[..., 0], axis)
        metrics["advantage_scale"] = scale
        if not networks.discrete:
            metrics["std"] = jnp.mean(jnp.exp(params["actor"]["log_std"]))
        shared = SharedState(params, optimizer, average, averaged, observations, returns, key)
        return shared, local, total(ended, axis), metrics

    def _averaged(self, shared: SharedState, actor: Any) -> tuple[Any, jax.Array]:
        """Take the actor into its average; early updates weigh more, as on PyTorch."""
        if not self.arguments.policy_average:
            return shared.average, shared.averaged
        done = shared.averaged.astype(jnp.float32)
        keep = jnp.minimum(self.arguments.policy_average, (1.0 + done) / (10.0 + done))
        average = jax.tree.map(
            lambda old, new: old + (1.0 - keep) * (new - old), shared.average, actor
        )
        return average, shared.averaged + 1

    def _run(self, state: RunState, controls: Controls) -> tuple[RunState, EndedEpisodes, Metrics]:
        """Run one iteration of one run, its shards on one device or spread over several."""
        if self.shards == 1:
            shared, local, ended, metrics = self._shard(
                state.shared, jax.tree.map(lambda x: x[0], state.local), controls, None
            )
            return RunState(shared, jax.tree.map(lambda x: x[None], local)), ended, metrics

        def shard(
            shared: SharedState, local: LocalState, controls: Controls
        ) -> tuple[SharedState, LocalState, EndedEpisodes, Metrics]:
            return self._shard(shared, local, controls, AXIS)

        if len(self.devices) == 1 or self.num_seeds is not None:
            mapped: Any = jax.vmap(
                shard, in_axes=(None, 0, None), out_axes=(None, 0, None, None), axis_name=AXIS
            )
        else:

            def on_device(shared: SharedState, local: LocalState, controls: Controls) -> Any:
                own = jax.tree.map(lambda x: x[0], local)
                shared, own, ended, metrics = shard(shared, own, controls)
                return shared, jax.tree.map(lambda x: x[None], own), ended, metrics

            everywhere, split = PartitionSpec(), PartitionSpec(AXIS)
            mapped = jax.shard_map(
                on_device,
                mesh=self._mesh(AXIS),
                in_specs=(everywhere, split, everywhere),
                out_specs=(everywhere, split, everywhere, everywhere),
                check_vma=False,
            )
        shared, local, ended, metrics = mapped(state.shared, state.local, controls)
        return RunState(shared, local), ended, metrics

    # --- several runs, devices, compilation ------------------------------------------------------

    def _mesh(self, name: str) -> Mesh:
        return Mesh(np.asarray(self.devices), (name,))

    def _everything(self, state: RunState, controls: Controls) -> Any:
        if self.num_seeds is None:
            return self._run(state, controls)
        runs: Any = jax.vmap(self._run, in_axes=(0, Controls(0, None, None, None)))  # type: ignore[arg-type]
        if len(self.devices) == 1:
            return runs(state, controls)
        split, everywhere = PartitionSpec("seeds"), PartitionSpec()
        controlled = Controls(split, everywhere, everywhere, everywhere)  # type: ignore[arg-type]
        return jax.shard_map(
            runs,
            mesh=self._mesh("seeds"),
            in_specs=(split, controlled),
            out_specs=split,
            check_vma=False,
        )(state, controls)

    def placement(self, state: RunState) -> Any:
        """Return where each leaf of a state belongs."""
        if len(self.devices) == 1:
            return jax.tree.map(lambda _: jax.sharding.SingleDeviceSharding(self.devices[0]), state)
        mesh = self._mesh(AXIS if self.num_seeds is None else "seeds")
        split = NamedSharding(mesh, PartitionSpec(mesh.axis_names[0]))
        everywhere = NamedSharding(mesh, PartitionSpec())

        def place(leaf: Any, sharding: NamedSharding) -> NamedSharding:
            # An empty array comes back from a compiled function as one that is everywhere.
            return sharding if leaf.size else everywhere

        shared = everywhere if self.num_seeds is None else split
        return RunState(
            jax.tree.map(lambda leaf: place(leaf, shared), state.shared),
            jax.tree.map(lambda leaf: place(leaf, split), state.local),
        )

    def _start_all(self, seeds: jax.Array, params: Parameters) -> RunState:
        if self.num_seeds is None:
            return self.start(seeds[0], jax.tree.map(lambda x: x[0], params))
        return jax.vmap(self.start)(seeds, params)

    def _first(self, seeds: tuple[int, ...]) -> tuple[Any, Parameters]:
        each = [self.networks.init(seed) for seed in seeds]
        return np.asarray(seeds, np.uint32), jax.tree.map(lambda *x: np.stack(x), *each)

    def start_all(self, seeds: tuple[int, ...]) -> RunState:
        """Return the state of new runs, on their devices."""
        state = jax.jit(self._start_all)(*self._first(seeds))
        placed: RunState = jax.device_put(state, self.placement(state))
        return placed

    def shapes(self, seeds: tuple[int, ...]) -> RunState:
        """Return the shapes and types of a state; nothing is computed."""
        found: RunState = jax.eval_shape(self._start_all, *self._first(seeds))
        return found

    def compile(self, state: RunState, controls: Controls) -> Any:
        """Return the compiled iteration; the state that it is given is used up."""
        return jax.jit(self._everything, donate_argnums=0).lower(state, controls).compile()


def _explained(values: jax.Array, returns: jax.Array, axis: Axis) -> jax.Array:
    """Return the part of the returns' variance that the values explain; nan if they have none."""

    def variance(x: jax.Array) -> jax.Array:
        return mean((x - mean(x, axis)) ** 2, axis)

    spread = variance(returns)
    return jnp.where(spread > 0.0, 1.0 - variance(returns - values) / spread, jnp.nan)
