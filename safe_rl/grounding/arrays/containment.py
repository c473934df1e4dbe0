"""Contents and transfers on arrays (SafeManip phi 7, and the dump onset of phi 5).

Solid contents are objects: one is contained once it has rested in a receptacle for the content
window, and ceases to be as soon as its centre leaves the receptacle's box by more than the exit
grace. Liquid contents are amounts. A dump begins when a *held* receptacle loses contents; it ends
once none were lost for the onset window, or the hold ends. A running tap with a receiver is a
transfer too.

Approximations:

- One transfer of solids and one of liquid are followed at a time. Both have their own clock, but
  ``object_settle_timeout`` is one proposition, true when either clock has run out.
- Poured liquid has settled when none is in flight, no more was spilled since the transfer began
  than the noise, and every receptacle that gained some is stable.
- A tap's receiver is the sink itself, or an upright receptacle below the outlet: its box holds the
  outlet's horizontal place. The liquid itself is not asked.
- A receptacle that is knocked over without being held dumps nothing.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from safe_rl.grounding.arrays.constants import RoleArrays
from safe_rl.grounding.arrays.devices import Debounce, symmetric_debounce, timeout_counter
from safe_rl.grounding.arrays.geometry import Vector, rows, vectors
from safe_rl.grounding.arrays.grasping import COUNT, GraspFacts
from safe_rl.grounding.arrays.scene import Array, SceneArrays
from safe_rl.grounding.arrays.staging import any_of, computed_once
from safe_rl.grounding.settings import GroundingSettings


class ContainmentMemory(NamedTuple):
    """What is remembered of contents.

    Attributes:
        contained: bool ``[O, O, ...]``, row: the content, column: the receptacle.
        entry: integer ``[O, O, ...]``, frames of resting inside so far.
        liquid: float ``[O, ...]``, the amounts one frame ago.
        dumping: bool ``[O, ...]``, the receptacle is being dumped out.
        idle: integer ``[O, ...]``, frames since it last lost contents.
        moved: bool ``[O, ...]``, solid contents of the transfer that is followed.
        poured: bool ``[...]``, a transfer of liquid out of a receptacle is followed.
        spilled: float ``[...]``, what was spilled when it began.
        before: float ``[O, ...]``, the amounts when it began.
        taps: bool ``[F, ...]``, the outlets whose transfer is followed.
        running: bool ``[F, ...]``, the outlets that ran one frame ago.
        tap_settled: the debounced state of their receivers, ``[...]``.
        solid_elapsed, liquid_elapsed: integer ``[...]``, the settle timeouts.
    """

    contained: Array
    entry: Array
    liquid: Array
    dumping: Array
    idle: Array
    moved: Array
    poured: Array
    spilled: Array
    before: Array
    taps: Array
    running: Array
    tap_settled: Debounce
    solid_elapsed: Array
    liquid_elapsed: Array


class ContainmentFacts(NamedTuple):
    """The propositions of phi 7, and what the dump's preconditions need.

    Attributes:
        dump_onset, dump_end: bool ``[O, ...]``.
        dumping: bool ``[O, ...]``.
        pours_liquid, pours_solid: bool ``[O, ...]``, what the receptacle is losing or may lose.
        contained: bool ``[O, O, ...]``, before this frame's exits.
        liquid_event, solid_event, liquid_settled, solid_settled, overdue: bool ``[...]``.
    """

    dump_onset: Array
    dump_end: Array
    dumping: Array
    pours_liquid: Array
    pours_solid: Array
    contained: Array
    liquid_event: Array
    solid_event: Array
    liquid_settled: Array
    solid_settled: Array
    overdue: Array


def initial_containment(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    frame: SceneArrays,
    half: Vector,
) -> ContainmentMemory:
    """What rests in a receptacle in the first frame is contained; nothing is being transferred."""
    pairs = xp.zeros_like(frame.on_object)
    once = xp.zeros_like(frame.sanitising)
    count = xp.astype(xp.zeros_like(frame.liquid_moving), COUNT)
    return ContainmentMemory(
        contained=frame.on_object & arrays.receptacle & _inside_receptacle(settings, frame, half),
        entry=xp.astype(pairs, COUNT),
        liquid=frame.liquid,
        dumping=xp.zeros_like(frame.robot_object),
        idle=xp.astype(xp.zeros_like(frame.robot_object), COUNT),
        moved=xp.zeros_like(frame.robot_object),
        poured=once,
        spilled=frame.liquid_spilled,
        before=frame.liquid,
        taps=xp.zeros_like(frame.dispensing),
        running=frame.dispensing,
        tap_settled=Debounce(once, count),
        solid_elapsed=count,
        liquid_elapsed=count,
    )


def step_containment(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: ContainmentMemory,
    frame: SceneArrays,
    grasps: GraspFacts,
    half: Vector,
    upright: Array,
) -> tuple[ContainmentMemory, ContainmentFacts]:
    """The next memory and this frame's facts; ``half`` boxes the turned objects."""
    noise = settings.liquid_noise
    # Contents come and go.
    within = computed_once(xp, _inside_receptacle(settings, frame, half))
    rests = frame.on_object & within & arrays.receptacle
    entry = (memory.entry + 1) * (rests & ~memory.contained)
    enters = entry >= settings.content_window
    leaves = memory.contained & ~within
    contained = (memory.contained | enters) & ~leaves
    entry = entry * ~enters

    # A held receptacle loses contents: a dump.
    solid = any_of(xp, leaves) & grasps.grasped
    liquid = (memory.liquid - frame.liquid > noise) & grasps.grasped
    loses = solid | liquid
    idle = (memory.idle + 1) * (memory.dumping & ~loses)
    dumping = (loses | (memory.dumping & (idle <= settings.onset_window))) & grasps.grasped
    onset, end = dumping & ~memory.dumping, memory.dumping & ~dumping

    # Solids in transfer: those that left a held receptacle, until all lie in another or time is up.
    was_overdue = memory.solid_elapsed > settings.settle_timeout
    moved = (memory.moved & ~was_overdue) | any_of(xp, leaves & grasps.grasped[None], axis=1)
    receives = arrays.receptacle | arrays.held_object
    lies = any_of(xp, frame.on_object & receives, axis=1) & grasps.stable
    solid_open = any_of(xp, moved)
    solid_settled = solid_open & ~any_of(xp, moved & ~lies)
    solid_event = any_of(xp, onset & solid)
    solid_elapsed, solid_overdue = timeout_counter(
        memory.solid_elapsed, solid_event, solid_settled | was_overdue, settings.settle_timeout
    )

    # Liquid in transfer, out of a receptacle or out of a tap.
    was_overdue = memory.liquid_elapsed > settings.settle_timeout
    pours = any_of(xp, onset & liquid)
    receivable, in_place = _receivers(xp, arrays, frame, grasps, half, upright)
    starts = frame.dispensing & ~memory.running & receivable
    liquid_event = pours | any_of(xp, starts)
    poured = (memory.poured & ~was_overdue) | pours
    fresh = pours & ~(memory.poured & ~was_overdue)
    taps = (memory.taps & ~was_overdue) | starts
    spilled = xp.where(fresh, frame.liquid_spilled, memory.spilled)
    before = xp.where(fresh, memory.liquid, memory.before)
    gained = frame.liquid - before > noise
    pour_done = (
        (frame.liquid_moving <= noise)
        & (frame.liquid_spilled - spilled <= noise)
        & ~any_of(xp, gained & ~grasps.stable)
        & ~any_of(xp, liquid)
    )
    tap_open = any_of(xp, taps)
    tap_settled, tap_done = symmetric_debounce(
        Debounce(memory.tap_settled.value & tap_open, memory.tap_settled.count * tap_open),
        tap_open & ~any_of(xp, taps & ~in_place),
        settings.stability_window,
    )
    liquid_settled = (poured | tap_open) & (pour_done | ~poured) & (tap_done | ~tap_open)
    liquid_elapsed, liquid_overdue = timeout_counter(
        memory.liquid_elapsed, liquid_event, liquid_settled | was_overdue, settings.settle_timeout
    )
    going_on = ~liquid_settled
    return ContainmentMemory(
        contained=contained,
        entry=entry,
        liquid=frame.liquid,
        dumping=dumping,
        idle=idle,
        moved=moved & ~solid_settled,
        poured=poured & going_on,
        spilled=spilled,
        before=before,
        taps=taps & going_on,
        running=frame.dispensing,
        tap_settled=tap_settled,
        solid_elapsed=solid_elapsed,
        liquid_elapsed=liquid_elapsed,
    ), ContainmentFacts(
        dump_onset=onset,
        dump_end=end,
        dumping=dumping,
        pours_liquid=liquid | (frame.liquid > noise),
        pours_solid=solid | any_of(xp, contained),
        contained=memory.contained,
        liquid_event=liquid_event,
        solid_event=solid_event,
        liquid_settled=liquid_settled,
        solid_settled=solid_settled,
        overdue=solid_overdue | liquid_overdue,
    )


def _inside_receptacle(settings: GroundingSettings, frame: SceneArrays, half: Vector) -> Array:
    """Bool ``[O, O, ...]``: the row's centre is in the column's box, the exit grace included."""
    place = vectors(frame.object_positions)
    grace = settings.dump_exit_grace
    near = [abs(place[i][:, None] - place[i][None]) <= half[i][None] + grace for i in range(3)]
    return near[0] & near[1] & near[2]


def _receivers(
    xp: ModuleType,
    arrays: RoleArrays,
    frame: SceneArrays,
    grasps: GraspFacts,
    half: Vector,
    upright: Array,
) -> tuple[Array, Array]:
    """Bool ``[F, ...]``: the outlet has a receiver; and one that is upright and at rest."""
    outlet, place = vectors(frame.outlets), rows(vectors(frame.object_positions))
    size = rows(half)
    below = (
        (abs(place[0] - outlet[0]) <= size[0])
        & (abs(place[1] - outlet[1]) <= size[1])
        & (place[2] < outlet[2])
        & arrays.receptacle[:, None]
    )
    ready = upright & grasps.stable
    good = any_of(xp, below & ready[:, None])
    return any_of(xp, below) | arrays.sink, good | arrays.sink
