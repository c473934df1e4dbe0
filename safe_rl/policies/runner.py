"""Playing chunks in a vector environment, row by row, as a rollout asks for single actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.policies.chunk_policy import ChunkPolicy, checked_chunks, scenario_seed
from safe_rl.policies.observations import named_observation


class ChunkRunner:
    """Plays the first ``play`` actions of every chunk, then asks the policy again.

    It is the policy of a rollout (``safe_rl.evaluation.roll_out``): called once per step with every
    row's observation. A row that begins an episode drops what is left of its chunk, and the policy
    is reset there with a seed of its own; the other rows go on. All autoreset modes of Gymnasium
    give the same episodes. Nothing here ends an episode: the monitors only watch.
    """

    def __init__(
        self,
        policy: ChunkPolicy,
        envs: VectorEnv[Any, Any, Any],
        *,
        play: int = 8,
        seed: int = 0,
        scenario: Callable[[int, int], str] | None = None,
        prompt: Callable[[str], str] | None = None,
    ) -> None:
        """Begin with no chunk.

        Args:
            policy: answers with chunks.
            envs: where they are played. Its ``instruction`` (of each environment, where they run
                side by side in this process) is what the policy is told.
            play: how many actions of a chunk are played (8 in ManiGuard's protocol).
            seed: the base of the episodes' seeds.
            scenario: names the episode from its row and its number in that row; with ``seed`` the
                name decides the policy's seed (see :func:`scenario_seed`).
            prompt: makes the prompt out of an instruction; default: the instruction itself.

        Raises:
            ConfigurationError: the chunk is shorter than what is to be played, or the actions are
                not a vector of numbers.
        """
        space = envs.single_action_space
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise ConfigurationError(
                f"chunks are of vectors of numbers, but the action space is {space}"
            )
        if not 1 <= play <= policy.chunk:
            raise ConfigurationError(
                f"play is {play}, but the policy's chunks hold {policy.chunk} actions; "
                f"give a number from 1 to {policy.chunk}"
            )
        self._policy, self._envs, self._space = policy, envs, space
        self._play, self._seed = play, seed
        self._scenario = scenario or (lambda row, episode: f"{row}/{episode}")
        self._prompt = prompt or (lambda instruction: instruction)
        rows = envs.num_envs
        self._chunks = np.zeros((rows, play, *space.shape), np.float32)
        self._left = np.zeros(rows, np.int64)
        self._episode = np.full(rows, -1, np.int64)

    def act(self, observations: Any, starts: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the next action of every row, ``[num_envs, A]``.

        Raises:
            PolicyError: the policy's answer has another shape, or is not finite.
        """
        begin = np.flatnonzero(starts)
        if begin.size:
            self._begin(begin)
        due = np.flatnonzero(self._left == 0)
        if due.size:
            self._ask(named_observation(observations), due)
        actions = self._chunks[np.arange(len(self._left)), self._play - self._left]
        self._left -= 1
        return actions

    def _begin(self, rows: NDArray[np.intp]) -> None:
        self._episode[rows] += 1
        self._left[rows] = 0
        names = [self._scenario(int(row), int(self._episode[row])) for row in rows]
        self._policy.reset(rows.tolist(), [scenario_seed(self._seed, name) for name in names])

    def _ask(self, observation: dict[str, NDArray[Any]], rows: NDArray[np.intp]) -> None:
        told = instructions_of(self._envs)
        answer = self._policy.act(
            {name: value[rows] for name, value in observation.items()},
            [self._prompt(told[row]) for row in rows],
            rows.tolist(),
        )
        chunks = checked_chunks(answer, len(rows), self._policy.chunk, self._space.shape[0])
        self._chunks[rows] = np.clip(chunks[:, : self._play], self._space.low, self._space.high)
        self._left[rows] = self._play


def instructions_of(envs: VectorEnv[Any, Any, Any]) -> Sequence[str]:
    """Return the instruction of every row; empty where an environment has none."""
    base: Any = envs.unwrapped
    side_by_side = getattr(base, "envs", None)
    if side_by_side is not None:
        return [str(getattr(env.unwrapped, "instruction", "") or "") for env in side_by_side]
    told = getattr(base, "instruction", "") or ""
    return [str(told)] * envs.num_envs if isinstance(told, str) else [str(text) for text in told]
