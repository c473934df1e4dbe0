"""Proximal policy optimisation under constraints, by Lagrange multipliers, on the device.

The algorithm is that of :class:`safe_rl.algos.PPOLagrangian`; see there for its sources. The form,
one compiled function per iteration, is that of Lu et al., "Discovered Policy Optimisation" (2022;
PureJaxRL).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import jax
import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.constraint_set import constraint_set
from safe_rl.algos.controllers import Controller
from safe_rl.algos.jax import checkpoint as files
from safe_rl.algos.jax.arguments import Arguments
from safe_rl.algos.jax.checkpoint import Checkpoints
from safe_rl.algos.jax.devices import Devices, choose_devices, devices_for_shards
from safe_rl.algos.jax.iteration import Iteration
from safe_rl.algos.jax.multipliers import Multipliers, controller_of, copy_controller
from safe_rl.algos.jax.networks import Networks
from safe_rl.algos.jax.policy import Policy
from safe_rl.algos.jax.progress_bar import progress_bar as show_progress
from safe_rl.algos.jax.record import RecentEpisodes, RowWriter, writers_per_run
from safe_rl.algos.jax.saved_run import run_meta
from safe_rl.algos.jax.selection import BestPolicyKeeper
from safe_rl.algos.jax.state import Controls, EndedEpisodes, Product, RunState
from safe_rl.algos.selection import BestPolicies
from safe_rl.errors import CheckpointError, ConfigurationError

__all__ = ["PPOLagrangian"]

Row = dict[str, float]


@dataclass
class _Pending:
    """Measurements of an iteration that the host has not fetched yet."""

    step: int
    fps: float
    metrics: dict[str, jax.Array]
    rows: list[Row]


class PPOLagrangian:
    """PPO under limits on expected episode costs, in a product that runs on the device.

    An iteration is one compiled function: ``n_steps`` steps of ``num_envs`` environments,
    advantages of the reward and of every cost, and ``n_epochs`` passes of minibatches. Between two
    iterations the host moves the multipliers from the episodes that *ended*. So the update of an
    iteration uses the multipliers that the iterations before it led to; on PyTorch it uses those
    that its own rollout led to.

    Args:
        product: a ``FunctionalProduct``.
        seed: of all random numbers; several of them train as many runs side by side, each with a
            controller of its own, in one compiled function.
        controller: a :class:`~safe_rl.algos.controllers.Controller` or the name of one.
        controller_kwargs: its arguments, when it is given by name.
        cost_limits: replaces the limits of the specifications; ``[]`` trains without constraints.
        devices: ``"auto"``, a number, or devices. The environments are spread over them, or the
            seeds where there are several.
        shards: equal parts of the environments, each with random numbers of its own; by default one
            per device. The numbers of a run depend on the shards, and not on the devices (up to the
            order of floating-point sums).
        **arguments: see :class:`~safe_rl.algos.jax.arguments.Arguments`.

    Attributes:
        product: the environment under its specifications.
        arguments: the arguments.
        constraints: names and limits.
        controller: the controller (of the first run); ``runs`` holds all.
        runs: the host's part of each run.
        recent: the recent episodes of each run.
        seeds: of the runs.
        iteration: iterations done.
        num_timesteps: environment steps done, of one run.
        total_timesteps: environment steps of the whole training, which schedules refer to.
        compile_seconds: how long compilation took.

    Raises:
        ConfigurationError: arguments that contradict each other or the product.
    """

    def __init__(
        self,
        product: Product,
        *,
        seed: int | Sequence[int] = 0,
        controller: str | Controller = "pid",
        controller_kwargs: Mapping[str, Any] | None = None,
        cost_limits: Sequence[float] | Mapping[str, float] | float | None = None,
        devices: Devices = "auto",
        shards: int | None = None,
        **arguments: Any,
    ) -> None:
        self.product = product
        self.arguments = Arguments.from_plain(arguments)
        self.several = not isinstance(seed, int | np.integer)
        self.seeds = tuple(int(s) for s in np.atleast_1d(np.asarray(seed, dtype=np.int64)))
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ConfigurationError(f"seeds must differ and be at least 0, got {list(self.seeds)}")
        declared = tuple(product.constraints)
        self.constraints = constraint_set(declared, cost_limits)
        if len(self.constraints) > len(declared):
            raise ConfigurationError(
                f"cost_limits names {len(self.constraints)} constraints, but the product charges "
                f"for {len(declared)}; give its specifications limits"
            )
        self.networks = Networks(
            _observation_size(product),
            product.action_space,
            len(self.constraints),
            self.arguments.net_arch,
            self.arguments.share_cost_trunk,
            self.arguments.log_std_init,
        )
        self.controller = controller_of(controller, controller_kwargs)
        self.runs = [
            Multipliers(copy_controller(self.controller), self.constraints, self.arguments)
            for _ in self.seeds
        ]
        self.controller = self.runs[0].controller
        index = [int(i) for i in product.specs.instance_index]
        window = self.arguments.stats_window_size
        self.recent = [
            RecentEpisodes(self.constraints, declared, index, window) for _ in self.seeds
        ]
        self._place(devices, shards)
        self.iteration = 0
        self.num_timesteps = 0
        self.total_timesteps = 0
        self.compile_seconds = 0.0
        self._state: RunState | None = None
        self._compiled: Any = None

    def _place(self, devices: Devices, shards: int | None) -> None:
        if shards is not None and shards < 1:
            raise ConfigurationError(f"shards must be at least 1, got {shards}")
        if self.several:
            chosen = choose_devices(devices, len(self.seeds))
            self.shards = shards or 1
            parts = len(self.seeds)
        else:
            split = [self.arguments.num_envs, self.arguments.batch_size]
            chosen = choose_devices(devices, *split, *([] if shards is None else [shards]))
            self.shards = parts = shards or len(chosen)
        self.arguments.check_shards(self.shards)
        if len(chosen) > 1 and (parts % len(chosen) or (not self.several and parts != len(chosen))):
            raise ConfigurationError(
                f"{parts} {'seeds' if self.several else 'shards'} cannot be spread over "
                f"{len(chosen)} devices; use {'a multiple' if self.several else 'as many'}, or "
                f"devices=1"
            )
        self._iteration = Iteration(
            self.product,
            self.networks,
            self.arguments,
            self.shards,
            chosen,
            len(self.seeds) if self.several else None,
        )

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The devices that the run is spread over."""
        return self._iteration.devices

    @property
    def multipliers(self) -> NDArray[np.float64]:
        """The multipliers now in use, ``[K]``, or ``[seeds, K]`` where there are several."""
        every = np.stack([run.values for run in self.runs])
        return every if self.several else every[0]

    @property
    def state(self) -> RunState:
        """The device's part of the run; an iteration uses it up."""
        if self._state is None:
            self._state = self._iteration.start_all(self.seeds)
        return self._state

    # --- learning --------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        *,
        writers: Sequence[RowWriter] | Sequence[Sequence[RowWriter]] = (),
        checkpoints: Checkpoints | None = None,
        best: BestPolicies | None = None,
        evaluation_product: Product | None = None,
        progress_bar: bool = False,
        on_row: Callable[[int, int, Row], None] | None = None,
    ) -> Self:
        """Train until each run has done ``total_timesteps`` environment steps in all.

        A run that was loaded from a checkpoint goes on to the same total with the same numbers.

        Args:
            total_timesteps: of one run, from its start; annealed arguments refer to it.
            writers: get each iteration's row; with several seeds, one list of writers per seed.
            checkpoints: where to save the run, between iterations and at the end.
            best: when to evaluate the policy, and where to keep the best; of several runs, each in
                a folder ``seed_<seed>``.
            evaluation_product: the environment of those evaluations, where it is another one.
            progress_bar: show a bar, by Rich.
            on_row: called with the number of the run, the steps and the row.
        """
        if total_timesteps < 1:
            raise ConfigurationError(f"total_timesteps must be at least 1, got {total_timesteps}")
        lists = writers_per_run(writers, len(self.seeds) if self.several else None)

        def log(pending: _Pending) -> None:
            for number, row in enumerate(self._rows(pending)):
                for writer in lists[number]:
                    writer.write(row, pending.step)
                if on_row is not None:
                    on_row(number, pending.step, row)

        self.total_timesteps = total_timesteps
        saved_at = self.iteration
        if checkpoints is not None:
            files.prune(checkpoints.folder, None)
        keeper = None if best is None else BestPolicyKeeper(self, best, evaluation_product)
        state = self.state
        pending: _Pending | None = None
        self._compile()
        begun, first = time.perf_counter(), self.num_timesteps

        def fps() -> float:
            done = (self.num_timesteps - first) * len(self.seeds)
            return done / max(time.perf_counter() - begun, 1e-9)

        with show_progress(progress_bar, total_timesteps, self.num_timesteps) as advance:
            while self.num_timesteps < total_timesteps:
                steps = self.num_timesteps + self.arguments.rollout_size
                progress = min(steps / total_timesteps, 1.0)
                state, ended, metrics = self._compiled(state, self._controls(1.0 - progress))
                self._state = state
                for value in metrics.values():
                    value.copy_to_host_async()
                if pending is not None:  # the device runs on meanwhile
                    log(pending)
                rows = self._take(ended, progress)  # waits for the iteration
                self.iteration += 1
                self.num_timesteps = steps
                pending = _Pending(steps, fps(), metrics, rows)
                advance(steps)
                if keeper is not None:  # before a checkpoint, so that none lacks an evaluation
                    keeper.consider()
                if checkpoints is not None and self.iteration % checkpoints.every == 0:
                    # A row is written before the checkpoint that a resumed run starts from.
                    log(pending)
                    pending, saved_at = None, self.iteration
                    self._checkpoint(checkpoints)
            if pending is not None:
                log(pending)
        if checkpoints is not None and self.iteration > saved_at:
            self._checkpoint(checkpoints)
        if keeper is not None:
            keeper.prune()
        return self

    def resume(self, **options: Any) -> Self:
        """Finish the training that a loaded checkpoint had begun; options as for :meth:`learn`."""
        return self.learn(self.total_timesteps, **options)

    def _controls(self, progress_remaining: float) -> Controls:
        numbers = (
            self.arguments.at(name, progress_remaining)
            for name in ("learning_rate", "clip_range", "ent_coef")
        )
        return Controls(
            np.asarray(self.multipliers, np.float32),  # type: ignore[arg-type]
            *(np.float32(number) for number in numbers),  # type: ignore[arg-type]
        )

    def _compile(self) -> None:
        if self._compiled is None:
            begun = time.perf_counter()
            self._compiled = self._iteration.compile(self.state, self._controls(1.0))
            self.compile_seconds = time.perf_counter() - begun

    def _run(self, tree: Any, number: int) -> Any:
        """Return one run's part of what the device gave."""
        return jax.tree.map(lambda x: x[number], tree) if self.several else tree

    def _take(self, ended: EndedEpisodes, progress: float) -> list[Row]:
        """Move every run's multipliers from the episodes that ended."""
        fetched = jax.device_get(ended)
        rows = []
        for number, (run, recent) in enumerate(zip(self.runs, self.recent, strict=True)):
            own = self._run(fetched, number)
            recent.add(own)
            rows.append(run.take(own, progress, recent.triggered()) | recent.means())
        return rows

    def _rows(self, pending: _Pending) -> list[Row]:
        """Fetch an iteration's measurements; return the rows of its runs."""
        fetched = jax.device_get(pending.metrics)
        remaining = 1.0 - min(pending.step / self.total_timesteps, 1.0)
        iterations = pending.step // self.arguments.rollout_size
        updates = iterations * self.arguments.n_epochs
        shared = {
            "train/clip_range": self.arguments.at("clip_range", remaining),
            "train/ent_coef": self.arguments.at("ent_coef", remaining),
            "train/learning_rate": self.arguments.at("learning_rate", remaining),
            "train/n_updates": updates,
            "time/iterations": iterations,
            "time/total_timesteps": pending.step,
            "time/fps": int(pending.fps),
        }
        rows = []
        for number, row in enumerate(pending.rows):
            own = {f"train/{n}": float(v) for n, v in self._run(fetched, number).items()}
            if not len(self.constraints):
                own.pop("train/cost_value_loss")
            rows.append({**row, **own, **shared})
        return rows

    # --- policies and files ----------------------------------------------------------------------

    def policy(self, *, averaged: bool | None = None, seed: int = 0, run: int = 0) -> Policy:
        """Return the policy as it is now, for numpy observations.

        Args:
            averaged: the averaged actor or the last one; None takes the average where one is kept.
            seed: of the actions that are sampled.
            run: which of several runs.

        Raises:
            ConfigurationError: the model was built with ``policy_average=0``.
        """
        chosen = averaged if averaged is not None else self.arguments.policy_average > 0.0
        if chosen and not self.arguments.policy_average:
            raise ConfigurationError(
                "this model keeps no averaged policy; build it with policy_average=0.95, say"
            )
        shared = self._run(self.state.shared, run)
        actor = jax.device_get(shared.average if chosen else shared.params["actor"])
        statistics = jax.device_get(shared.observations)
        return Policy(
            self.networks,
            self.product.observation_space,
            actor,
            statistics if self.arguments.normalize_observations else None,
            averaged=chosen,
            seed=seed,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to a folder, atomically (:mod:`safe_rl.algos.jax.checkpoint`)."""
        return files.save(path, self.state, run_meta(self))

    def _checkpoint(self, plan: Checkpoints) -> None:
        Path(plan.folder).mkdir(parents=True, exist_ok=True)
        self.save(Path(plan.folder) / f"{files.PREFIX}_{self.num_timesteps:012d}")
        files.prune(plan.folder, plan.keep)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], product: Product, *, devices: Devices = "auto"
    ) -> Self:
        """Read a run that :meth:`save` wrote; ``resume()`` goes on with the same numbers.

        Args:
            path: the checkpoint.
            product: built as when the run started.
            devices: as for a new run. The number of shards is that of the run: on fewer devices
                they run one after another, with the same numbers up to rounding.

        Raises:
            CheckpointError: the checkpoint is missing or damaged, or belongs to another run.
        """
        found = files.read_parts(Path(path), files.PARTS)
        meta = found["meta"]
        config = dict(meta["controller"])
        saved = meta["constraints"]
        declared = [str(constraint.id) for constraint in product.constraints]
        if saved["ids"] and saved["ids"] != declared:
            raise CheckpointError(
                f"{path} was trained under the constraints {', '.join(saved['ids'])}, but the "
                f"product has {', '.join(declared) or '-'}; give the same specifications"
            )
        learner = cls(
            product,
            seed=meta["seeds"] if meta["several"] else meta["seeds"][0],
            controller=config.pop("kind"),
            controller_kwargs=config,
            cost_limits=saved["limits"],
            devices=devices_for_shards(devices, meta["shards"], meta["several"]),
            shards=meta["shards"],
            **meta["arguments"],
        )
        state = files.restore(path, found, learner._iteration.shapes(learner.seeds))
        learner._state = jax.device_put(state, learner._iteration.placement(state))
        learner.iteration = meta["iteration"]
        learner.num_timesteps = meta["num_timesteps"]
        learner.total_timesteps = meta["total_timesteps"]
        for run, own in zip(learner.runs, meta["multipliers"], strict=True):
            run.load_state_dict(own)
        for recent, sums in zip(learner.recent, meta["recent"], strict=True):
            recent.sums.extend(sums)
        return learner


def _observation_size(product: Product) -> int:
    shape = product.observation_space.shape
    if len(shape) != 1:
        raise ConfigurationError(
            f"the learner takes observations of one axis, the product's have the shape {shape}; "
            f"flatten them in the environment"
        )
    return int(shape[0])
