"""The array grounding, frame by frame, for one environment.

``FrameGrounding`` is what a simulator's environment uses: it holds the memory between frames and
hands out letters. The definitions are those of :mod:`safe_rl.grounding.arrays`; with jax they are
compiled into one function, which takes a tenth of numpy's time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import astuple
from functools import lru_cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import numpy as xnp
from numpy.typing import NDArray

from safe_rl.errors import (
    ConfigurationError,
    GroundingError,
    MissingDependencyError,
    ResetNeededError,
)
from safe_rl.grounding.arrays.contacts import ForbiddenContacts, forbidden_contacts
from safe_rl.grounding.arrays.features import memory_feature_names, memory_features
from safe_rl.grounding.arrays.grounding import Memory, ground, initial_memory, scene_constants
from safe_rl.grounding.arrays.packing import Packed, Packing
from safe_rl.grounding.arrays.scene import Array, SceneArrays, SceneRoles, empty_scene
from safe_rl.grounding.arrays.staging import as_one_kernel
from safe_rl.grounding.arrays.vocabulary import proposition_names
from safe_rl.grounding.settings import GroundingSettings

BACKENDS = ("auto", "jax", "numpy")


FrameGroundingState: TypeAlias = Packed
"""Everything remembered, as an immutable value; the same for every backend.

Its floats begin with the features ``[K]`` and its Booleans with the letter ``[P]`` of the frame
reached; the grounding's memory follows.
"""

Step = Callable[[Packed, Array, Array], Packed]
"""The next state from the last one and a frame's floats and Booleans."""


class FrameGrounding:
    """Propositions, frame by frame.

    ``reset`` takes the first frame of an episode and ``step`` every further one; both return the
    letter ``{name: bool}``.

    >>> import numpy as np
    >>> from safe_rl.grounding.arrays import FixtureRole, ObjectRole, SceneRoles, empty_scene
    >>> roles = SceneRoles(
    ...     (ObjectRole("mug", (0.04, 0.04, 0.05)),),
    ...     (FixtureRole("table", "counter", (1.0, 1.0, 0.02)),),
    ... )
    >>> grounding = FrameGrounding(roles, names=["object_left_gripper(mug)"], backend="numpy")
    >>> grounding.reset(empty_scene(roles, np))
    {'object_left_gripper(mug)': True}
    """

    def __init__(
        self,
        roles: SceneRoles,
        settings: GroundingSettings | None = None,
        names: Collection[str] | None = None,
        *,
        backend: str = "auto",
    ) -> None:
        """Ground ``names`` in scenes of these roles.

        Args:
            roles: who is in the scene.
            settings: the constants.
            names: the propositions; only what they need is computed. Default: all.
            backend: ``"jax"``, ``"numpy"``, or ``"auto"``: jax where it is installed. The letters
                are the same. jax compiles when the first frame comes (some seconds, once per
                process for equal scenes); numpy takes some milliseconds per frame.

        Raises:
            GroundingError: for a proposition that this scene lacks.
            ConfigurationError: for an unknown backend.
            MissingDependencyError: for ``"jax"`` where it is not installed.
        """
        if backend not in BACKENDS:
            raise ConfigurationError(
                f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}"
            )
        if backend == "jax" and find_spec("jax") is None:
            raise MissingDependencyError("jax", "jax", "the grounding in jax")
        if backend == "auto":
            backend = "numpy" if find_spec("jax") is None else "jax"
        self.roles, self.settings, self.backend = roles, settings or GroundingSettings(), backend
        self.proposition_names = proposition_names(roles, names)
        self.feature_names = memory_feature_names(roles, self.settings, self.proposition_names)
        nothing = empty_scene(roles, np)
        memory = initial_memory(roles, self.settings, nothing, self.proposition_names)
        self._memory_packing, self._frame_packing = Packing(memory), Packing(nothing)
        packed = self._memory_packing.pack(xnp, memory)
        self._sizes = (
            len(self.feature_names) + len(packed.floats),
            len(self.proposition_names) + len(packed.booleans),
            len(packed.integers),
        )
        self._step: Step | None = None
        self._state: Packed | None = None

    def reset(self, frame: SceneArrays) -> dict[str, bool]:
        """The letter of the first frame: levels are taken as they stand, nothing is an edge.

        Raises:
            GroundingError: for a frame of a scene with other roles, or a batch of frames.
        """
        self._check(frame)
        packed = self._frame_packing.pack(xnp, frame)
        first = self._frame_packing.unpack(xnp, packed)
        memory = initial_memory(self.roles, self.settings, first, self.proposition_names)
        floats, booleans, integers = self._memory_packing.pack(xnp, memory)
        self._state = Packed(
            np.concatenate([np.zeros(len(self.feature_names), np.float32), floats]),
            np.concatenate([np.zeros(len(self.proposition_names), bool), booleans]),
            integers,
        )
        return self._advance(packed)

    def step(self, frame: SceneArrays) -> dict[str, bool]:
        """The letter of the next frame (one frame: arrays without a batch).

        Raises:
            ResetNeededError: without a first frame.
        """
        return self._advance(self._frame_packing.pack(xnp, frame))

    def _advance(self, frame: Packed) -> dict[str, bool]:
        if self._state is None:
            raise ResetNeededError("FrameGrounding.step came before reset(frame)")
        if self._step is None:
            # Not before it is needed: a process that only makes environments never starts jax.
            make = _compiled_step if self.backend == "jax" else _plain_step
            self._step = make(_Key(self.roles, self.settings, self.proposition_names))
        self._state = self._step(self._state, frame.floats, frame.booleans)
        letter = np.asarray(self._state.booleans)[: len(self.proposition_names)]
        return dict(zip(self.proposition_names, letter.tolist(), strict=True))

    def _check(self, frame: SceneArrays) -> None:
        for name, value, expected in zip(
            SceneArrays._fields, frame, empty_scene(self.roles, np), strict=True
        ):
            if value.shape != expected.shape:
                raise GroundingError(
                    f"the frame is of another scene: {name} has the shape {value.shape}, and "
                    f"{expected.shape} with these roles"
                )

    @property
    def features(self) -> NDArray[np.float32]:
        """The memory as numbers in [0, 1], ``[K]``; see ``arrays.memory_features``.

        Raises:
            ResetNeededError: without a first frame.
        """
        return np.asarray(self._reached("features").floats)[: len(self.feature_names)]

    def forbidden(self, frame: SceneArrays) -> ForbiddenContacts:
        """Which contacts of the frame that was grounded last are forbidden (SafeManip phi 1).

        Args:
            frame: that frame.

        Raises:
            ResetNeededError: without a first frame.
        """
        floats, booleans, integers = map(np.asarray, self._reached("forbidden"))
        memory = self._memory_packing.unpack(
            xnp,
            Packed(
                floats[len(self.feature_names) :],
                booleans[len(self.proposition_names) :],
                integers,
            ),
        )
        if memory.contacts is None or memory.grasps is None:  # no proposition needs them
            return ForbiddenContacts(
                *(np.zeros_like(getattr(frame, name)) for name in ForbiddenContacts._fields)
            )
        constants = scene_constants(self.roles, self.settings)
        held = memory.grasps.grasped.value
        return forbidden_contacts(xnp, constants, memory.contacts, frame, held)

    def get_state(self) -> FrameGroundingState:
        """Everything remembered, as an immutable value.

        Raises:
            ResetNeededError: without a first frame.
        """
        return Packed(*map(_frozen, self._reached("get_state")))

    def set_state(self, state: FrameGroundingState) -> None:
        """Restore what ``get_state`` returned, here or in a grounding of equal scenes and names.

        Raises:
            GroundingError: for the state of another scene, or of other propositions.
        """
        sizes = tuple(len(part) for part in state)
        if sizes != self._sizes:
            raise GroundingError(
                f"the state is of another scene or of other propositions: it holds {sizes[0]} "
                f"floats, {sizes[1]} Booleans and {sizes[2]} integers, here it would be "
                "{}, {} and {}".format(*self._sizes)
            )
        self._state = state

    def _reached(self, asked: str) -> Packed:
        if self._state is None:
            raise ResetNeededError(f"FrameGrounding.{asked} came before reset(frame)")
        return self._state


def _frozen(array: Array) -> NDArray[Any]:
    found = np.array(array)
    found.flags.writeable = False
    return found


class _Key:
    """What a compiled step depends on, compared by value: roles are compared by identity."""

    def __init__(
        self, roles: SceneRoles, settings: GroundingSettings, names: tuple[str, ...]
    ) -> None:
        self.roles, self.settings, self.names = roles, settings, names
        self._value = (
            roles.objects,
            roles.fixtures,
            roles.components,
            roles.gripper_half,
            roles.allowed.manipulated,
            frozenset(roles.allowed.receivers.items()),
            astuple(settings),
            names,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


def _step_function(key: _Key, xp: ModuleType) -> Step:
    roles, settings, names = key.roles, key.settings, key.names
    nothing = empty_scene(roles, np)
    frames = Packing(nothing)
    memories: Packing[Memory] = Packing(initial_memory(roles, settings, nothing, names))
    letters, features = len(names), len(memory_feature_names(roles, settings, names))

    def step(state: Packed, floats: Array, booleans: Array) -> Packed:
        none = xp.zeros(0, dtype=xp.int16)
        frame = frames.unpack(xp, Packed(floats, booleans, none))
        memory = memories.unpack(
            xp, Packed(state.floats[features:], state.booleans[letters:], state.integers)
        )
        memory, letter = ground(roles, settings, memory, frame, names)
        following = memories.pack(xp, memory)
        return Packed(
            xp.concat([memory_features(roles, settings, memory), following.floats]),
            xp.concat([letter, following.booleans]),
            following.integers,
        )

    return step


@lru_cache(maxsize=64)
def _plain_step(key: _Key) -> Step:
    return _step_function(key, xnp)


@lru_cache(maxsize=64)
def _compiled_step(key: _Key) -> Step:
    # jax logs, as information, each kind of accelerator that it looks for and does not find.
    logging.getLogger("jax._src.xla_bridge").addFilter(_from_warnings_on)
    import jax

    compiled: Step = jax.jit(as_one_kernel(_step_function(key, jax.numpy)))
    if jax.default_backend() == "cpu":
        return compiled
    # One frame is less work than sending it to an accelerator.
    place = jax.local_devices(backend="cpu")[0]

    def step(state: Packed, floats: Array, booleans: Array) -> Packed:
        with jax.default_device(place):
            return compiled(state, floats, booleans)

    return step


def _from_warnings_on(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
