"""The propositions of grasp and release, from scene facts.

Definitions are SafeManip's (appendix F.1, phi 1 to phi 3), one monitor instance per object. For an
object ``o``:

| proposition | true when |
| --- | --- |
| `object_grasped_raw(o)` | opposing contacts on two fingers, and the fingers closed |
| `object_grasped(o)` | the same, after a symmetric 5-frame debounce |
| `object_sync(o)` | it moved with the gripper since the previous frame |
| `object_dropped(o)` | the frame on which `object_grasped` falls |
| `object_released(o)` | that frame, where the hold was ended on purpose (see below) |
| `object_left_gripper(o)` | its box no longer overlaps the gripper's |
| `object_supported(o)` | it rests on a fixture or on another object |
| `object_settled(o)` | supported, stable on its support, and the gripper has cleared it |
| `release_object_settle_timeout(o)` | 100 frames since the drop without its having settled |

and for the scene `forbidden_contact` and `forbidden_contact_sustained`. Which supports suit an
object is for the scene to say: what it does not report as a support (the floor) is none.

One definition is read more strictly than SafeManip words it. `object_released` needs evidence of
intent: the gripper opens, or the object is already supported. SafeManip looks for it on the frame
where the debounced hold ends, four frames (0.2 s) after the first one without a hold. In that time
an object falls 20 cm, so above a table most objects that slip out of a closed gripper would be
"supported" by then and count as released. Here the support must be there on the frame where the
hold truly ends; opening counts from the frame before that one until the debounced end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from safe_rl.errors import GroundingError, ResetNeededError
from safe_rl.grounding.contact_rules import ContactRules
from safe_rl.grounding.devices import (
    AgeCounter,
    Edge,
    StickyTrueDebounce,
    SymmetricDebounce,
    TimeoutCounter,
)
from safe_rl.grounding.geometry import (
    Quaternion,
    Vector,
    angle_between,
    conjugate,
    cross,
    difference,
    multiply,
    norm,
    rotate,
)
from safe_rl.grounding.scene import BodyMotion, Contact, ObjectFacts, SceneFrame
from safe_rl.grounding.settings import GroundingSettings

OBJECT_PROPOSITIONS = (
    "object_grasped_raw",
    "object_grasped",
    "object_sync",
    "object_dropped",
    "object_released",
    "object_left_gripper",
    "object_supported",
    "object_settled",
    "release_object_settle_timeout",
)
SCENE_PROPOSITIONS = ("forbidden_contact", "forbidden_contact_sustained")


class RelativePose(NamedTuple):
    """An object's pose in the frame of the gripper."""

    position: Vector
    quaternion: Quaternion


def relative_pose(gripper: BodyMotion, body: BodyMotion) -> RelativePose:
    """The pose of ``body`` as seen from ``gripper``."""
    inverse = conjugate(gripper.quaternion)
    return RelativePose(
        rotate(inverse, difference(body.position, gripper.position)),
        multiply(inverse, body.quaternion),
    )


def relative_speeds(carrier: BodyMotion, body: BodyMotion) -> tuple[float, float]:
    """Linear (m/s) and angular (rad/s) speed of ``body`` against the rigid motion of ``carrier``.

    The carrier's velocity is taken at the body's position, so that what rides on a turning carrier
    is at rest.
    """
    lever = cross(carrier.angular, difference(body.position, carrier.position))
    moved = difference(difference(body.linear, carrier.linear), lever)
    return norm(moved), norm(difference(body.angular, carrier.angular))


class _ObjectGrounding:
    """Devices and memory of one object; its values in the order of ``OBJECT_PROPOSITIONS``."""

    __slots__ = (
        "baseline", "dropped", "evidence", "grasped", "raw", "settings", "stable", "timeout",
    )  # fmt: skip

    def __init__(self, settings: GroundingSettings) -> None:
        self.settings = settings
        self.grasped = SymmetricDebounce(settings.grasp_window)
        self.dropped = Edge(rising=False)
        self.stable = StickyTrueDebounce(settings.stability_window)
        self.timeout = TimeoutCounter(settings.settle_timeout)
        self.baseline: RelativePose | None = None
        self.raw = False
        self.evidence = False

    def advance(
        self, facts: ObjectFacts, gripper: BodyMotion, closed: bool, opening: bool, first: bool
    ) -> tuple[bool, ...]:
        settings = self.settings
        supported = facts.support is not None
        raw = closed and facts.opposed and facts.fingers >= settings.bilateral_bodies
        sync = self._synchronous(facts.motion, gripper)
        linear, angular = relative_speeds(facts.support_motion, facts.motion)
        still = linear < settings.linear_stability and angular < settings.angular_stability
        if first:
            grasped, stable = self.grasped.reset(raw), self.stable.reset(still)
            dropped = self.dropped.reset(grasped)
            self.evidence = False
        else:
            grasped, stable = self.grasped.step(raw), self.stable.step(still)
            dropped = self.dropped.step(grasped)
            if raw:
                self.evidence = False
            elif self.raw:  # the hold truly ends here
                self.evidence = opening or supported
            else:
                self.evidence = self.evidence or opening
        released = dropped and self.evidence
        settled = supported and stable and facts.cleared
        if first:
            overdue = self.timeout.reset()
        else:
            overdue = self.timeout.step(started=dropped, resolved=settled or grasped)
        self.raw = raw
        self.baseline = relative_pose(gripper, facts.motion) if raw or grasped else None
        left = not facts.in_gripper_box
        return (raw, grasped, sync, dropped, released, left, supported, settled, overdue)

    def _synchronous(self, motion: BodyMotion, gripper: BodyMotion) -> bool:
        settings = self.settings
        if self.baseline is None:
            linear, angular = relative_speeds(gripper, motion)
            return linear < settings.linear_stability and angular < settings.angular_stability
        now = relative_pose(gripper, motion)
        slip = norm(difference(now.position, self.baseline.position))
        turn = angle_between(self.baseline.quaternion, now.quaternion)
        return slip < settings.grasp_linear_slip and turn < settings.grasp_angular_slip

    @property
    def features(self) -> tuple[float, ...]:
        return (
            float(self.raw),
            float(self.evidence),
            *self.grasped.features,
            *self.stable.features,
            *self.timeout.features,
        )

    def get_state(self) -> tuple[Any, ...]:
        devices = (self.grasped, self.dropped, self.stable, self.timeout)
        states = tuple(device.get_state() for device in devices)
        return (*states, self.baseline, self.raw, self.evidence)

    def set_state(self, state: tuple[Any, ...]) -> None:
        grasped, dropped, stable, timeout, self.baseline, self.raw, self.evidence = state
        self.grasped.set_state(grasped)
        self.dropped.set_state(dropped)
        self.stable.set_state(stable)
        self.timeout.set_state(timeout)


_OBJECT_FEATURES = (
    "grasped_raw", "release_evidence", "grasped", "grasp_debounce",
    "stable", "stability_debounce", "settle_timeout",
)  # fmt: skip


class ManipulationGrounding:
    """Propositions, frame by frame, for a gripper and a fixed set of objects.

    ``reset`` takes the first frame of an episode and ``step`` every further one; both return the
    letter ``{name: bool}``.
    """

    def __init__(
        self,
        objects: Sequence[str],
        rules: ContactRules,
        settings: GroundingSettings | None = None,
    ) -> None:
        """Ground the propositions of ``objects``, with contacts judged by ``rules``."""
        if len(set(objects)) != len(objects):
            raise GroundingError(f"objects must have different names, got {list(objects)}")
        self.objects = tuple(objects)
        self.settings = settings or GroundingSettings()
        self.rules = rules
        self._parts = [_ObjectGrounding(self.settings) for _ in self.objects]
        self._sustained = AgeCounter(self.settings.forbidden_contact_tolerance)
        self._joints: tuple[float, ...] | None = None
        self._was_opening = False
        self.forbidden: tuple[Contact, ...] = ()
        self._names = [tuple(f"{name}({o})" for name in OBJECT_PROPOSITIONS) for o in self.objects]

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """All names, in the order of the letter."""
        return (*(name for names in self._names for name in names), *SCENE_PROPOSITIONS)

    def reset(self, frame: SceneFrame) -> dict[str, bool]:
        """The letter of the first frame: levels are taken as they stand, nothing is an edge."""
        self._joints, self._was_opening = None, False
        for part in self._parts:
            part.baseline = None
        return self._advance(frame, first=True)

    def step(self, frame: SceneFrame) -> dict[str, bool]:
        """The letter of the next frame.

        Raises:
            ResetNeededError: without a first frame.
        """
        if self._joints is None:
            raise ResetNeededError("ManipulationGrounding.step came before reset(frame)")
        return self._advance(frame, first=False)

    def _advance(self, frame: SceneFrame, first: bool) -> dict[str, bool]:
        if len(frame.objects) != len(self.objects):
            raise GroundingError(
                f"the frame has facts for {len(frame.objects)} objects, "
                f"this grounding has {len(self.objects)}: {', '.join(self.objects)}"
            )
        joints = frame.finger_joints
        closed = max(joints, default=inf) < self.settings.gripper_closed
        opened = 0.0 if self._joints is None else sum(joints) - sum(self._joints)
        # Fingers that are forced apart, by an object turning between them, are not opening.
        wanted = sum(frame.finger_targets) > sum(joints)
        opening = wanted and opened > self.settings.gripper_opening
        recently = opening or self._was_opening
        letter: dict[str, bool] = {}
        held, supports = [], []
        for names, part, facts in zip(self._names, self._parts, frame.objects, strict=True):
            values = part.advance(facts, frame.gripper, closed, recently, first)
            letter.update(zip(names, values, strict=True))
            held.append(part.grasped.value)
            supports.append(facts.support)
        judge = self.rules.reset if first else self.rules.step
        self.forbidden = judge(frame.contacts, held, supports)
        touching = bool(self.forbidden)
        letter["forbidden_contact"] = touching
        letter["forbidden_contact_sustained"] = (
            self._sustained.reset(touching) if first else self._sustained.step(touching)
        )
        self._joints, self._was_opening = joints, opening
        return letter

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each entry of ``features`` is."""
        own = (f"{name}({o})" for o in self.objects for name in _OBJECT_FEATURES)
        return (*own, "gripper_opening", "forbidden_contact_age")

    @property
    def features(self) -> tuple[float, ...]:
        """The state of all devices as numbers in [0, 1].

        Not in it is what each object rested on before its hold, which decides whether a held object
        may touch that again.
        """
        own = (value for part in self._parts for value in part.features)
        return (*own, float(self._was_opening), *self._sustained.features)

    def get_state(self) -> tuple[Any, ...]:
        """Everything remembered, as an immutable value."""
        return (
            tuple(part.get_state() for part in self._parts),
            self._sustained.get_state(),
            self._joints,
            self._was_opening,
            self.forbidden,
            self.rules.get_state(),
        )

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Restore what ``get_state`` returned."""
        parts, sustained, self._joints, self._was_opening, self.forbidden, rules = state
        for part, saved in zip(self._parts, parts, strict=True):
            part.set_state(saved)
        self._sustained.set_state(sustained)
        self.rules.set_state(rules)
