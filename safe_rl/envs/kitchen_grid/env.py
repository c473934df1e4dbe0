"""``safe_rl/KitchenGrid-v0``: one environment, and its array twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from safe_rl.envs.kitchen_grid.dynamics import Kitchen, KitchenParameters, build_tables
from safe_rl.envs.kitchen_grid.picture import draw, write
from safe_rl.envs.tabular import TabularEnv, TabularVectorEnv
from safe_rl.errors import ConfigurationError, near


class KitchenGridEnv(TabularEnv):
    """A small kitchen in which grasp, contamination, onset and reach-in rules all trigger.

    See ``safe_rl.envs.kitchen_grid.dynamics`` for what happens in it. Each step ends the episode
    with probability ``termination``; nothing else does. ``KitchenGridVector`` is the vector twin.

    Args:
        observation: ``"index"``: ``Discrete(S)``; ``"features"``: ``Box(0, 1, [21])``, the one-hot
            parts of the state, from which a network learns several times as fast.
        goal: Finished orders from which an episode counts as a success.
        render_mode: ``"ansi"``, ``"rgb_array"`` or ``None``.
        **parameters: Fields of ``KitchenParameters``.

    Example:
        >>> import gymnasium, safe_rl.envs
        >>> env = gymnasium.make("safe_rl/KitchenGrid-v0", render_mode="ansi")
        >>> _ = env.reset(seed=4)
        >>> sorted(name for name, value in env.unwrapped.propositions().items() if value)
        []
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        *,
        observation: str = "index",
        goal: int = 3,
        render_mode: str | None = None,
        **parameters: float,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigurationError(
                f"render_mode must be 'ansi', 'rgb_array' or None, got {render_mode!r}"
            )
        self.parameters = kitchen_parameters(parameters)
        self.render_mode = render_mode
        tables = build_tables(self.parameters)
        self.states = tables.states
        super().__init__(
            tables.model,
            observation=observation,
            features=tables.features,
            engaging=tables.engaging,
            goal=goal * self.parameters.order_reward,
        )

    @property
    def kitchen(self) -> Kitchen:
        """The present state in words."""
        return self.states[self.state_index]

    def render(self) -> str | NDArray[np.uint8] | None:
        """The present state as text, or as a picture ``uint8 [H, W, 3]``."""
        if self.render_mode is None:
            return None
        return write(self.kitchen) if self.render_mode == "ansi" else draw(self.kitchen)


class KitchenGridVector(TabularVectorEnv):
    """Array of kitchens; arguments as for ``KitchenGridEnv``, without rendering."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        observation: str = "index",
        goal: int = 3,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **parameters: float,
    ) -> None:
        if render_mode is not None:
            raise ConfigurationError(
                "the array of kitchens does not render; make one environment with "
                f"gymnasium.make(..., render_mode={render_mode!r}) instead"
            )
        self.parameters = kitchen_parameters(parameters)
        tables = build_tables(self.parameters)
        self.states = tables.states
        super().__init__(
            num_envs,
            tables.model,
            observation=observation,
            features=tables.features,
            engaging=tables.engaging,
            goal=goal * self.parameters.order_reward,
            autoreset_mode=autoreset_mode,
        )


def kitchen_parameters(values: dict[str, float]) -> KitchenParameters:
    """Build ``KitchenParameters``; an unknown name is an error that lists the known ones."""
    known = KitchenParameters.__dataclass_fields__
    for name in values:
        if name not in known:
            raise ConfigurationError(
                f"KitchenGrid has no parameter {name!r}{near(name, known)}; "
                f"it has {', '.join(known)}"
            )
    return KitchenParameters(**values)
