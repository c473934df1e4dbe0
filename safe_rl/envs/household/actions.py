"""The actions of the household, the one place where they are defined.

The simulator and the model for unified-planning are both made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from safe_rl.envs.household.schema import Branch, Effect, Need, Schema

FLOOR: Final = "floor"
"""Every scene has it: what is dropped lies there."""

SLIP: Final = 0.2
"""How often a wet thing slips from the hand (see "slippery" among the classes)."""
PASS: Final = 0.25
"""How often the hand passes by a thing in its way without knocking it over."""
SPILL: Final = 0.2
"""How often some liquid is spilled when it is poured outside the sink."""

_FREE_HAND: Final = Need("!holding(x)", "the hand holds {x}", forall={"x": "movable"})


def _distinct(first: str, second: str) -> Need:
    return Need(f"!same({first},{second})", f"{{{first}}} cannot be both")


def _in_reach(thing: str) -> tuple[Need, ...]:
    """Nothing closed is around it."""
    return (
        Need(f"inside({thing},d) -> open(d)", "{d} is closed", forall={"d": "door"}),
        Need(
            f"!(inside({thing},c) & on(l,c))",
            "{l} is on {c}",
            forall={"c": "container", "l": "lid"},
        ),
    )


def _at_hand(thing: str) -> Need:
    return Need(f"holding({thing})", f"{{{thing}}} is not in the hand")


def _receives(thing: str, place: str) -> tuple[Need, ...]:
    """A thing can be put onto or into a place."""
    return (
        Need(
            f"goes_onto({thing},{place}) | goes_inside({thing},{place})",
            f"{{{thing}}} cannot be put there",
        ),
        Need(f"door({place}) -> open({place})", f"{{{place}}} is closed"),
        Need(
            f"goes_inside({thing},{place}) -> !on(l,{place})",
            f"{{l}} is on {{{place}}}",
            forall={"l": "lid"},
        ),
        *_in_reach(place),
        Need(f"!broken({place})", f"{{{place}}} is broken"),
        Need(
            f"!on({place},q) & !inside({place},q)",
            f"{{{place}}} is itself on or in {{q}}, which can be moved",
            forall={"q": "movable"},
        ),
    )


def _leaves(thing: str) -> tuple[Effect, ...]:
    """A thing leaves where it is, with what it carries."""
    return (
        Effect((f"!on({thing},p)",), forall={"p": "thing"}),
        Effect((f"!inside({thing},p)",), forall={"p": "thing"}),
        Effect(
            ("!inside(x,e)",),
            f"on(x,{thing}) | inside(x,{thing})",
            {"x": "movable", "e": "fixture"},
        ),
        Effect((f"!before({thing},x)",), forall={"x": "thing"}),
        Effect((f"!before(x,{thing})",), forall={"x": "movable"}),
    )


def _arrives(thing: str, place: str) -> tuple[Effect, ...]:
    """A thing comes to a place, with what it carries; germs pass between what touches."""
    return (
        Effect((f"on({thing},{place})",), f"goes_onto({thing},{place})"),
        Effect((f"inside({thing},{place})",), f"goes_inside({thing},{place})"),
        # Whatever stands in an enclosure or the sink has its contents in there too.
        Effect((f"inside({thing},e)",), f"inside({place},e)", {"e": "fixture"}),
        Effect(
            (f"inside(x,{place})",),
            f"fixture({place}) & goes_inside({thing},{place}) "
            f"& (on(x,{thing}) | inside(x,{thing}))",
            {"x": "movable"},
        ),
        Effect((f"contaminated({place})",), f"contaminated({thing}) & !enclosure({place})"),
        Effect((f"contaminated({thing})",), f"contaminated({place}) & exposed({thing})"),
        Effect((f"broken({place})",), f"heavy({thing}) & fragile({place})"),
        Effect(
            ("crushed(x)",),
            f"heavy({thing}) & inside(x,{place}) & container({place})",
            {"x": "crushable"},
        ),
    )


def _falls(thing: str, when: str, others: Mapping[str, str]) -> tuple[Effect, ...]:
    """A thing falls to the floor."""
    return (
        Effect((f"on({thing},{FLOOR})", f"dropped({thing})"), when, others),
        Effect((f"broken({thing})",), f"({when}) & fragile({thing})", others),
        Effect((f"spilled({FLOOR})", f"!full({thing})"), f"({when}) & full({thing})", others),
    )


_STACKED: Final = "on(x,o) & stacks(o)"
_HIGHER: Final = f"on(y,x) & {_STACKED}"

_KNOCKED: Final = (
    Effect(("toppled(b)",), "before(b,o)", {"b": "movable"}),
    Effect(("broken(b)",), "before(b,o)", {"b": "fragile"}),
    Effect(
        ("spilled(s)", "!full(b)"),
        "before(b,o) & full(b) & on(b,s)",
        {"b": "vessel", "s": "thing"},
    ),
)
"""What stands in the hand's way to ``o`` is knocked over."""

_PICK: Final = Schema(
    "pick",
    ("o",),
    "pick up {o}",
    needs=(
        Need("movable(o)", "it cannot be lifted"),
        Need("!holding(o)", "it is in the hand already"),
        _FREE_HAND,
        *_in_reach("o"),
        Need("!broken(o)", "it is broken"),
    ),
    effects=(
        *_leaves("o"),
        *_falls("x", _STACKED, {"x": "stacks"}),
        Effect(("!on(x,o)",), _STACKED, {"x": "stacks"}),
        *_falls("y", _HIGHER, {"x": "stacks", "y": "stacks"}),
        Effect(("!on(y,x)",), _HIGHER, {"x": "stacks", "y": "stacks"}),
        Effect(
            ("!inside(y,e)",),
            _HIGHER,
            {"x": "stacks", "y": "stacks", "e": "fixture"},
        ),
        Effect(("touched(o)",)),
        Effect(("hand_soiled",), "contaminated(o) | dirty(o) | toxic(o)"),
        Effect(("contaminated(o)",), "hand_soiled & exposed(o)"),
    ),
    branches=(
        Branch("done", (Effect(("holding(o)",)), *_KNOCKED)),
        Branch("slips", (*_falls("o", "true", {}), *_KNOCKED), SLIP, "wet(o) & slippery(o)"),
        Branch(
            "passes by",
            (Effect(("holding(o)",)),),
            PASS,
            "before(b,o)",
            {"b": "movable"},
        ),
    ),
    says="take {o} into the empty hand",
    aliases=("pick_up", "grab", "grasp", "take", "get", "lift", "fetch", "hold", "grip"),
)

_PLACE: Final = Schema(
    "place",
    ("o", "p"),
    "place {o}",
    needs=(
        _at_hand("o"),
        *_receives("o", "p"),
        Need(
            "movable(p) -> !on(x,o) & !inside(x,o)",
            "{o} still carries {x}",
            forall={"x": "movable"},
        ),
    ),
    effects=(Effect(("!holding(o)", "placed(o)")), *_arrives("o", "p")),
    says="put {o} from the hand onto or into {p}",
    aliases=(
        "put", "put_down", "put_on", "put_in", "put_into", "put_onto", "put_inside", "place_on",
        "place_in", "place_into", "place_onto", "place_inside", "place_down", "set", "set_down",
        "set_on", "lay", "lay_down", "drop_in", "insert", "store", "return", "put_back",
        "place_back", "stow",
    ),
)  # fmt: skip

_TRANSFER: Final = Schema(
    "transfer",
    ("o", "t", "p"),
    "transfer {o}",
    needs=(
        Need("tool(t)", "{t} is no tool to transfer food with"),
        _at_hand("t"),
        Need("food(o)", "{o} is no food"),
        *_in_reach("o"),
        *_receives("o", "p"),
    ),
    effects=(
        *_leaves("o"),
        Effect(("placed(o)",)),
        *_arrives("o", "p"),
        Effect(("contaminated(o)",), "contaminated(t)"),
        Effect(("contaminated(p)",), "contaminated(t) & !enclosure(p)"),
        Effect(("contaminated(t)",), "contaminated(o)"),
    ),
    says="move the food {o} onto or into {p} with the tool {t} in the hand",
    aliases=("scoop", "move_with", "transfer_with"),
)

_WASH: Final = Schema(
    "wash",
    ("o",),
    "wash {o}",
    needs=(
        Need("washable(o)", "it cannot be washed"),
        _FREE_HAND,
        Need("inside(o,s)", "it is not in the sink", exists={"s": "sink"}),
        Need("running(t)", "no water runs", exists={"t": "tap"}),
    ),
    effects=(Effect(("washed(o)", "wet(o)", "!dirty(o)", "!contaminated(o)")),),
    says="wash {o}, which is in the sink, under running water",
    aliases=("rinse", "clean_with_water", "wash_off", "rinse_off"),
)

_WASH_HANDS: Final = Schema(
    "wash_hands",
    (),
    "wash the hands",
    needs=(_FREE_HAND, Need("running(t)", "no water runs", exists={"t": "tap"})),
    effects=(Effect(("!hand_soiled", "hands_washed")),),
    says="wash the hands under running water",
    aliases=("wash_hand", "sanitize", "sanitise", "clean_hands", "sanitize_hands"),
)

_WIPE: Final = Schema(
    "wipe",
    ("p", "c"),
    "wipe {p}",
    needs=(
        Need("cloth(c)", "{c} is nothing to wipe with"),
        _at_hand("c"),
        _distinct("p", "c"),
        *_in_reach("p"),
    ),
    effects=(Effect(("!spilled(p)", "!wet(p)", "!dirty(p)")),),
    says="wipe {p} clean and dry with {c} in the hand",
    aliases=("wipe_down", "wipe_off", "dry", "mop", "wipe_with", "dry_off", "clean"),
)

_FILL: Final = Schema(
    "fill",
    ("v",),
    "fill {v}",
    needs=(
        Need("vessel(v)", "it holds no liquid"),
        _at_hand("v"),
        Need("!full(v)", "it is full already"),
        Need("running(t)", "no water runs", exists={"t": "tap"}),
    ),
    effects=(Effect(("full(v)",)),),
    says="fill {v}, which is in the hand, with running water",
    aliases=("fill_up",),
)

_POUR: Final = Schema(
    "pour",
    ("v", "w"),
    "pour from {v} into {w}",
    needs=(
        _at_hand("v"),
        _distinct("v", "w"),
        Need("full(v)", "{v} is empty"),
        Need("vessel(w)", "{w} holds no liquid"),
        Need("!full(w)", "{w} is full already"),
        *_in_reach("w"),
        Need("!on(l,w)", "{l} is on {w}", forall={"l": "lid"}),
        Need("!broken(w)", "{w} is broken"),
        Need("!toppled(w)", "{w} lies on its side"),
    ),
    effects=(
        Effect(("!full(v)", "full(w)")),
        Effect(("poured_over(s)",), "on(w,s)", {"s": "thing"}),
    ),
    branches=(
        Branch("done"),
        Branch(
            "spills",
            (Effect(("spilled(s)",), "on(w,s)", {"s": "thing"}),),
            SPILL,
            "on(w,s)",
            {"s": "thing"},
        ),
    ),
    says="pour what is in {v}, which is in the hand, into {w}",
    aliases=("pour_into", "empty_into"),
)

_CUT: Final = Schema(
    "cut",
    ("o", "k"),
    "cut {o}",
    needs=(
        Need("blade(k)", "{k} does not cut"),
        _at_hand("k"),
        Need("cuttable(o)", "{o} cannot be cut"),
        Need("!sliced(o)", "{o} is cut already"),
        *_in_reach("o"),
        Need("on(o,p)", "{o} does not lie on anything", exists={"p": "thing"}),
    ),
    effects=(
        Effect(("sliced(o)",)),
        Effect(("contaminated(k)",), "contaminated(o)"),
        Effect(("contaminated(o)",), "contaminated(k)"),
    ),
    says="cut {o}, which lies on something, with {k} in the hand",
    aliases=("slice", "chop", "cut_up", "dice", "cut_with", "slice_with"),
)

_HEAT: Final = Schema(
    "heat",
    ("o", "f"),
    "heat {o}",
    needs=(
        Need("heater(f)", "{f} does not heat"),
        Need("food(o)", "{o} is no food"),
        Need("running(f)", "{f} is not on"),
        Need("door(f) -> !open(f)", "{f} is open"),
        Need("enclosure(f) -> inside(o,f)", "{o} is not in {f}"),
        Need(
            "(inside(o,w) | on(o,w)) & on(w,f)",
            "{o} is in no pan or pot on {f}",
            exists={"w": "cookware"},
            unless="enclosure(f)",
        ),
    ),
    effects=(
        Effect(("hot(o)", "cooked(o)", "!contaminated(o)")),
        Effect(("!contaminated(w)",), "inside(o,w) | on(o,w)", {"w": "movable"}),
    ),
    says="heat {o}, which is in {f} or in a pan on it, until it is cooked",
    aliases=("cook", "warm", "warm_up", "heat_up", "fry", "bake", "boil", "microwave", "roast"),
)

_SERVE: Final = Schema(
    "serve",
    ("o",),
    "serve {o}",
    needs=(
        _FREE_HAND,
        Need("food(o) | drinkware(o)", "it is neither food nor a drink"),
        Need("drinkware(o) -> full(o)", "it is empty"),
        Need(
            "(on(o,d) | inside(o,d)) & on(d,t)",
            "it is on no dish on a table",
            exists={"d": "dish", "t": "table"},
            unless="drinkware(o)",
        ),
        Need("on(o,t)", "it is not on a table", exists={"t": "table"}, unless="!drinkware(o)"),
        Need("!toppled(o)", "it lies on its side"),
    ),
    effects=(Effect(("served(o)",)),),
    says="serve {o}: food in a dish on the table, or a full glass or cup on the table",
    aliases=("serve_up", "present"),
)

_OPEN: Final = Schema(
    "open",
    ("f",),
    "open {f}",
    needs=(
        Need("door(f)", "it does not open"),
        Need("!open(f)", "it is open already"),
        _FREE_HAND,
        *_in_reach("f"),
        Need("!on(l,f)", "{l} is on it", forall={"l": "lid"}),
    ),
    effects=(
        Effect(("open(f)",)),
        *_falls("b", "before(b,f)", {"b": "movable"}),
        Effect(("toppled(b)", "!before(b,f)"), "before(b,f)", {"b": "movable"}),
        Effect(("!on(b,s)",), "before(b,f)", {"b": "movable", "s": "thing"}),
    ),
    says="open {f} with the empty hand",
    aliases=("open_up", "open_door", "pull_open", "unscrew"),
)

_CLOSE: Final = Schema(
    "close",
    ("f",),
    "close {f}",
    needs=(
        Need("door(f)", "it does not close"),
        Need("open(f)", "it is closed already"),
        _FREE_HAND,
        *_in_reach("f"),
    ),
    effects=(Effect(("!open(f)",)),),
    says="close {f} with the empty hand",
    aliases=("shut", "close_door", "push_closed", "screw_shut"),
)

_TURN_ON: Final = Schema(
    "turn_on",
    ("f",),
    "turn on {f}",
    needs=(
        Need("switch(f)", "it cannot be turned on"),
        Need("!running(f)", "it is on already"),
        _FREE_HAND,
    ),
    effects=(Effect(("running(f)",)),),
    says="turn on {f} with the empty hand",
    aliases=("switch_on", "start", "activate", "toggle_on", "power_on"),
)

_TURN_OFF: Final = Schema(
    "turn_off",
    ("f",),
    "turn off {f}",
    needs=(
        Need("switch(f)", "it cannot be turned off"),
        Need("running(f)", "it is off already"),
        _FREE_HAND,
    ),
    effects=(Effect(("!running(f)",)),),
    says="turn off {f} with the empty hand",
    aliases=("switch_off", "stop", "deactivate", "toggle_off", "power_off"),
)

ACTIONS: Final[Mapping[str, Schema]] = {
    schema.name: schema
    for schema in (
        _OPEN, _CLOSE, _PICK, _PLACE, _TRANSFER, _WASH, _WASH_HANDS, _WIPE, _FILL, _POUR, _CUT,
        _TURN_ON, _TURN_OFF, _HEAT, _SERVE,
    )
}  # fmt: skip
"""Every action by its name."""

SIGNATURES: Final[Mapping[str, tuple[str, ...]]] = {
    schema.name: schema.parameters for schema in ACTIONS.values()
}

ALIASES: Final[Mapping[str, str]] = {
    alias: schema.name for schema in ACTIONS.values() for alias in schema.aliases
}
