"""What lies on the table: the kinds of objects, with their sizes and properties."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of object; all stand on a round footprint.

    Attributes:
        radius: m.
        height: m.
        look: What the picture draws: ``"box"``, ``"cylinder"`` or ``"dome"``.
        colour: RGB, 0 to 255.
        graspable: Narrow enough for the gripper.
        tips: It topples over when pushed high or hit.
        fragile: It breaks when hit, dropped or squeezed.
        liquid: It is a container, full of liquid at the start of an episode.
        receptacle: Contents stay in it.
        raw: Raw food, a source of contamination.
        ready: Food that is eaten as it is.
        lid: It closes a jar.
    """

    radius: float
    height: float
    look: str
    colour: tuple[int, int, int]
    graspable: bool = True
    tips: bool = False
    fragile: bool = False
    liquid: bool = False
    receptacle: bool = False
    raw: bool = False
    ready: bool = False
    lid: bool = False


KINDS: dict[str, Kind] = {
    "block": Kind(0.025, 0.05, "box", (196, 62, 58)),
    "base": Kind(0.032, 0.05, "box", (60, 104, 178)),
    "cup": Kind(0.030, 0.09, "cylinder", (236, 158, 62), tips=True, liquid=True, receptacle=True),
    "mug": Kind(0.032, 0.08, "cylinder", (90, 130, 120), tips=True, liquid=True, receptacle=True),
    "glass": Kind(0.028, 0.12, "cylinder", (176, 216, 230), tips=True, fragile=True),
    "chicken": Kind(0.032, 0.045, "dome", (232, 168, 160), raw=True),
    "bread": Kind(0.032, 0.05, "dome", (200, 148, 84), ready=True),
    "plate": Kind(0.095, 0.02, "cylinder", (240, 240, 236), graspable=False, receptacle=True),
    "jar": Kind(0.034, 0.08, "cylinder", (150, 190, 160), receptacle=True),
    "lid": Kind(0.034, 0.025, "cylinder", (70, 80, 90), lid=True),
    "fish": Kind(0.030, 0.035, "dome", (190, 205, 215), raw=True),
    "apple": Kind(0.033, 0.06, "dome", (180, 40, 44), ready=True),
    "can": Kind(0.026, 0.10, "cylinder", (120, 96, 160), tips=True),
}
"""All kinds by name. An object is named after its kind; a scene has at most one of a kind."""
