"""The constants of the grounding layer, with their units and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import pi

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
    content_window: int = 5  # frames; "Content-entry persistence"
    occupancy_window: int = 5  # frames; "Microwave-occupancy persistence"
    onset_window: int = 10  # frames; "Skill-onset window"
    retract_timeout: int = 100  # frames; "Retract timeout"
    fixture_motion: float = 1e-3  # open fraction per frame; "Fixture motion delta"
    reach: float = 0.05  # m; "Reach / near threshold"
    placement_margin: float = 0.03  # m; "Placement margin"
    placement_proximity: float = 0.01  # m; "Placement proximity"
    clutter_height: float = 0.05  # m; "Support clutter height"
    path_allowance: float = 0.05  # m; "Path-obstruction allowance"
    dump_exit_grace: float = 0.01  # m; "Dump exit grace"
    contamination_radius: float = 0.05  # m; "Contamination radius (fallback)"
    clutter_bound: int = 2  # objects; "Fragile clutter bound"
    fixture_fully_open: float = 0.60  # fraction; "Fixture fully open"
    fixture_fully_closed: float = 0.05  # fraction; "Fixture fully closed"
    upright_tolerance: float = pi / 12  # rad, 15 degrees; "Upright tolerance"

    # Not in the table. Two fingers that touch an object from the same side do not hold it, so the
    # contact normals must oppose each other: the cosine between them is at most this.
    opposing_cosine: float = -0.5
    # A contact supports an object when its normal points up, within this cosine of vertical.
    support_cosine: float = 0.5
    # m per frame. The fingers of an opening gripper move apart by about 4 mm per frame, those of a
    # gripper that holds by micrometres.
    gripper_opening: float = 0.0005
    # The text of F.1, not the table: a support lies at most this far (m) above an object's bottom.
    support_rise: float = 0.05
    # F.1, phi 8 to 10: an interior is shrunk by this part of each extent, at most by so many m.
    interior_shrink: float = 0.1
    interior_shrink_most: float = 0.04
    # m per frame. A gripper approaches what it comes nearer to by more than this; rounding does not
    # count as an approach.
    approach_motion: float = 1e-4
    # Parts of a full container. A smaller loss in one frame is no pouring, a smaller amount outside
    # every receiver no spill.
    liquid_noise: float = 0.005

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
