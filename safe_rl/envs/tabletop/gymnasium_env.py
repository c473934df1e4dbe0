"""``safe_rl/Tabletop*-v0``: one tabletop environment, and its array twin."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from safe_rl.envs.tabletop.env import TabletopEnv
from safe_rl.errors import ConfigurationError
from safe_rl.wrappers.functional import FunctionalGymEnv, FunctionalVectorEnv


class TabletopGymEnv(FunctionalGymEnv):
    """One tabletop task as a ``gymnasium.Env``.

    Args:
        task: See ``TabletopEnv``, as for the other arguments.
        render_mode: ``"rgb_array"`` or ``None``.
        **arguments: Arguments of ``TabletopEnv``.

    Example:
        >>> import gymnasium, safe_rl.envs
        >>> env = gymnasium.make("safe_rl/TabletopLift-v0", propositions="task")
        >>> _ = env.reset(seed=0)
        >>> env.unwrapped.instruction
        'lift the cup'
        >>> sorted(name for name, value in env.unwrapped.propositions().items() if value)
        ['object_left_gripper(cup)', 'object_sync(cup)']
    """

    metadata = dict(TabletopEnv.metadata)

    def __init__(
        self, task: str = "place", *, render_mode: str | None = None, **arguments: Any
    ) -> None:
        functional = TabletopEnv(task, **arguments)
        super().__init__(functional, render_mode=render_mode)
        self.instruction = functional.instruction


class TabletopVectorEnv(FunctionalVectorEnv):
    """Array of tabletop environments.

    Args:
        num_envs: Number of lanes.
        task: See ``TabletopEnv``, as for the other arguments.
        render_mode: ``"rgb_array"`` or ``None``.
        autoreset_mode: ``SAME_STEP``, the only one here.
        max_episode_steps: Truncates episodes; ``None`` keeps the task's own horizon.
        **arguments: Arguments of ``TabletopEnv``.

    Raises:
        ConfigurationError: for another autoreset mode.
    """

    metadata = dict(TabletopEnv.metadata)

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "place",
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        if AutoresetMode(autoreset_mode) is not AutoresetMode.SAME_STEP:
            raise ConfigurationError(
                f"autoreset_mode must be SAME_STEP for the array of tabletops, got "
                f"{autoreset_mode}; with vectorization_mode='sync' all modes work"
            )
        functional = TabletopEnv(task, **arguments)
        if max_episode_steps is not None:
            functional.max_episode_steps = max_episode_steps
        super().__init__(functional, num_envs, render_mode=render_mode)
        self.instruction = functional.instruction
