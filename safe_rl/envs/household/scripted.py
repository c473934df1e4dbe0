"""A script that does household chores, with care or without.

It knows how each chore is done and looks at the state to see which steps are needed. With care it
also takes the steps that only safety asks for: it closes doors, turns things off, moves what is in
the way, dries, wipes, washes hands. Whether its plan is safe is for the monitors to say.
"""

from __future__ import annotations

from collections.abc import Iterable

from safe_rl.envs.household.classes import ontology
from safe_rl.envs.household.plan import Action
from safe_rl.envs.household.simulator import Simulator
from safe_rl.errors import SafeRLError


class ScriptError(SafeRLError):
    """The script does not know how to do a chore in this scene."""


class Script:
    """Writes a plan by doing it, as intended, in the simulator.

    Attributes:
        plan: The actions so far.
        careful: Whether it takes the steps that safety asks for.
    """

    def __init__(self, simulator: Simulator, spare: str, careful: bool) -> None:
        """Begin at the simulator's start; ``spare`` is a surface on which things are put aside."""
        self.plan: list[Action] = []
        self.careful = careful
        self._simulator = simulator
        self._scene = simulator.scene
        self._state = simulator.start
        self._spare = spare

    def holds(self, fact: str) -> bool:
        """Whether a fact holds now."""
        return self._simulator.holds(self._state, fact)

    def do(self, name: str, *args: str) -> None:
        """Do one action.

        Raises:
            ScriptError: it cannot be done, so the script does not fit the scene.
        """
        action = Action(name, args)
        moved = self._simulator.move(self._state, action)
        if isinstance(moved, str):
            raise ScriptError(f"the script went wrong after {len(self.plan)} steps: {moved}")
        self._state = moved[0]
        self.plan.append(action)

    def held(self) -> str | None:
        """Return what is in the hand."""
        return next((o for o in self._members("movable") if self.holds(f"holding({o})")), None)

    def at(self, place: str) -> list[str]:
        """Return what is on or in a place."""
        movable = self._members("movable")
        return [
            o
            for o in movable
            if self.holds(f"on({o},{place})") or self.holds(f"inside({o},{place})")
        ]

    def free_hand(self) -> None:
        """Put aside what is in the hand."""
        held = self.held()
        if held is not None:
            self.do("place", held, self._spare)

    def open_door(self, door: str) -> None:
        """Open what is closed; with care, not while it heats, and with nothing in the way."""
        if self.holds(f"open({door})"):
            return
        if self.careful:
            self.turn_off(door)
            self._clear_the_way(door)
        self.free_hand()
        self.do("open", door)

    def close_door(self, door: str) -> None:
        """Close what is open."""
        if self.holds(f"open({door})"):
            self.free_hand()
            self.do("close", door)

    def turn_on(self, switch: str) -> None:
        """Turn on what is off."""
        if not self.holds(f"running({switch})"):
            self.free_hand()
            self.do("turn_on", switch)

    def turn_off(self, switch: str) -> None:
        """Turn off what is on."""
        if self.holds(f"running({switch})"):
            self.free_hand()
            self.do("turn_off", switch)

    def take(self, thing: str) -> None:
        """Take a thing into the hand.

        With care: what stands in the way or on top goes aside first, what is wet is dried, and
        soiled hands are washed before they touch clean food.
        """
        if self.holds(f"holding({thing})"):
            return
        self.free_hand()
        self._uncover(thing)
        if self.careful:
            self._clear_the_way(thing)
            self._unstack(thing)
            if self._is(thing, "slippery") and self.holds(f"wet({thing})"):
                self.wipe(thing)
            self._clean_hands_for(thing)
            self._uncover(thing)
        self.free_hand()
        self.do("pick", thing)

    def put(self, thing: str, place: str, leave_open: bool = False) -> None:
        """Bring a thing to a place.

        With care, a spill there is wiped up first, and doors that were opened are closed.
        """
        if self.careful:
            if self.holds(f"spilled({place})"):
                self.wipe(place)
            self._clean_hands_for(thing)
        self._make_room(place)
        self._uncover(thing)
        self.take(thing)
        self._make_room(place)
        self.take(thing)
        self.do("place", thing, place)
        if self.careful and not leave_open:
            self.close_up()

    def put_aside(self, thing: str) -> None:
        """Bring a thing out of the way."""
        self.take(thing)
        self.do("place", thing, self._spare)

    def close_up(self) -> None:
        """Close every fridge, cabinet and drawer."""
        for door in self._members("enclosure"):
            if not ontology().has(self._scene.entities[door], "heating_fixture"):
                self.close_door(door)

    def wash(self, things: Iterable[str]) -> None:
        """Wash things in the sink; with care, the tap is turned off again."""
        (sink,), (tap,) = self._members("sink"), self._members("tap")
        for thing in things:
            self.put(thing, sink)
            self.turn_on(tap)
            self.do("wash", thing)
        if self.careful:
            self.turn_off(tap)

    def wash_hands(self) -> None:
        """Wash the hands."""
        (tap,) = self._members("tap")
        self.turn_on(tap)
        self.free_hand()
        self.do("wash_hands")
        self.turn_off(tap)

    def wipe(self, place: str) -> None:
        """Wipe something clean and dry, and put the cloth back."""
        cloth = self._members("cloth")[0]
        if self.held() != cloth:
            self.take(cloth)
        self.do("wipe", place, cloth)
        self.do("place", cloth, self._spare)

    def cut(self, food: str, board: str, knife: str) -> None:
        """Cut food on a board, and put the knife back."""
        if not self.holds(f"on({food},{board})"):
            self.put(food, board)
        self.take(knife)
        self.do("cut", food, knife)
        self.do("place", knife, self._spare)

    def heat(self, food: str, carrier: str, heater: str) -> None:
        """Heat food that is in or on a carrier; with care, nothing else, and then turn it off."""
        if self.careful:
            for other in dict.fromkeys([*self.at(carrier), *self.at(heater)]):
                if other not in (food, carrier):
                    self.put_aside(other)
        if carrier not in self.at(heater):
            self.put(carrier, heater)
        if self._is(heater, "door"):
            self.close_door(heater)
        self.turn_on(heater)
        self.do("heat", food, heater)
        if self.careful:
            self.turn_off(heater)

    def pour(self, vessel: str, into: str) -> None:
        """Pour; with care, what lies beside is moved away first, and the place is wiped after."""
        place = next(p for p in self._scene.entities if self.holds(f"on({into},{p})"))
        if self.careful:
            for other in self.at(place):
                if self._suffers_from_water(other):
                    self.put_aside(other)
        self.take(vessel)
        self.do("pour", vessel, into)
        self.do("place", vessel, self._spare)
        if self.careful:
            self.wipe(place)

    def transfer(self, food: str, tool: str, place: str) -> None:
        """Bring food to a place: with care by a tool, else by hand."""
        if not self.careful:
            self.put(food, place)
            return
        self._make_room(place)
        self._uncover(food)
        self.take(tool)
        self.do("transfer", food, tool, place)
        self.do("place", tool, self._spare)

    def serve(self, things: Iterable[str]) -> None:
        """Serve what is on the table."""
        self.free_hand()
        for thing in things:
            self.do("serve", thing)

    def _members(self, kind: str) -> tuple[str, ...]:
        return self._scene.members[kind]

    def _is(self, thing: str, kind: str) -> bool:
        return self._scene.is_a(thing, kind)

    def _suffers_from_water(self, thing: str) -> bool:
        entity = self._scene.entities[thing]
        return any(ontology().has(entity, name) for name in ("harmed_by_water", "water_damaged"))

    def _clean_hands_for(self, thing: str) -> None:
        clean_food = self._is(thing, "exposed") and not self.holds(f"contaminated({thing})")
        if clean_food and self.holds("hand_soiled") and self._members("tap"):
            self.wash_hands()

    def _make_room(self, place: str) -> None:
        """Open what has to be open before something is put into a place."""
        for door in self._members("door"):
            if door == place or self.holds(f"inside({place},{door})"):
                self.open_door(door)
        for lid in self._members("lid"):
            if self.holds(f"on({lid},{place})"):
                self.put_aside(lid)

    def _uncover(self, thing: str) -> None:
        """Open what is closed around a thing."""
        for door in self._members("door"):
            if self.holds(f"inside({thing},{door})"):
                self.open_door(door)
        for container in self._members("container"):
            if self.holds(f"inside({thing},{container})"):
                for lid in self._members("lid"):
                    if self.holds(f"on({lid},{container})"):
                        self.put_aside(lid)

    def _clear_the_way(self, thing: str) -> None:
        for other in self._members("movable"):
            if self.holds(f"before({other},{thing})"):
                self.put_aside(other)

    def _unstack(self, thing: str) -> None:
        if self._is(thing, "stacks"):
            for other in self._members("stacks"):
                if self.holds(f"on({other},{thing})"):
                    self.put_aside(other)
