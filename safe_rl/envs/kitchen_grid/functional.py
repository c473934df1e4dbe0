"""KitchenGrid as a functional environment, for the product that is jitted."""

from __future__ import annotations

from typing import Any, ClassVar

from safe_rl.envs.kitchen_grid.dynamics import build_tables
from safe_rl.envs.kitchen_grid.env import kitchen_parameters
from safe_rl.envs.kitchen_grid.picture import draw
from safe_rl.envs.tabular.functional import TabularFunctionalEnv, TabularState
from safe_rl.errors import ConfigurationError


class KitchenGridFunctional(TabularFunctionalEnv):
    """The kitchen in jax: features, rewards, labels and chances of ``KitchenGridEnv``.

    Args:
        goal: Finished orders from which an episode counts as a success.
        observation: ``"features"``, the only one here.
        **parameters: Fields of ``KitchenParameters``.

    Example:
        >>> from safe_rl.wrappers.functional import FunctionalProduct
        >>> product = FunctionalProduct(KitchenGridFunctional(), "kitchen")
        >>> product.observation_space.shape[0] == 21 + len(product.feature_names)
        True
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(
        self, *, goal: int = 3, observation: str = "features", **parameters: float
    ) -> None:
        if observation != "features":
            raise ConfigurationError(
                f"observation must be 'features' on the device, got {observation!r}; the index of "
                "the state is what KitchenGridEnv offers"
            )
        self.parameters = kitchen_parameters(parameters)
        tables = build_tables(self.parameters)
        self.states = tables.states
        super().__init__(
            tables.model,
            features=tables.features,
            engaging=tables.engaging,
            goal=goal * self.parameters.order_reward,
        )

    def render_image(
        self, state: TabularState, render_state: Any, params: Any = None
    ) -> tuple[Any, Any]:
        """Return a picture, uint8 ``[220, 288, 3]``; drawn on the host, not to be jitted."""
        return render_state, draw(self.states[int(state.place)])
