"""What each of RoboCasa's fixtures is to the grounding: its kind, doors, inside, handles and knobs.

Kinds follow from RoboCasa's classes, everything else from the names that RoboCasa gives to the
joints and geoms of a fixture, and to the regions of its inside. A fixture with one door is one
fixture of the grounding; one with several (a cabinet with two doors, a fridge) is its case, which
bears things, and one further fixture per door or drawer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from safe_rl.envs.libero.roles import Furniture
from safe_rl.envs.robocasa.kitchen import KitchenModel, Openable
from safe_rl.envs.robocasa.model_tree import Box, ModelTree
from safe_rl.errors import GroundingError
from safe_rl.grounding.arrays import ENCLOSURES
from safe_rl.grounding.mujoco import BodyBox, JointRange, MujocoComponent, MujocoFixture

KINDS: Mapping[str, str] = {
    "Counter": "counter",
    "Stool": "counter",
    "SingleCabinet": "cabinet",
    "HingeCabinet": "cabinet",
    "HousingCabinet": "cabinet",
    "OpenCabinet": "rack",
    "DishRack": "rack",
    "Accessory": "rack",
    "StandMixer": "rack",
    "Drawer": "drawer",
    "Sink": "sink",
    "Stove": "stove",
    "Oven": "oven",
    "ToasterOven": "oven",
    "Microwave": "microwave",
    "Fridge": "fridge",
    "Dishwasher": "dishwasher",
    "CoffeeMachine": "coffee_machine",
    "Toaster": "toaster",
    "Blender": "blender",
    "BlenderLid": "rack",
    "ElectricKettle": "kettle",
    "PanelCabinet": "surroundings",
    "Box": "surroundings",
    "Floor": "surroundings",
    "Hood": "surroundings",
    "Wall": "surroundings",
    "WallAccessory": "surroundings",
    "Window": "surroundings",
    "WindowProc": "surroundings",
}
"""RoboCasa's class of a fixture, or a class that it derives from, to the grounding's kind."""

PARTS: Mapping[str, str] = {
    "open_close": "handle", "press": "button", "twist": "knob", "turn": "tap", "slide": "rack",
}  # fmt: skip
"""What is done to a component, to the component's name behind that of its fixture."""


def kind_of(fixture: object) -> str:
    """The grounding's kind of a fixture, by its class.

    Raises:
        GroundingError: for a class that is not known here.
    """
    for known in type(fixture).__mro__:
        if known.__name__ in KINDS:
            return KINDS[known.__name__]
    raise GroundingError(
        f"the grounding does not know RoboCasa's fixture class {type(fixture).__name__!r}; "
        f"known: {', '.join(sorted(KINDS))}"
    )


def is_openable(fixture: object) -> bool:
    """Whether it is an enclosure with a door or drawer that RoboCasa can be asked about."""
    return kind_of(fixture) in ENCLOSURES and bool(getattr(fixture, "door_joint_names", ()))


def furniture(tree: ModelTree, fixture: Openable) -> Furniture:
    """A fixture's parts; of one that only surrounds, nothing.

    Raises:
        GroundingError: for a class that is not known here, or an enclosure without an inside.
    """
    kind = kind_of(fixture)
    if kind == "surroundings":
        return Furniture({})
    return _Reader(tree, fixture, kind).read()


@dataclass(frozen=True)
class _Opening:
    """A joint that opens something, what it moves, and what is behind it."""

    joint: str
    stem: str
    body: str
    inside: str | None  # the part of the region's name that its regions have in common

    @property
    def is_drawer(self) -> bool:
        return "drawer" in self.stem


class _Reader:
    """Reads one fixture."""

    def __init__(self, tree: ModelTree, fixture: Openable, kind: str) -> None:
        self._tree, self._fixture, self._kind = tree, fixture, kind
        self._name, self._prefix = fixture.name, fixture.naming_prefix
        self._joints = {
            name.removeprefix(self._prefix): name for name in tree.joints_below(fixture.root_body)
        }

    def read(self) -> Furniture:
        openings = list(self._openings())
        components = dict(self._components())
        slides = f"{self._name}_{PARTS['slide']}" in components and self._kind in ENCLOSURES
        case = MujocoFixture(
            self._kind, body=self._fixture.root_body, outlet=self._outlet(), slides_when_open=slides
        )
        if len(openings) > 1:
            fixtures = {self._name: case}
            for opening, inside in zip(openings, self._shared(openings), strict=True):
                name = f"{self._name}_{_short(opening.stem)}"
                fixtures[name] = MujocoFixture(
                    "drawer" if opening.is_drawer else self._kind_behind(opening),
                    body=opening.body,
                    joint=self._range(opening.joint),
                    interior=inside,
                    top=False,
                )
                components.update(self._handle(name, opening))
            return Furniture(fixtures, components)
        for opening in openings:
            components.update(self._handle(self._name, opening))
            case = MujocoFixture(
                self._kind,
                body=self._fixture.root_body,
                joint=self._range(opening.joint),
                moving=opening.body,
                interior=self._box(self._inside(opening)) if self._kind in ENCLOSURES else None,
                outlet=self._outlet(),
                slides_when_open=slides,
            )
        return Furniture({self._name: case}, components)

    # --- doors, drawers, lids -------------------------------------------------------------------

    def _openings(self) -> Iterator[_Opening]:
        doors = [j for j in getattr(self._fixture, "door_joint_names", ()) if self._has(j)]
        if self._kind not in ENCLOSURES:
            doors = [j for s, j in self._joints.items() if s in ("lid_joint", "head_joint")]
        else:
            doors += [j for s, j in self._joints.items() if "drawer" in s and j not in doors]
        for joint in doors:
            stem = joint.removeprefix(self._prefix)
            behind = next((word for word in ("freezer", "fridge") if word in stem), None)
            yield _Opening(joint, stem, self._tree.body_of_joint(joint), behind)

    def _has(self, joint: str) -> bool:
        return joint in self._joints.values()

    def _kind_behind(self, opening: _Opening) -> str:
        return "freezer" if opening.inside == "freezer" else self._kind

    def _range(self, joint: str) -> JointRange:
        """RoboCasa's way (``get_joint_state``): what may turn below zero is closed at the top."""
        low, high = self._tree.range_of(joint)
        closed, opened = (high, low) if low < 0 else (low, high)
        return JointRange(joint, closed=closed, open=opened)

    def _handle(self, fixture: str, opening: _Opening) -> dict[str, MujocoComponent]:
        """The handle, or where the model has none apart, all that moves."""
        every = self._tree.geoms_below(opening.body)
        handles = [g for g in every if "handle" in g.removeprefix(self._prefix)]
        part = MujocoComponent(fixture, "open_close", geoms=tuple(handles or every))
        return {f"{fixture}_{PARTS['open_close']}": part}

    # --- insides --------------------------------------------------------------------------------

    def _inside(self, opening: _Opening) -> Box:
        """The box around the regions behind a door, in the frame of the body that carries them.

        A drawer's region moves with it. Regions on a rack that slides are no part of the case: then
        the inside is the box of the whole fixture, which SafeManip shrinks in any case.
        """
        behind = [b for n, b in self._regions() if opening.inside is None or opening.inside in n]
        found = [box for box in behind if box.body == opening.body]
        found = found or [box for box in behind if box.body == self._root]
        if not found:
            found = [box for box in map(self._region, ("main", "bbox")) if box is not None][:1]
        if not found:
            raise GroundingError(
                f"RoboCasa's fixture {self._name!r} has a door and no inside: the model has no "
                f"geom {self._prefix}reg_main, and none of the regions that the fixture names"
            )
        return Box.around(found)

    @property
    def _root(self) -> str:
        return self._fixture.root_body

    def _regions(self) -> Iterator[tuple[str, Box]]:
        for name in self._fixture.get_reset_region_names():
            box = self._region(name)
            if box is not None:
                yield name, box

    def _region(self, name: str) -> Box | None:
        return self._tree.box_of_geom(f"{self._prefix}reg_{name}")

    def _box(self, box: Box) -> BodyBox:
        return BodyBox(box.body, box.center, box.half)

    def _shared(self, openings: Sequence[_Opening]) -> Iterator[BodyBox]:
        """The inside behind each door: doors side by side share a compartment.

        It is cut into equal parts along the fixture's width, in the order of the hinges.
        """
        insides = [self._inside(opening) for opening in openings]
        for opening, inside in zip(openings, insides, strict=True):
            beside = [o for o, i in zip(openings, insides, strict=True) if i == inside]
            order = sorted(beside, key=lambda o: self._tree.anchor_in(o.joint, self._root)[0])
            yield self._box(inside.slab(order.index(opening), len(order)))

    # --- knobs, buttons, taps, racks ------------------------------------------------------------

    def _components(self) -> Iterator[tuple[str, MujocoComponent]]:
        """At most one per skill: all knobs of a stove are one component."""
        for skill, wanted in (
            ("press", self._moved(lambda s: "button" in s or "switch" in s) + self._buttons()),
            ("twist", self._moved(lambda s: "knob" in s)),
            ("turn", self._moved(lambda s: s == "handle_joint" and self._kind == "sink")),
            ("slide", self._moved(self._slides)),
        ):
            if wanted:
                yield (
                    f"{self._name}_{PARTS[skill]}",
                    MujocoComponent(self._name, skill, geoms=tuple(dict.fromkeys(wanted))),
                )

    def _slides(self, stem: str) -> bool:
        racks = self._kind in ENCLOSURES and ("rack" in stem or "tray" in stem)
        return racks or "lever" in stem

    def _moved(self, which: Callable[[str], bool]) -> list[str]:
        """The geoms that the joints of these stems move."""
        bodies = [self._tree.body_of_joint(j) for s, j in self._joints.items() if which(s)]
        return [geom for body in bodies for geom in self._tree.geoms_below(body)]

    def _buttons(self) -> list[str]:
        """Buttons that do not move; what stops an appliance is none that has preconditions."""
        every = self._tree.geoms_below(self._root)
        words = ("start_button", "power_button")
        return [g for g in every if any(w in g.removeprefix(self._prefix) for w in words)]

    def _outlet(self) -> str | None:
        """Where water or coffee comes out."""
        sites = (f"{self._prefix}{site}" for site in ("water", "coffee_liquid"))
        also = (f"{self._prefix}coffee_liquid_left", f"{self._prefix}receptacle_place_site")
        return next((site for site in (*sites, *also) if self._tree.has_site(site)), None)


def _short(stem: str) -> str:
    """A door's name, from that of its joint."""
    return stem.removesuffix("_joint").removesuffix("hinge").rstrip("_")


def surrounding_geoms(tree: ModelTree, fixtures: Iterable[KitchenModel]) -> tuple[str, ...]:
    """The geoms that can collide of all that only surrounds, and of the world itself."""
    around = [f for f in fixtures if kind_of(f) == "surroundings"]
    geoms = [g for f in around for g in tree.geoms_below(f.root_body)]
    return (*geoms, *tree.world_geoms())


def is_movable(tree: ModelTree, fixture: KitchenModel) -> bool:
    """Whether it is free to move, as the lid of a blender is: then it is an object."""
    return tree.is_free(fixture.root_body)
