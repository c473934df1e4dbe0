"""The shortest violation of a policy that seeded episodes show, replayable from its seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym

from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.feedback.counterexamples.counterexample import Counterexample, Feedback
from safe_rl.feedback.counterexamples.explaining import explainer
from safe_rl.feedback.counterexamples.plain_data import rollout_from_json, rollout_to_json
from safe_rl.specs import Objects, Specs
from safe_rl.wrappers import ProductMDP
from safe_rl.wrappers.labels import Grounding

Environment = gym.Env[Any, Any]
EnvironmentMaker = Callable[[], Environment]
Policy = Callable[[Any], Any]
"""From an observation to an action."""
PolicyMaker = Callable[[Environment, int], Policy]
"""``make_policy(env, seed)``, called before each reset: the policy of the episode of that seed."""


def random_actions(env: Environment, seed: int) -> Policy:
    """Return a policy that draws its actions uniformly from the action space, seeded."""
    space = env.action_space
    space.seed(seed)
    return lambda observation: space.sample()


@dataclass(frozen=True)
class ViolatingRollout:
    """An episode up to its first violation.

    Attributes:
        seed: of the reset.
        actions: that were taken, as the action space's ``to_jsonable`` gives them.
        letters: the true propositions of the specifications, that of the reset first.
        terminated: the environment terminated with the last step.
        violations: what was violated at the last step.
        episodes: how many episodes were looked at.
    """

    seed: int
    actions: Any
    letters: tuple[frozenset[str], ...]
    terminated: bool
    violations: tuple[Counterexample, ...]
    episodes: int

    @property
    def steps(self) -> int:
        """How many actions led to the violation; 0 where the reset violates."""
        return len(self.letters) - 1

    def replay(
        self,
        make_env: EnvironmentMaker | str,
        specs: Specs | None = None,
        *,
        grounding: Grounding | None = None,
        objects: Objects | None = None,
    ) -> Feedback:
        """Take the same actions from the same seed, and return what the monitors say.

        Args:
            make_env: makes the environment that was searched, or its Gymnasium id.
            specs: what was monitored; ``None`` where the environment has monitors.
            grounding: as for :class:`~safe_rl.wrappers.ProductMDP`.
            objects: as for :class:`~safe_rl.wrappers.ProductMDP`.

        Raises:
            RecordingError: a letter, the end or a violation is not what was recorded: the
                environment does not follow from its seed, or is another one.
        """
        env = _open(make_env, specs, grounding, objects)
        try:
            actions = list(env.env.action_space.from_jsonable(self.actions))
            episode = _run(env, self.seed, lambda step, observation: actions[step], self.steps)
        finally:
            env.env.close()
        for step, (was, now) in enumerate(zip(self.letters, episode.letters, strict=False)):
            if was != now:
                raise self._parts_at(
                    step, f"{', '.join(sorted(was ^ now))} had the other value in the recording"
                )
        if len(self.letters) != len(episode.letters):
            raise self._parts_at(len(episode.letters) - 1, "the episode ended there")
        feedback = _explained(env, episode)
        if episode.terminated != self.terminated or feedback.violations != self.violations:
            raise self._parts_at(
                self.steps, "what is violated there, or whether the episode ends, is not the same"
            )
        return feedback

    def to_json(self) -> dict[str, Any]:
        """Return plain data, which ``json`` can write."""
        return rollout_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ViolatingRollout:
        """Return the rollout that :meth:`to_json` gave.

        Raises:
            RecordingError: a key is missing or unknown, or its value is not of its kind.
        """
        return cls(**rollout_from_json(data))

    def _parts_at(self, step: int, why: str) -> RecordingError:
        return RecordingError(
            f"the replay from seed {self.seed} parts from the recording at step {step}: {why}; "
            "give the environment and the specifications that were searched, and see that the "
            "environment draws everything from the seed of its reset"
        )


def shortest_violation(
    make_env: EnvironmentMaker | str,
    specs: Specs | None = None,
    make_policy: PolicyMaker = random_actions,
    *,
    episodes: int = 100,
    seed: int = 0,
    max_steps: int = 1000,
    grounding: Grounding | None = None,
    objects: Objects | None = None,
) -> ViolatingRollout | None:
    """Return the shortest violation that seeded episodes of a policy show, or ``None``.

    An episode is left at its first violation, and as soon as it cannot be shorter than the best
    one. Of equally short ones the first is kept.

    Args:
        make_env: Makes the environment, or its Gymnasium id. It may have monitors already (a
            :class:`~safe_rl.wrappers.ProductMDP` among its wrappers); else it gets them here, and
            its observations stay as they are.
        specs: What to monitor; ``None`` where the environment has monitors.
        make_policy: Makes the policy of an episode from the environment and the episode's seed;
            default: uniformly random actions.
        episodes: How many to run; episode ``i`` is reset with ``seed + i``.
        seed: Of the first.
        max_steps: Where an episode is left in any case.
        grounding: As for :class:`~safe_rl.wrappers.ProductMDP`.
        objects: As for :class:`~safe_rl.wrappers.ProductMDP`.

    Raises:
        ConfigurationError: a count is less than 1, or there are no monitors, or two sets of them.

    >>> import safe_rl.envs
    >>> rollout = shortest_violation("safe_rl/KitchenGrid-v0", "kitchen", episodes=20)
    >>> rollout.steps, rollout.violations[0].instance
    (16, 'reach_in_through_open_door')
    >>> rollout.replay("safe_rl/KitchenGrid-v0", "kitchen").violations == rollout.violations
    True
    """
    for name, value in (("episodes", episodes), ("max_steps", max_steps)):
        if value < 1:
            raise ConfigurationError(f"{name} must be at least 1, got {value}")
    env = _open(make_env, specs, grounding, objects)
    space = env.env.action_space
    best: tuple[int, _Episode] | None = None
    try:
        for number in range(episodes):
            most = max_steps if best is None else len(best[1].letters) - 2
            if most < 0:
                break
            policy = make_policy(env.env, seed + number)

            def act(step: int, observation: Any, policy: Policy = policy) -> Any:
                # What is taken is what can be written down.
                return space.from_jsonable(space.to_jsonable([policy(observation)]))[0]

            episode = _run(env, seed + number, act, most)
            if episode.violated:
                best = seed + number, episode
    finally:
        env.env.close()
    if best is None:
        return None
    found, episode = best
    return ViolatingRollout(
        seed=found,
        actions=space.to_jsonable(episode.actions),
        letters=tuple(episode.letters),
        terminated=episode.terminated,
        violations=_explained(env, episode).violations,
        episodes=episodes,
    )


class _Monitored(NamedTuple):
    """An environment, and the monitors among its wrappers."""

    env: Environment
    product: ProductMDP


class _Episode(NamedTuple):
    """What was taken and seen; the last letter is that of the first violation, if any."""

    actions: list[Any]
    letters: list[frozenset[str]]
    terminated: bool
    violated: bool


def _open(
    make_env: EnvironmentMaker | str,
    specs: Specs | None,
    grounding: Grounding | None,
    objects: Objects | None,
) -> _Monitored:
    env = gym.make(make_env) if isinstance(make_env, str) else make_env()
    if not isinstance(env, gym.Env):
        raise ConfigurationError(
            f"make_env must make one Gymnasium environment, but made {env!r}; "
            "a vector environment cannot be replayed from one seed"
        )
    layer: Any = env
    while isinstance(layer, gym.Wrapper) and not isinstance(layer, ProductMDP):
        layer = layer.env
    if isinstance(layer, ProductMDP):
        if specs is not None or grounding is not None or objects is not None:
            raise ConfigurationError(
                f"{env} has monitors already; leave out specs, grounding and objects, "
                "or make the environment without ProductMDP"
            )
        return _Monitored(env, layer)
    if specs is None:
        raise ConfigurationError(f"{env} has no monitors; give specs")
    product = ProductMDP(env, specs, grounding, objects=objects, features=None)
    return _Monitored(product, product)


def _run(env: _Monitored, seed: int, act: Callable[[int, Any], Any], most: int) -> _Episode:
    """Run an episode up to its first violation, its end, or ``most`` steps."""
    names = env.product.specs.propositions
    observation, info = env.env.reset(seed=seed)
    actions: list[Any] = []
    letters: list[frozenset[str]] = []
    terminated = ended = False
    while True:
        letters.append(_true(info["propositions"], names))
        violated = bool(info["safety"]["events"].violated.any())
        if violated or ended or len(actions) == most:
            return _Episode(actions, letters, terminated, violated)
        action = act(len(actions), observation)
        observation, _, terminated, truncated, info = env.env.step(action)
        actions.append(action)
        terminated = bool(terminated)
        ended = terminated or bool(truncated)


def _true(letter: Mapping[str, Any], names: Sequence[str]) -> frozenset[str]:
    return frozenset(name for name in names if letter[name])


def _explained(env: _Monitored, episode: _Episode) -> Feedback:
    explain = explainer(env.product.specs).explain
    return explain(episode.letters, truncated=not episode.terminated)
