"""Frames of a kitchen: what RoboCasa knows better than the model's names say is put in."""

from __future__ import annotations

from typing import Any

import numpy as np

from safe_rl.envs.robocasa.kitchen import Kitchen
from safe_rl.envs.robocasa.roles import dispensers
from safe_rl.grounding.mujoco import MujocoFrame, MujocoScene

_COFFEE_FALLS = 0.1  # m, from the spout to where a cup is to stand


class KitchenFrames(MujocoScene):
    """A scene whose taps run and whose coffee machines pour when RoboCasa says so.

    RoboCasa has no liquid: water is a site that is shown while the handle of a sink is turned, and
    a coffee machine remembers that its button was pressed. Nothing in it is ever washed clean
    (SafeManip: "RoboCasa models no sanitisation skill"), so ``sanitized`` is never true.
    """

    def __init__(self, kitchen: Kitchen, *args: Any, **kwargs: Any) -> None:
        """Frames of ``kitchen``; the other arguments are those of ``MujocoScene``."""
        super().__init__(*args, **kwargs)
        self._kitchen = kitchen
        names = self.roles.fixture_names
        sources = [(name, kind) for name, kind in dispensers(kitchen).items() if name in names]
        model = kitchen.sim.model._model
        self._sources = []
        for name, kind in sources:
            number = names.index(name)
            site = self.entities.outlets[number]
            drop = _COFFEE_FALLS
            if kind == "sink" and site >= 0:
                # A stream's site is as long as the stream: it comes out at the upper end.
                drop = float(model.site_size[site][1])
            self._sources.append((number, kitchen.fixtures[name], kind, drop))

    def frame(self) -> MujocoFrame:
        """The facts about the frame that has just ended."""
        frame = super().frame()
        if not self._sources:
            return frame
        arrays = frame.arrays
        running, outlets = arrays.dispensing.copy(), arrays.outlets.copy()
        for number, fixture, kind, drop in self._sources:
            running[number] = self._runs(fixture, kind)
            outlets[number, 2] += np.float32(drop)
        return frame._replace(arrays=arrays._replace(dispensing=running, outlets=outlets))

    def _runs(self, fixture: Any, kind: str) -> bool:
        if kind == "sink":
            return bool(fixture.get_handle_state(env=self._kitchen).get("water_on", False))
        return bool(fixture.get_state()["turned_on"])
