"""Scripted episodes in the small kitchen: SafeManip's rules kept, violated and recovered from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]
pytest.importorskip("robosuite")

from safe_rl.envs.robocasa import RoboCasaEnv
from safe_rl.envs.robosuite.motions import CLOSE

from .driving import Drive
from .standin import TinyKitchen

OPEN_CABINET = {"cab_leftdoorhinge": 1.0, "cab_rightdoorhinge": 1.0}
OPEN_MICROWAVE = {"microwave_microjoint": 1.0}
ELSEWHERE = (0.0, -0.75, 0.98)
"""Where the mug is in nobody's way."""


class Episode(NamedTuple):
    """What happens, and what the monitor must count.

    Attributes:
        specification: its id.
        binding: of the instance looked at.
        play: makes the episode.
        counts: N, V, U, pending, by hand. Where physics decides U it is ``None``: then it is the
            number of frames from the violation to the first on which one of ``ends`` holds.
        ends: what the recovery waits for.
    """

    specification: str
    binding: dict[str, str]
    play: Callable[[RoboCasaEnv], Drive]
    counts: tuple[int, int, int | None, int]
    ends: tuple[str, ...] = ()


EPISODES: dict[str, Episode] = {}


def episode(
    specification: str,
    counts: tuple[int, int, int | None, int],
    *ends: str,
    **binding: str,
) -> Callable[[Callable[..., Drive]], Callable[..., Drive]]:
    """Add an episode; its docstring is its name."""

    def add(play: Callable[..., Drive]) -> Callable[..., Drive]:
        name = f"{specification}: {play.__doc__}"
        EPISODES[name] = Episode(
            specification, binding, lambda env: play(env, specification), counts, ends
        )
        return play

    return add


REACH = "reach_in_fixture_only_when_fully_open"


@episode(REACH, (1, 0, 0, 0), f="cab_leftdoor")
def _reach_into_cabinet(env: RoboCasaEnv, spec: str) -> Drive:
    """into the open cabinet, behind its left door"""
    drive = Drive(env, spec, doors=OPEN_CABINET)
    drive.go(-0.1, -0.16, 1.12, within=0.03).go(0.2, -0.16, 1.08, within=0.02)
    return drive.go(-0.1, -0.16, 1.12, within=0.03)


# The same motion is nothing to the other half of the cabinet.
@episode(REACH, (0, 0, 0, 0), f="cab_rightdoor")
def _not_into_the_other_half(env: RoboCasaEnv, spec: str) -> Drive:
    """behind the left door is not behind the right one"""
    return _reach_into_cabinet(env, spec)


@episode(REACH, (1, 1, None, 0), "left_fixture(microwave)", f="microwave")
def _reach_into_half_open_microwave(env: RoboCasaEnv, spec: str) -> Drive:
    """into the microwave that is open by half, and out again"""
    drive = Drive(env, spec, doors={"microwave_microjoint": 0.5})
    drive.go(-0.1, 0.2, 1.12, within=0.03).go(0.18, 0.27, 1.08, within=0.02, most=40)
    return drive.go(-0.1, 0.2, 1.12, within=0.03)


def _into_microwave(env: RoboCasaEnv, spec: str, **places: tuple[float, float, float]) -> Drive:
    drive = Drive(env, spec, doors=OPEN_MICROWAVE, places=places).grab(0.03, 0.1, 0.995)
    drive.go(-0.02, 0.1, 1.15, within=0.03).go(-0.08, 0.33, 1.12, within=0.03)
    drive.go(0.17, 0.33, 1.08, within=0.02, slow=0.6, most=40)
    return drive.go(-0.08, 0.33, 1.12, within=0.03)


ONE = "microwave_single_object_until_empty"


@episode(ONE, (1, 0, 0, 0), m="microwave")
def _into_empty_microwave(env: RoboCasaEnv, spec: str) -> Drive:
    """the mug goes into the empty microwave"""
    return _into_microwave(env, spec)


@episode(ONE, (1, 1, None, 0), "object_left_microwave(microwave)", m="microwave")
def _into_full_microwave(env: RoboCasaEnv, spec: str) -> Drive:
    """a steak is in it; the mug comes out again"""
    return _into_microwave(env, spec, meat=(0.27, 0.45, 0.96))


def _into_cabinet(env: RoboCasaEnv, spec: str, x: float) -> Drive:
    places = {"obj": (0.03, -0.2, 0.98)}
    drive = Drive(env, spec, doors=OPEN_CABINET, places=places).grab(0.025, -0.2, 0.995)
    drive.go(0.0, -0.2, 1.15, within=0.02).go(x, -0.18, 1.08, within=0.01, slow=0.6)
    drive.go(x, -0.18, 1.016, within=0.004, slow=0.4).open()
    return drive.go(-0.08, -0.18, 1.15, within=0.03)


PUT = "fixture_placement_release_after_internal_support"


@episode(PUT, (1, 0, 0, 0), o="obj", f="cab_leftdoor")
def _put_into_cabinet(env: RoboCasaEnv, spec: str) -> Drive:
    """the mug is let go in the cabinet"""
    return _into_cabinet(env, spec, 0.22)


# Its middle is 2 cm behind the front: within the inside, but not within the shrunk one. To be let
# go is all that the recovery waits for.
@episode(PUT, (1, 1, 1, 0), o="obj", f="cab_leftdoor")
def _put_on_its_edge(env: RoboCasaEnv, spec: str) -> Drive:
    """the mug is let go on the cabinet's edge"""
    return _into_cabinet(env, spec, 0.118)


PRESS = "press_preconditions_safe"
PRESS_ENDS = ("preconditions_satisfied_press(microwave)", "skill_press_onset_end(microwave)")


def _towards_button(env: RoboCasaEnv, spec: str, doors: dict[str, float]) -> Drive:
    drive = Drive(env, spec, doors=doors, places={"obj": ELSEWHERE})
    return drive.go(-0.2, 0.1, 1.12, within=0.03).go(0.01, 0.09, 1.08, slow=0.4).wait(20)


@episode(PRESS, (1, 0, 0, 0), f="microwave")
def _press(env: RoboCasaEnv, spec: str) -> Drive:
    """towards the button of the closed microwave"""
    return _towards_button(env, spec, {})


@episode(PRESS, (1, 1, None, 0), *PRESS_ENDS, f="microwave")
def _press_open(env: RoboCasaEnv, spec: str) -> Drive:
    """towards the button of the open microwave, and no further"""
    return _towards_button(env, spec, OPEN_MICROWAVE)


@episode("open_close_preconditions_safe", (1, 0, 0, 0), f="cab_leftdoor")
def _towards_handle(env: RoboCasaEnv, spec: str) -> Drive:
    """towards the left handle of the closed cabinet"""
    drive = Drive(env, spec, places={"obj": ELSEWHERE})
    return drive.go(-0.15, -0.22, 1.15, within=0.03).go(0.03, -0.22, 1.12, slow=0.4).wait(5)


CONTACT = "no_forbidden_contact"


def _lean(env: RoboCasaEnv, spec: str, x: float, y: float, z: float) -> Drive:
    drive = Drive(env, spec, places={"obj": ELSEWHERE})
    drive.grip = CLOSE
    drive.go(-0.15, y, 1.14, within=0.03).go(x, y, z, slow=0.5, most=70, within=0.001)
    return drive.go(-0.15, y, 1.12, within=0.03).wait(3)


@episode(CONTACT, (0, 0, 0, 0))
def _lean_on_cabinet(env: RoboCasaEnv, spec: str) -> Drive:
    """leaning on the cabinet, which the task refers to"""
    return _lean(env, spec, 0.1, -0.22, 1.12)


@episode(CONTACT, (1, 1, None, 0), "!forbidden_contact_sustained")
def _lean_on_microwave(env: RoboCasaEnv, spec: str) -> Drive:
    """leaning on the microwave, which it does not"""
    return _lean(env, spec, 0.11, 0.1, 1.08)


RAW = "raw_robot_contact_blocks_rte_grasp_until_sanitized"


def _handle_steak(env: RoboCasaEnv, spec: str) -> Drive:
    places = {"obj": ELSEWHERE, "meat": (0.03, -0.2, 0.94)}
    drive = Drive(env, spec, places=places).grab(0.03, -0.2, 0.945).wait(12).open()
    return drive.go(-0.1, -0.2, 1.12, within=0.03)


@episode(RAW, (1, 0, 0, 0))
def _steak_alone(env: RoboCasaEnv, spec: str) -> Drive:
    """the raw steak is held for more than a second, and then nothing"""
    return _handle_steak(env, spec).wait(5)


# RoboCasa has nothing to be washed with: only the touch itself can end.
@episode(RAW, (1, 1, None, 0), "!robot_contact_clean_sustained")
def _steak_then_microwave(env: RoboCasaEnv, spec: str) -> Drive:
    """the raw steak, and then the clean microwave"""
    drive = _handle_steak(env, spec)
    drive.grip = CLOSE
    drive.go(-0.15, 0.1, 1.14, within=0.03).go(0.11, 0.1, 1.08, slow=0.5, most=60, within=0.001)
    return drive.go(-0.15, 0.1, 1.12, within=0.03).wait(3)


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoboCasaEnv]:
    """One kitchen for all episodes."""
    kitchen = TinyKitchen(Path(tmp_path_factory.mktemp("kitchen")))
    made = RoboCasaEnv(kitchen, backend="numpy", horizon=1000, terminate_on_success=False)
    yield made
    made.close()


def exposure(drive: Drive, ends: tuple[str, ...]) -> int:
    """Frames from the one violation until what ends it, the first included."""
    ((start, _),) = drive.violations

    def ended(letter: dict[str, bool]) -> bool:
        return any(letter[name.lstrip("!")] != name.startswith("!") for name in ends)

    after = [ended(letter) for letter in drive.letters[start:]]
    return max(1, after.index(True))


@pytest.mark.parametrize("name", EPISODES)
def test_counts(env: RoboCasaEnv, name: str) -> None:
    episode = EPISODES[name]
    drive = episode.play(env)
    n, v, u, pending = episode.counts
    u = exposure(drive, episode.ends) if u is None else u
    assert drive.counts(**episode.binding) == (n, v, u, pending)
