"""Monitor events as reward, for learners that know no cost."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.logic import Formula
from safe_rl.wrappers.features import MonitorFeatures, ObservationMerger
from safe_rl.wrappers.product import ProductMDP
from safe_rl.wrappers.reward_terms import (
    EventRewards,
    MonitorPotential,
    Potential,
    TaskFormula,
    TaskProgress,
    Weight,
    chosen_instances,
    shaped,
)
from safe_rl.wrappers.snapshot import load_env, save_env


class SafetyReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Turns what the monitors of a :class:`ProductMDP` see into reward.

    A vector version exists, :class:`safe_rl.wrappers.VectorSafetyReward`. The reward of a step is

    ``own + events + shaping + task``

    where ``own`` is the environment's (left out where a task formula takes its place, and always
    kept in ``info["task_reward"]``), ``events`` is a weight per event, ``shaping`` is
    ``gamma * phi(q') - phi(q)`` with a potential of the automata's distances, and ``task`` is what
    :class:`TaskFormula` pays. Weights are added as they are: a violation that should hurt has a
    negative one.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> upright = Specification("upright", "G !tilted", trigger="true")
        >>> env = ProductMDP(
        ...     gym.make("CartPole-v1"),
        ...     [upright],
        ...     grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
        ... )
        >>> env = SafetyReward(env, violation=-10.0, terminate=True)
        >>> _ = env.reset(seed=0)
        >>> terminated, rewards = False, []
        >>> while not terminated:
        ...     _, reward, terminated, _, info = env.step(1)
        ...     rewards.append(float(reward))
        >>> rewards
        [1.0, 1.0, 1.0, 1.0, -9.0]
        >>> info["task_reward"], info["safety"]["counts"]["V"]
        (1.0, array([1], dtype=int32))
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        violation: Weight = 0.0,
        exposure: Weight = 0.0,
        recovery: Weight = 0.0,
        fulfilled: Weight = 0.0,
        shaping: Weight = 0.0,
        potential: Potential = "accepting",
        gamma: float | None = None,
        terminate: bool | Collection[str] = False,
        task: TaskFormula | str | Formula | None = None,
    ) -> None:
        """Wrap ``env``.

        Args:
            env: A :class:`ProductMDP`, or wrappers around one that leave ``info`` alone.
            violation: Reward per violation.
            exposure: Reward per step in violation.
            recovery: Reward per recovery.
            fulfilled: Reward per triggered event that is fulfilled.
            shaping: Scale of the potential.
            potential: The distance it is made of: to ``"accepting"`` or from ``"doomed"`` states.
            gamma: The learner's discount; needed by shaping and by a task's progress.
            terminate: Whether a violation (of one of these specifications) terminates the episode.
                What others had open then is pending, as at a truncation: the environment did not
                end, so nothing more can be said of them.
            task: A task formula; its automaton's state is added to the observation.

        Raises:
            ConfigurationError: there is no ``ProductMDP`` in ``env``, an id is unknown, or
                ``gamma`` is missing or out of range.
        """
        RecordConstructorArgs.__init__(
            self,
            violation=violation,
            exposure=exposure,
            recovery=recovery,
            fulfilled=fulfilled,
            shaping=shaping,
            potential=potential,
            gamma=gamma,
            terminate=terminate,
            task=task,
        )
        gym.Wrapper.__init__(self, env)
        self.product = product_of(env)
        specs = self.product.specs
        self._events = EventRewards(specs, violation, exposure, recovery, fulfilled)
        self._potential: MonitorPotential | None = None
        if shaping != 0.0:
            self._potential = MonitorPotential(
                specs, self.product.monitor.machines, shaping, potential
            )
        self._fatal = chosen_instances(specs, terminate)
        self._task = task_of(task)
        self._gamma = checked_gamma(gamma, self._potential is not None, self._task)
        if self._task is not None:
            self._features = task_features(self._task)
            self._merger = ObservationMerger(
                env.observation_space, self._features.low, self._features.high, key="task"
            )
            self.observation_space = self._merger.space
        self._phi = 0.0
        self._task_state = np.zeros((), np.int64)
        self._first = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset; the potential of the first state is that after its letter."""
        observation, info = self.env.reset(seed=seed, options=options)
        if self._potential is not None:
            self._phi = float(self._potential.of(info["safety"]["states"]))
        if self._task is not None:
            start = np.array(self._task.initial)
            self._task_state = self._task.step(start, info["propositions"])
        self._first = True
        return self._observe(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and pay what the monitors saw."""
        observation, own, terminated, truncated, info = self.env.step(action)
        info["task_reward"] = float(own)
        before = self._task_state
        if self._task is not None:
            self._task_state = self._task.step(before, info["propositions"])
        fatal = bool((info["safety"]["happened"].violated[self._fatal] > 0).any())
        task = self._task
        if task is not None and task.task.ends_episode:
            fatal = fatal or bool(task.decided(self._task_state))
        if fatal and not (terminated or truncated):
            self.product.end_episode(info)
            terminated = True
        reward = float(own) if task is None or task.task.keep_reward else 0.0
        reward += float(self._events.of(info["safety"]["happened"]))
        if self._potential is not None:
            phi = float(self._potential.of(info["safety"]["states"]))
            reward += float(shaped(self._phi, phi, terminated, self._gamma))
            self._phi = phi
        if task is not None:
            reward += float(
                task.reward(before, self._task_state, self._first, terminated, self._gamma)
            )
        self._first = False
        return self._observe(observation), reward, terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        """Return what an exact continuation needs, the wrapped environment included."""
        return {
            "phi": self._phi,
            "task": int(self._task_state),
            "first": self._first,
            "env": save_env(self.env),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned."""
        load_env(self.env, state["env"])
        self._phi = state["phi"]
        self._task_state = np.array(state["task"], np.int64)
        self._first = state["first"]

    def _observe(self, observation: Any) -> Any:
        if self._task is None:
            return observation
        return self._merger.merge(observation, one_task_vector(self._features, self._task_state))


def product_of(env: gym.Env[Any, Any]) -> ProductMDP:
    """Return the ``ProductMDP`` among the wrappers of ``env``.

    Raises:
        ConfigurationError: there is none.
    """
    layer: Any = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, ProductMDP):
            return layer
        layer = layer.env
    raise ConfigurationError(
        f"{env} has no ProductMDP among its wrappers, so there are no monitors to read; "
        "wrap it first: ProductMDP(env, specs, grounding)"
    )


def task_of(task: TaskFormula | str | Formula | None) -> TaskProgress | None:
    """Return the automaton of a task that may be given as bare text."""
    if task is None:
        return None
    return TaskProgress(task if isinstance(task, TaskFormula) else TaskFormula(task))


def checked_gamma(gamma: float | None, shapes: bool, task: TaskProgress | None) -> float:
    """Return the discount, which a potential needs.

    Raises:
        ConfigurationError: it is needed and missing, or not in (0, 1].
    """
    if gamma is None:
        if shapes or (task is not None and task.task.progress != 0.0):
            raise ConfigurationError(
                "shaping and progress are paid as gamma * phi(q') - phi(q): give gamma=, the "
                "discount of the learner; with another one the optimum would change"
            )
        return 1.0
    if not 0.0 < gamma <= 1.0:
        raise ConfigurationError(f"gamma must lie in (0, 1], but is {gamma}")
    return gamma


def task_features(task: TaskProgress) -> MonitorFeatures:
    """Lay out the task automaton's state as one-hot features."""
    return MonitorFeatures(["task"], [task.dfa.num_states], [], "one_hot")


def one_task_vector(features: MonitorFeatures, states: NDArray[Any]) -> NDArray[np.float32]:
    """Return the features of task states (int ``[...]``), float32 ``[..., F]``."""
    return features.vector(states[..., None], np.zeros((*states.shape, 0)))
