"""RoboCasa's own predicates as propositions, beside SafeManip's.

RoboCasa judges success by them, with its own thresholds: a door is open from 0.90 of its range and
closed up to 0.005 (SafeManip: 0.60 and 0.05), an object is grasped when the gripper touches it and
is closed, without two fingers being asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from safe_rl.envs.robocasa.fixtures import is_openable
from safe_rl.envs.robocasa.kitchen import Kitchen, ObjectUtils

PREFIX = "robocasa_"
OPEN, CLOSED = 0.90, 0.005
"""RoboCasa's defaults of ``is_open`` and ``is_closed``."""


class NativePredicates:
    """The letter of RoboCasa's predicates.

    Attributes:
        names: of the propositions: ``robocasa_is_open(f)`` and ``robocasa_is_closed(f)`` for each
            enclosure with doors, ``robocasa_inside(o,f)``, ``robocasa_upright(o)`` and
            ``robocasa_grasped(o)``.
    """

    def __init__(self, kitchen: Kitchen, utils: ObjectUtils) -> None:
        """Ask ``utils`` about ``kitchen``."""
        self._kitchen, self._utils = kitchen, utils
        self._doors = tuple(n for n, f in kitchen.fixtures.items() if is_openable(f))
        self._objects = tuple(kitchen.objects)
        self.names = tuple(name for name, _ in self._asked(ask=False))

    def letter(self) -> dict[str, bool]:
        """What RoboCasa says of the state reached."""
        return dict(self._asked(ask=True))

    def _asked(self, ask: bool) -> Iterator[tuple[str, bool]]:
        kitchen, utils = self._kitchen, self._utils
        for name in self._doors:
            fixture = kitchen.fixtures[name]
            opened = ask and bool(fixture.is_open(env=kitchen, th=OPEN))
            yield f"{PREFIX}is_open({name})", opened
            yield (
                f"{PREFIX}is_closed({name})",
                ask and bool(fixture.is_closed(env=kitchen, th=CLOSED)),
            )
            for thing in self._objects:
                yield (
                    f"{PREFIX}inside({thing},{name})",
                    ask and bool(utils.obj_inside_of(kitchen, thing, name)),
                )
        for thing in self._objects:
            upright = ask and bool(utils.check_obj_upright(kitchen, thing))
            yield f"{PREFIX}upright({thing})", upright
            yield f"{PREFIX}grasped({thing})", ask and bool(utils.check_obj_grasped(kitchen, thing))
