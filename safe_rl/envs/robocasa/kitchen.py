"""The names of RoboCasa that are relied on, as protocols: RoboCasa is not imported here.

They are those of RoboCasa 1.0 (RoboCasa365), whose kitchens are robosuite environments. Whatever
has them can be wrapped; a RoboCasa kitchen is the one thing known to have them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Placement = tuple[Any, Any, Any]
"""Position ``[3]``, quaternion (w, x, y, z), and the model that is placed."""


class KitchenModel(Protocol):
    """An object or a fixture; its elements in the model are named ``naming_prefix + ...``."""

    name: str
    naming_prefix: str
    root_body: str
    joints: Sequence[str]


class Openable(KitchenModel, Protocol):
    """A fixture with doors or a drawer."""

    door_joint_names: Sequence[str]

    def get_joint_state(self, env: Any, joint_names: Sequence[str]) -> Mapping[str, float]:
        """Joint to how far it is from closed, 0, to open, 1."""

    def is_open(self, env: Any, *, th: float) -> bool:
        """Whether every door is open by at least ``th``."""

    def is_closed(self, env: Any, *, th: float) -> bool:
        """Whether every door is open by at most ``th``."""

    def get_reset_region_names(self) -> Sequence[str]:
        """Its inside: region ``r`` is the geom ``naming_prefix + "reg_" + r``."""


class PlacementInitializer(Protocol):
    """Draws where objects begin."""

    def sample(self, *, placed_objects: Any) -> dict[str, Placement]:
        """Object to its place."""


class Kitchen(Protocol):
    """A kitchen environment.

    Attributes:
        sim: robosuite's simulation; ``None`` before the first reset.
        robots: one robot.
        fixtures: name to fixture.
        objects: name to object.
        obj_body_id: name to the number of the object's root body.
        object_cfgs: per object, ``name`` and ``info`` (with ``cat``, the category).
        fixture_refs: what the task calls a fixture, to the fixture.
        rng: the generator that all draws come from.
        hard_reset: whether a reset draws another kitchen.
        placement_initializer: draws ``object_placements``.
        object_placements: where a reset puts the objects.
        fxtr_placements: where the fixtures stand.
    """

    sim: Any
    robots: Sequence[Any]
    fixtures: Mapping[str, Any]
    objects: Mapping[str, KitchenModel]
    obj_body_id: Mapping[str, int]
    object_cfgs: Sequence[Mapping[str, Any]]
    fixture_refs: Mapping[str, Any]
    rng: Any
    horizon: int
    control_freq: float
    hard_reset: bool
    placement_initializer: PlacementInitializer | None
    object_placements: dict[str, Placement]
    fxtr_placements: Any

    def reset(self) -> Any:
        """Start an episode; another kitchen with ``hard_reset``."""

    def get_ep_meta(self) -> dict[str, Any]:
        """``lang``, ``object_cfgs``, and ``fixture_refs`` by the fixtures' names."""

    def update_state(self) -> None:
        """Let buttons, knobs and taps have their effect."""

    def reward(self, action: NDArray[Any] | None = None) -> float:
        """The task's reward."""


REQUIRED = (
    "robots", "fixtures", "objects", "obj_body_id", "object_cfgs", "fixture_refs", "rng",
    "get_ep_meta", "update_state", "_check_success",
)  # fmt: skip
"""What a given kitchen is asked for when it is wrapped."""


class ObjectUtils(Protocol):
    """RoboCasa's own predicates (``robocasa.utils.object_utils``)."""

    def obj_inside_of(
        self, env: Any, obj_name: str, fixture_id: Any, partial_check: bool = False
    ) -> bool:
        """Whether the object's box is inside one of the fixture's regions."""

    def check_obj_upright(self, env: Any, obj_name: str, th: float = 15) -> bool:
        """Whether roll and pitch are below ``th`` degrees."""

    def check_obj_grasped(self, env: Any, obj_name: str, threshold: float = 0.035) -> bool:
        """Whether the gripper touches it and its finger joints are below ``threshold``."""
