"""HDF5 files of demonstrations as robomimic and LIBERO write them: simulator states and actions.

``data/demo_<k>/states`` holds flattened MuJoCo states ``[T, 1 + nq + nv]``, each seen before its
action in ``actions`` ``[T, A]``; the state that the last action leads to is not in the file, nor
what was seen there (``obs``), unless robomimic's ``next_obs`` says it. The file holds no
propositions, so its states are shown to a simulator (``safe_rl.data.Replay``). Where the episode's
start placed fixtures stands in the demonstration's own MuJoCo model, its attribute ``model_file``,
and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Episode, Floats, Placements
from safe_rl.data.hdf5 import hdf5, observation_name
from safe_rl.data.model_xml import placements_in
from safe_rl.data.replay import RecordedStates, Replay, ReplayedLetters
from safe_rl.errors import RecordingError

Observations = Mapping[str, NDArray[Any]]


class Demonstration(NamedTuple):
    """One demonstration.

    Attributes:
        name: such as ``"demo_3"``.
        states: float64 ``[T, S]``.
        actions: ``[T, A]``, or ``None``.
        rewards: float64 ``[T]``, or ``None``.
        placements: body to its place in the demonstration's model, of the bodies that stand
            directly in its world; empty where the file holds no model.
        task: LIBERO's name of the task, or robomimic's of the environment, or nothing.
        terminated: the environment ended it; only files that this package wrote say so.
        observations: what ``obs`` holds, ``[T, ...]`` each; images are ``images.<camera>``.
        last: the same of the state that the last action led to, where ``next_obs`` holds it.
    """

    name: str
    states: Floats
    actions: NDArray[Any] | None
    rewards: Floats | None
    placements: Placements = MappingProxyType({})
    task: str = ""
    terminated: bool = False
    observations: Observations = MappingProxyType({})
    last: Observations = MappingProxyType({})

    def seen(self, frames: int) -> Observations:
        """Return the observations of so many frames; nothing where some are not in the file."""
        if frames <= len(self.states):
            return {name: values[:frames] for name, values in self.observations.items()}
        if frames == len(self.states) + 1 and self.last.keys() == self.observations.keys():
            return {
                name: np.concatenate([values, self.last[name]])
                for name, values in self.observations.items()
            }
        return {}


def read_demonstrations(path: Path, *, observations: bool = False) -> tuple[Demonstration, ...]:
    """Read every demonstration of a file, in the order of their numbers.

    Args:
        path: of the file.
        observations: read what was seen too, which may be many images.

    Raises:
        RecordingError: the file is missing, damaged, or holds no states.
        MissingDependencyError: h5py is not installed.
    """
    h5py = hdf5("reading HDF5 demonstrations")
    if not path.is_file():
        raise RecordingError(f"{path}: no such file")
    try:
        with h5py.File(path, "r") as file:
            if "data" not in file:
                raise RecordingError(f"{path}: no group 'data'; not a file of demonstrations")
            data = file["data"]
            names = sorted((n for n in data if _number(n) is not None), key=_number_of)
            if not names:
                raise RecordingError(f"{path}: no group data/demo_<k>; there are no demonstrations")
            task = _task(path, data.attrs)
            return tuple(_read(path, name, data[name], task, observations) for name in names)
    except (OSError, RuntimeError, KeyError) as error:
        raise RecordingError(f"{path}: damaged or not an HDF5 file ({error})") from None


def _number(name: str) -> int | None:
    match = re.fullmatch(r"demo_(\d+)", name)
    return None if match is None else int(match[1])


def _number_of(name: str) -> int:
    return _number(name) or 0


def _task(path: Path, attributes: Mapping[str, Any]) -> str:
    """Return LIBERO's name of the task, which its BDDL file bears, or robomimic's."""
    if "bddl_file_name" in attributes:
        return PurePosixPath(str(attributes["bddl_file_name"]).replace("\\", "/")).stem
    try:
        return str(json.loads(str(attributes.get("env_args", "{}"))).get("env_name", ""))
    except (ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"{path}: the attribute 'env_args' is no JSON ({error})") from None


def _read(path: Path, name: str, group: Any, task: str, with_observations: bool) -> Demonstration:
    where = f"{path}, data/{name}"
    if "states" not in group:
        raise RecordingError(f"{where}: no simulator states, so nothing can be replayed")
    states = np.asarray(group["states"][()], np.float64)
    if states.ndim != 2 or len(states) == 0 or not np.isfinite(states).all():
        raise RecordingError(
            f"{where}: states must be finite numbers [T, S], but have the shape {states.shape}"
        )
    found: dict[str, Any] = {}
    for key in ("actions", "rewards"):
        found[key] = np.asarray(group[key][()], np.float64) if key in group else None
        if found[key] is not None and len(found[key]) != len(states):
            raise RecordingError(
                f"{where}: {len(found[key])} {key} for {len(states)} states; the file is damaged"
            )
    model = group.attrs.get("model_file")
    return Demonstration(
        name,
        states,
        found["actions"],
        found["rewards"],
        {} if model is None else placements_in(where, str(model)),
        task,
        bool(group.attrs.get("terminated", False)),
        _observations(where, group, "obs", len(states)) if with_observations else {},
        _observations(where, group, "next_obs", len(states), -1) if with_observations else {},
    )


def _observations(where: str, group: Any, key: str, rows: int, first: int = 0) -> Observations:
    """Read a group of observations, from row ``first`` on."""
    found: dict[str, NDArray[Any]] = {}
    for name, values in group.get(key, {}).items():
        if len(values) != rows:
            raise RecordingError(
                f"{where}: {len(values)} rows of {key}/{name} for {rows} states; the file is "
                "damaged"
            )
        found |= {observation_name(name, values): values[first:]}
    return found


def recorded_states(demo: Demonstration) -> RecordedStates:
    """Return what a replay needs of a demonstration."""
    return RecordedStates(demo.states, demo.actions, demo.placements, demo.task)


def load_demonstrations(
    path: Path, replay: Replay | None, *, observations: bool = False
) -> tuple[Episode, ...]:
    """Read a file and let a simulator label its states.

    An episode counts as cut off, unless the file says that it terminated: a demonstration stops
    where its recording stops.

    Args:
        path: of the file.
        replay: the simulator; without one the episodes have no propositions, and end with the
            last recorded state.
        observations: read what was seen too, where the file has it.

    Raises:
        RecordingError: the file is damaged, or the states are not those of the simulator's model.
    """
    episodes = []
    for demo in read_demonstrations(path, observations=observations):
        try:
            found = _unlabelled(demo) if replay is None else replay.replay(recorded_states(demo))
        except RecordingError as error:
            raise RecordingError(f"{path}, data/{demo.name}: {error}") from None
        steps = len(found.letters) - 1
        rewards = np.zeros(steps) if demo.rewards is None else demo.rewards[:steps]
        # Without its last step an episode does not end where it ended.
        terminated = demo.terminated and steps == len(demo.states)
        episodes.append(
            Episode(
                propositions=found.propositions,
                letters=found.letters,
                rewards=rewards,
                terminated=terminated,
                truncated=not terminated,
                success=found.success,
                engaged=found.engaged,
                objects=found.objects or {},
                env_id=found.env_id,
                instruction=found.instruction,
                actions=None if demo.actions is None else demo.actions[:steps],
                drift=found.drift,
                states=demo.states if len(found.letters) == len(demo.states) else None,
                placements=demo.placements if len(found.letters) == len(demo.states) else {},
                observations=demo.seen(len(found.letters)),
            )
        )
    return tuple(episodes)


def _unlabelled(demo: Demonstration) -> ReplayedLetters:
    """Letters over no propositions, one for each recorded state."""
    return ReplayedLetters((), np.zeros((len(demo.states), 0), np.bool_), env_id=demo.task)


def save_demonstrations(
    path: str | Path,
    episodes: Sequence[Episode],
    *,
    state_size: int,
    attributes: Mapping[str, str],
    models: Sequence[str],
) -> Path:
    """Write recorded episodes as demonstrations, in the layout that robomimic and LIBERO share.

    Args:
        path: of the file.
        episodes: each with states and actions.
        state_size: numbers of a state that are written: ``1 + nq + nv``.
        attributes: of the group ``data``, beside ``num_demos`` and ``total``.
        models: the MuJoCo model of each episode as XML, with its fixtures in their places.

    Raises:
        RecordingError: an episode has no steps, no states or no actions.
        MissingDependencyError: h5py is not installed.
    """
    h5py = hdf5("writing HDF5 demonstrations")
    path = Path(path)
    for number, episode in enumerate(episodes):
        if episode.steps == 0 or episode.states is None or episode.actions is None:
            raise RecordingError(
                f"{path}: episode {number} has no steps, no actions or no simulator states; record "
                "it with eval.record=true in an environment of robosuite or LIBERO"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        for key, value in attributes.items():
            data.attrs[key] = value
        data.attrs["num_demos"] = len(episodes)
        data.attrs["total"] = sum(episode.steps for episode in episodes)
        for number, (episode, model) in enumerate(zip(episodes, models, strict=True)):
            assert episode.states is not None
            states = episode.states[:-1, :state_size]
            group = data.create_group(f"demo_{number}")
            group["states"], group["actions"] = states, np.asarray(episode.actions, np.float64)
            group["rewards"] = episode.rewards
            dones = np.zeros(episode.steps, np.uint8)
            dones[-1] = 1
            group["dones"] = dones
            group.attrs["num_samples"] = episode.steps
            group.attrs["model_file"] = model
            group.attrs["init_state"] = states[0]
            group.attrs["terminated"] = episode.terminated
    return path
