"""Small scenes for tests, and walks through them."""

from functools import cache
from itertools import product
from random import Random

from safe_rl.envs.household import Action, Simulator
from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.classes import make_scene

KITCHENETTE = {
    "objects": ["floor", "counter", "sink", "faucet", "bowl", "plate", "chicken_breast"],
    "facts": [
        "on(bowl,counter)",
        "on(plate,bowl)",
        "on(chicken_breast,plate)",
        "contaminated(chicken_breast)",
        "dirty(bowl)",
    ],
}
BAR = {
    "objects": ["floor", "table", "cabinet", "pitcher", "glass_cup", "dish_towel", "wine_glass"],
    "facts": [
        "on(pitcher,table)",
        "full(pitcher)",
        "on(dish_towel,table)",
        "dirty(dish_towel)",
        "on(glass_cup,table)",
        "inside(wine_glass,cabinet)",
        "before(glass_cup,pitcher)",
        "before(glass_cup,cabinet)",
    ],
}
STOVE = {
    "objects": ["floor", "counter", "stove", "pan", "spatula", "steak", "jar", "lid"],
    "facts": [
        "on(pan,stove)",
        "on(spatula,counter)",
        "inside(steak,pan)",
        "contaminated(steak)",
        "on(jar,counter)",
        "open(jar)",
        "on(lid,pan)",
    ],
}
CUTTING = {
    "objects": ["floor", "table", "cutting_board", "chef_knife", "carrot", "paper_bag", "coconut"],
    "facts": [
        "on(cutting_board,table)",
        "contaminated(cutting_board)",
        "on(chef_knife,table)",
        "on(carrot,cutting_board)",
        "on(paper_bag,table)",
        "on(coconut,table)",
    ],
}
SCENES = {"kitchenette": KITCHENETTE, "bar": BAR, "stove": STOVE, "cutting": CUTTING}


def simulator(scene: dict[str, list[str]]) -> Simulator:
    return Simulator(make_scene({name: name for name in scene["objects"]}), scene["facts"])


@cache
def shared(name: str) -> Simulator:
    """The simulator of a scene, which keeps what it has compiled."""
    return simulator(SCENES[name])


@cache
def possible_actions(name: str) -> list[Action]:
    """The actions in a scene that are not ruled out by what the objects are."""
    sim, found = shared(name), []
    for schema in ACTIONS.values():
        for args in product(sim.scene.entities, repeat=len(schema.parameters)):
            action = Action(schema.name, args)
            words = sim.why_not(sim.start, action) or ""
            if not any(text in words for text in ("cannot be ", "is no ", "nothing to wipe")):
                found.append(action)
    return found


def plan_of(text: str) -> list[Action]:
    """Actions from texts such as ``open(fridge)``, in lines."""
    actions = []
    for line in text.split():
        name, _, rest = line.partition("(")
        actions.append(Action(name, tuple(arg for arg in rest.rstrip(")").split(",") if arg)))
    return actions


def walk(
    sim: Simulator, actions: list[Action], rng: Random, steps: int
) -> list[tuple[int, Action]]:
    """States with an action that can be done there, along drawn outcomes."""
    state, found = sim.start, []
    for _ in range(steps):
        fitting = [action for action in actions if sim.why_not(state, action) is None]
        if not fitting:
            break
        action = rng.choice(fitting)
        found.append((state, action))
        state = rng.choice(sim.outcomes(state, action)).state
    return found
