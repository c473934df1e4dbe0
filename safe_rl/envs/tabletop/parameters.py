"""The numbers of the tabletop world: sizes, speeds and limits, in SI units."""

from __future__ import annotations

from dataclasses import dataclass, fields

from safe_rl.errors import ConfigurationError, near


@dataclass(frozen=True)
class TabletopParameters:
    """What the dynamics depend on, apart from the objects themselves.

    Attributes:
        frequency: Control frames per second.
        gravity: m/s².
        speed: m/s along each axis at full action.
        tilt_speed: rad/s at full action.
        finger_speed: m/s of each finger at full action.
        finger_open: m, distance of each finger from the closed position when open (a Panda's).
        finger_length: m, from the finger tips up to the palm.
        finger_half_depth: m, half the extent of a finger along y.
        finger_thickness: m, extent of a finger along x.
        pad_height: m, from the tips up, where a finger can hold.
        pad_reach: m, how far off centre along y the pads still hold an object.
        hold_slack: m by which the fingers may open before a hold is lost.
        slip_speed: m/s across the pads (y and z) above which a held object stays behind.
        squeeze_limit: Closing command, 0 to 1, above which fragile things break in the grip.
        break_speed: m/s of a hit above which fragile things break.
        drop_break_speed: m/s of a landing above which fragile things break.
        tip_speed: m/s of a hit, at any height, above which what can tip over does.
        tip_speed_high: m/s of a hit above half height, above which it does.
        tip_rate: rad/s at which things topple.
        tip_angle_cosine: cosine of the tilt past which a thing topples by itself.
        spill_cosine: cosine of the tilt past which liquid flows out.
        pour_rate: Fraction of a full container per second that flows out when tilted past that.
        splash_speed: m/s of a hit, of a landing or of the hand that carries it, above which an open
            container splashes.
        splash: Fraction of a full container that one splash loses.
        hard_landing_speed: m/s above which a landing counts as hard.
        rest_tolerance: m, how far above an object's bottom a surface may be and still carry it.
        handle_reach: m, how far from a handle's centre the gripper still gets hold of it.
        joint_speed: m/s at which a handle can be moved.
        shove_speed: m/s at which a drawer pushes what stands before it.
        reach: m, half extents of the gripper's workspace along x and y.
        ceiling: m, the highest position of the finger tips.
    """

    frequency: float = 20.0
    gravity: float = 9.81
    speed: float = 0.8
    tilt_speed: float = 4.0
    finger_speed: float = 0.1
    finger_open: float = 0.04
    finger_length: float = 0.11
    finger_half_depth: float = 0.012
    finger_thickness: float = 0.014
    pad_height: float = 0.03
    pad_reach: float = 0.035
    hold_slack: float = 0.003
    slip_speed: float = 0.6
    squeeze_limit: float = 0.95
    break_speed: float = 0.35
    drop_break_speed: float = 0.8
    tip_speed: float = 0.45
    tip_speed_high: float = 0.15
    tip_rate: float = 5.0
    tip_angle_cosine: float = 0.9
    spill_cosine: float = 0.75
    pour_rate: float = 3.0
    splash_speed: float = 0.5
    splash: float = 0.25
    hard_landing_speed: float = 0.8
    rest_tolerance: float = 0.015
    handle_reach: float = 0.03
    joint_speed: float = 0.15
    shove_speed: float = 0.03
    reach: float = 0.5
    ceiling: float = 0.45

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0.0:
                raise ConfigurationError(
                    f"TabletopParameters.{field.name} must be positive; got {value!r}"
                )

    @property
    def frame(self) -> float:
        """Seconds per control frame."""
        return 1.0 / self.frequency


def tabletop_parameters(values: dict[str, float]) -> TabletopParameters:
    """Build ``TabletopParameters``; an unknown name is an error that lists the known ones.

    Raises:
        ConfigurationError: for an unknown name or a value that is not positive.
    """
    known = TabletopParameters.__dataclass_fields__
    for name in values:
        if name not in known:
            raise ConfigurationError(
                f"the tabletop has no parameter {name!r}{near(name, known)}; "
                f"it has {', '.join(known)}"
            )
    return TabletopParameters(**values)
