"""The tasks: scripted ways through them, shifts, observations, and the shipped specifications."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from safe_rl.envs.tabletop import (
    CAREFUL,
    HASTY,
    SHIFTS,
    TASKS,
    Style,
    TabletopEnv,
    scripted_policy,
)
from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.specs import load_specs
from safe_rl.wrappers.functional import FunctionalProduct
from tests.envs.tabletop.scenes import FAST, environment

LANES = 24
# What haste breaks in each task: the rule, and how the hasty policy is to be hasty.
BROKEN = {
    "lift": ("delicate_things_stay_whole", HASTY),
    "place": ("things_come_down_gently", HASTY),
    "stack": ("delicate_things_stay_whole", HASTY),
    "drawer": ("reach_in_fixture_only_when_fully_open", HASTY._replace(drop=0.0)),
    "cook": ("raw_robot_contact_blocks_rte_grasp_until_sanitized", HASTY),
}
TASK_MARKS = [t if t == "place" else pytest.param(t, marks=pytest.mark.slow) for t in TASKS]


def play(task: str, style: Style) -> tuple[float, dict[str, tuple[int, int]]]:
    """Success rate of one episode per lane, and (N, V) of each specification."""
    env = TabletopEnv(task, propositions="task")
    product = FunctionalProduct(env, f"tabletop_{task}", features=None, reset_batch=1)
    policy = scripted_policy(env.task, style)

    def step(state, key):  # type: ignore[no-untyped-def]
        state, seen = product.step(state, jax.vmap(policy)(state.env), key)
        return state, (seen.done, seen.success, seen.counts.N, seen.counts.V)

    def whole(key):  # type: ignore[no-untyped-def]
        state, _ = product.reset(key, LANES)
        keys = jax.random.split(key, env.max_episode_steps)
        return jax.lax.scan(step, state, keys)[1]

    key = jax.random.key(0)
    done, success, n, v = map(np.asarray, jax.jit(whole, compiler_options=FAST)(key))
    first = np.cumsum(done, axis=0) - done == 0
    ends = done & first
    assert ends.any(axis=0).all()
    counts: dict[str, tuple[int, int]] = {}
    for i, instance in enumerate(product.tables.instances):
        name = instance.specification.id
        old = counts.get(name, (0, 0))
        counts[name] = (
            old[0] + int(n[..., i][ends].sum()),
            old[1] + int(v[..., i][ends].sum()),
        )
    return float((success & ends).any(axis=0).mean()), counts


@pytest.mark.parametrize("task", TASK_MARKS)
def test_the_careful_way_succeeds_and_keeps_every_rule(task: str) -> None:
    success, counts = play(task, CAREFUL)
    assert success == 1.0
    assert all(violated == 0 for _, violated in counts.values()), counts
    assert counts["grasp_remains_synced_until_dropped"][0] >= LANES


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_hasty_way_succeeds_too_and_breaks_a_rule(task: str) -> None:
    rule, style = BROKEN[task]
    success, counts = play(task, style)
    assert success > 0.4
    triggered, violated = counts[rule]
    assert violated > 0.3 * LANES
    assert triggered >= violated


@pytest.mark.parametrize("task", TASKS)
def test_the_shipped_specifications_bind_and_limit(task: str) -> None:
    env = environment(task)
    specs = load_specs(f"tabletop_{task}").bind(env.objects)
    every = environment(task, "task").proposition_names
    assert set(specs.propositions) == set(every)
    assert all(spec.limit is not None for spec in specs)
    for spec in specs:
        if spec.id in load_specs("safemanip").ids:
            assert spec.formula == load_specs("safemanip").select([spec.id])[0].formula


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("task", TASKS)
def test_a_shift_changes_what_it_says_and_leaves_the_interface(task: str, shift: str) -> None:
    plain, other = environment(task), environment(task, shift=shift)
    assert other.observation_space == plain.observation_space
    assert other.action_space == plain.action_space
    assert (other.task.kinds != plain.task.kinds) == (shift in ("target", "distractors"))
    assert (other.instruction != plain.instruction) == (shift in ("target", "instruction"))
    numbers = jax.random.uniform(jax.random.key(1), (16,))
    first, second = (env.task.first_world(numbers).bodies for env in (plain, other))
    moved = any(
        float(a.x) != float(b.x) or float(a.y) != float(b.y)
        for a, b in zip(first, second, strict=False)
    )
    assert moved == (shift == "location")


@pytest.mark.parametrize("shift", [None, *SHIFTS])
@pytest.mark.parametrize("task", TASKS)
def test_nothing_starts_inside_something_else(task: str, shift: str | None) -> None:
    env = environment(task, shift=shift)
    furniture = env.task.fixtures
    solids = [f.body for f in (furniture.drawer, furniture.microwave, furniture.sink) if f]
    worlds = jax.vmap(env.task.first_world)(jax.random.uniform(jax.random.key(2), (200, 16)))
    places = [(np.asarray(b.x), np.asarray(b.y)) for b in worlds.bodies]
    radii = [kind.radius for kind in env.layout.kinds]
    for i, (x, y) in enumerate(places):
        assert (np.abs(x) < 0.5).all() and (np.abs(y) < 0.45).all()
        for solid in solids:
            out = (x < solid.x0 - radii[i]) | (x > solid.x1 + radii[i])
            out |= (y < solid.y0 - radii[i]) | (y > solid.y1 + radii[i])
            assert out.all(), (env.task.kinds[i], solid)
        for j in range(i):
            apart = np.hypot(x - places[j][0], y - places[j][1])
            assert (apart > radii[i] + radii[j]).all(), (env.task.kinds[i], env.task.kinds[j])


def test_the_potential_telescopes_into_the_reward() -> None:
    """Without success, a return is the potential gained less the time used."""
    from tests.envs.tabletop.scenes import Scene

    scene = Scene(environment("place"))
    start, total = float(scene.state.progress), 0.0
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 4)):
        before = scene.state
        scene.step(*action)
        env = scene.env
        total += float(env.reward(before, action, scene.state, jax.random.key(0)))
    assert total == pytest.approx(float(scene.state.progress) - start - 20 * 0.02, abs=1e-5)


def test_errors_name_the_way_out() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'stack'"):
        TabletopEnv("stak")
    with pytest.raises(ConfigurationError, match="did you mean 'target'"):
        TabletopEnv("lift", shift="targets")
    with pytest.raises(ConfigurationError, match="'task', 'own', 'all' or names"):
        TabletopEnv("lift", propositions="some")
    with pytest.raises(GroundingError, match="no proposition"):
        TabletopEnv("lift", propositions=["object_grasped(spoon)"])
