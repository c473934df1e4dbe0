"""``safe_rl/Tabletop*-v0``: one tabletop environment, and its array twin."""

from __future__ import annotations

from typing import Any

from safe_rl.envs.tabletop.env import TabletopEnv
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
        ['object_left_gripper(cup)']
    """

    metadata = dict(TabletopEnv.metadata)

    def __init__(
        self, task: str = "place", *, render_mode: str | None = None, **arguments: Any
    ) -> None:
        functional = TabletopEnv(task, **arguments)
        super().__init__(functional, render_mode=render_mode)
        self.instruction = functional.instruction


class TabletopVectorEnv(FunctionalVectorEnv):
    """Array of tabletop environments; arguments as for ``TabletopGymEnv``."""

    metadata = dict(TabletopEnv.metadata)

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "place",
        *,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        functional = TabletopEnv(task, **arguments)
        super().__init__(functional, num_envs, render_mode=render_mode)
        self.instruction = functional.instruction
