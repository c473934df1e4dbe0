"""The array grounding as a whole: backends, batches, subsets, features, names."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding.arrays import (
    SceneArrays,
    ground,
    initial_memory,
    lanes_last,
    memory_feature_names,
    memory_features,
    proposition_names,
)

from .episodes import episodes
from .kitchen import COMPONENTS, NAMES, ROLES, SETTINGS, frame, letters

jax = pytest.importorskip("jax")
EPISODES = episodes()
LENGTH = 60
# What is tested are values, and compiling well takes long.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
GRASP = proposition_names(ROLES, categories=["grasp_stability"])


def stacked() -> SceneArrays:
    """The first frames of all episodes, ``[..., T, B]``; short ones stay at their last frame."""
    columns = [
        [episode.frames[min(t, len(episode.frames) - 1)] for t in range(LENGTH)]
        for episode in EPISODES
    ]
    rows = [jax.tree.map(lambda *x: np.stack(x, axis=-1), *column) for column in columns]
    return jax.tree.map(lambda *x: np.stack(x, axis=-1), *rows)


FRAMES = stacked()


def at(t: int) -> SceneArrays:
    return jax.tree.map(lambda x: x[..., t, :], FRAMES)


def in_numpy() -> tuple[list[Any], list[Any]]:
    memory, memories, found = initial_memory(ROLES, SETTINGS, at(0)), [], []
    for t in range(LENGTH):
        memory, letter = ground(ROLES, SETTINGS, memory, at(t))
        memories.append(memory)
        found.append(letter)
    return memories, found


MEMORIES, LETTERS = in_numpy()


def test_every_proposition_rises_and_falls() -> None:
    trace = np.stack(LETTERS, axis=1)  # [P, T, B]
    rises = (~trace[:, :-1] & trace[:, 1:]).any(axis=(1, 2))
    falls = (trace[:, :-1] & ~trace[:, 1:]).any(axis=(1, 2))
    skills = {(c.skill, c.fixture) for c in COMPONENTS}
    heads = {}
    for name, up, down in zip(NAMES, rises, falls, strict=True):
        head, _, arguments = name.partition("(")
        before = heads.get(head, (False, False))
        heads[head] = (before[0] or up, before[1] or down)
        skill = next((s for s, _ in skills if f"_{s}" in head), None)
        if skill is not None and (skill, arguments.rstrip(")")) not in skills:
            assert not (up or down), name  # a skill that the fixture does not have
    # These need more frames than are looked at here; see the next test.
    late = {"release_object_settle_timeout", "object_settle_timeout"}
    late |= {f"fixture_{way}_retract_timeout" for way in ("open", "close")}
    assert {head for head, seen in heads.items() if seen != (True, True)} == late


def test_timeouts_rise_and_fall() -> None:
    by_name = {episode.name: episode for episode in EPISODES}
    for name, proposition in (
        ("never comes to rest", "release_object_settle_timeout(mug)"),
        ("onto the table", "object_settle_timeout"),
        ("settles nowhere", "object_settle_timeout"),
        ("open: goes on", "fixture_open_retract_timeout(drawer)"),
        ("close: goes on", "fixture_close_retract_timeout(drawer)"),
    ):
        frames = [*by_name[name].frames, *[frame()] * 3]
        values = [letter[proposition] for letter in letters(frames, (proposition,))]
        assert any(values) and not values[-1] and not values[0], name


@pytest.mark.slow
def test_jax_gives_the_same_letters_and_memory() -> None:
    def step(memory: Any, each: Any) -> Any:
        memory, letter = ground(ROLES, SETTINGS, memory, each)
        return memory, (memory, letter)

    @partial(jax.jit, compiler_options=QUICK)
    def run(frames: Any) -> Any:
        moved = jax.tree.map(lambda x: jax.numpy.moveaxis(x, -2, 0), frames)
        first = jax.tree.map(lambda x: x[0], moved)
        return jax.lax.scan(step, initial_memory(ROLES, SETTINGS, first), moved)[1]

    memories, found = run(FRAMES)
    assert np.array_equal(np.asarray(found), np.stack(LETTERS))
    plain = jax.tree.map(lambda *x: np.stack(x), *MEMORIES)
    for name, one, other in zip(
        jax.tree_util.tree_leaves_with_path(plain), jax.tree.leaves(memories),
        jax.tree.leaves(plain), strict=True,
    ):  # fmt: skip
        one = np.asarray(one)
        assert one.dtype == other.dtype, name[0]
        if one.dtype == np.float32:
            assert np.allclose(one, other, atol=1e-6), name[0]
        else:
            assert np.array_equal(one, other), name[0]


def test_a_batch_is_its_frames() -> None:
    for lane in range(0, len(EPISODES), 15):
        memory = None
        for t in range(LENGTH):
            one = jax.tree.map(lambda x, t=t, lane=lane: x[..., t, lane], FRAMES)
            memory = initial_memory(ROLES, SETTINGS, one) if memory is None else memory
            memory, letter = ground(ROLES, SETTINGS, memory, one)
            assert np.array_equal(letter, LETTERS[t][:, lane])


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("wrap", [lanes_last, lambda function: function])
def test_mapped_over_lanes(axis: int, wrap: Any) -> None:
    start = wrap(lambda each: initial_memory(ROLES, SETTINGS, each, GRASP))
    step = wrap(lambda memory, each: ground(ROLES, SETTINGS, memory, each, GRASP))
    moved = [jax.tree.map(lambda x: np.moveaxis(x, -1, axis), at(t)) for t in range(3)]
    memory = jax.jit(jax.vmap(start, axis, axis), compiler_options=QUICK)(moved[0])
    mapped = jax.jit(jax.vmap(step, axis, axis), compiler_options=QUICK)
    columns = [NAMES.index(name) for name in GRASP]
    for t in range(3):
        memory, letter = mapped(memory, moved[t])
        assert np.array_equal(np.moveaxis(np.asarray(letter), axis, -1), LETTERS[t][columns])


@pytest.mark.parametrize("category", [
    "collision_contact", "grasp_stability", "release_stability", "cross_contamination",
    "action_onset", "mechanism", "containment", "enclosure_access",
])  # fmt: skip
def test_a_subset_is_part_of_the_whole(category: str) -> None:
    names = proposition_names(ROLES, categories=[category])
    columns = [NAMES.index(name) for name in names]
    memory = initial_memory(ROLES, SETTINGS, at(0), names)
    for t in range(LENGTH):
        memory, letter = ground(ROLES, SETTINGS, memory, at(t), names)
        assert np.array_equal(letter, LETTERS[t][columns])
    assert any(part is None for part in memory)


def test_nothing_asked_for_is_nothing() -> None:
    memory = initial_memory(ROLES, SETTINGS, at(0), ())
    memory, letter = ground(ROLES, SETTINGS, memory, at(0), ())
    assert letter.shape == (0, len(EPISODES)) and letter.dtype == bool
    assert all(part is None for part in memory[1:])
    assert memory_features(ROLES, SETTINGS, memory).shape == (0, len(EPISODES))


def test_features_are_named_and_bounded() -> None:
    names = memory_feature_names(ROLES, SETTINGS)
    assert len(set(names)) == len(names)
    for memory in MEMORIES:
        features = memory_features(ROLES, SETTINGS, memory)
        assert features.shape == (len(names), len(EPISODES)) and features.dtype == np.float32
        assert features.min() >= 0.0 and features.max() <= 1.0
    some = memory_feature_names(ROLES, SETTINGS, GRASP)
    assert set(some) < set(names) and "grasped(mug)" in some


def test_misuse_is_one_clear_error() -> None:
    with pytest.raises(GroundingError, match=r"no proposition 'object_grasped\(mgu\)'; did you"):
        proposition_names(ROLES, ["object_grasped(mgu)"])
    with pytest.raises(GroundingError, match="no category 'grasp'.*known: action_onset"):
        proposition_names(ROLES, categories=["grasp"])
