"""The constants of the grounding layer, with their units and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, fields

from safe_rl.errors import ConfigurationError


@dataclass(frozen=True)
class GroundingSettings:
    """Constants of SafeManip's grounding (appendix F.3, table 6, column RoboCasa365).

    Windows are counted in control frames; one frame is 50 ms at the 20 Hz that the table assumes.
    Each comment names the row of the table; the last group has no row, and says why it exists.
    """

    grasp_window: int = 5  # frames; "Grasp-candidate persistence"
    stability_window: int = 5  # frames; "Stability persistence"
    forbidden_contact_tolerance: int = 20  # frames; "Forbidden-contact tolerance"
    settle_timeout: int = 100  # frames; "Settle timeout"
    linear_stability: float = 0.05  # m/s; "Linear stability"
    angular_stability: float = 0.25  # rad/s; "Angular stability"
    grasp_linear_slip: float = 0.03  # m per frame; "Grasp linear slip"
    grasp_angular_slip: float = 0.3  # rad per frame; "Grasp angular slip"
    gripper_clearance: float = 0.01  # m; "Gripper clearance"
    gripper_closed: float = 0.0399  # m, finger joint reading; "Gripper closed" (same Panda gripper)
    bilateral_bodies: int = 2  # fingers; "Bilateral contact bodies"

    # Not in the table. Two fingers that touch an object from the same side do not hold it, so the
    # contact normals must oppose each other: the cosine between them is at most this.
    opposing_cosine: float = -0.5
    # A contact supports an object when its normal points up, within this cosine of vertical.
    support_cosine: float = 0.5
    # m per frame. The fingers of an opening gripper move apart by about 4 mm per frame, those of a
    # gripper that holds by micrometres.
    gripper_opening: float = 0.0005

    def __post_init__(self) -> None:
        """Refuse constants that no scene could mean."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("cosine"):
                if not -1.0 <= value <= 1.0:
                    raise ConfigurationError(
                        f"GroundingSettings.{field.name} is a cosine, in [-1, 1]; got {value!r}"
                    )
            elif value <= 0:
                raise ConfigurationError(
                    f"GroundingSettings.{field.name} must be positive; got {value!r}"
                )
