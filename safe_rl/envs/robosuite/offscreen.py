"""Rendering a MuJoCo scene into an array, without a display.

The OpenGL context is made by MuJoCo's EGL or OSMesa binding when the first image is asked for, so
that state-only use needs neither library. Which one: OSMesa where the environment variable
``MUJOCO_GL`` says ``osmesa``, else EGL.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from safe_rl.envs.robosuite.simulator import load
from safe_rl.errors import ConfigurationError


class OffscreenCamera:
    """One camera of a model, at one image size."""

    def __init__(self, model: Any, camera: str, width: int, height: int) -> None:
        """Make the context.

        Raises:
            ConfigurationError: for an unknown camera, or where OpenGL cannot be used.
        """
        mujoco = load().mujoco
        known = [model.camera(index).name for index in range(model.ncam)]
        if camera not in known:
            raise ConfigurationError(f"no camera {camera!r} in the model; it has {known}")
        backend = "osmesa" if os.environ.get("MUJOCO_GL", "").lower() == "osmesa" else "egl"
        try:
            self._context = import_module(f"mujoco.{backend}").GLContext(width, height)
            self._context.make_current()
        except Exception as error:  # the bindings raise whatever their C library made them
            raise ConfigurationError(
                f"no off-screen OpenGL through {backend} ({type(error).__name__}: {error}); "
                "install Mesa (Debian: libegl1 libgl1-mesa-dri), or set MUJOCO_GL=osmesa before "
                "the first import and install libosmesa6"
            ) from error
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        self._mujoco, self._model = mujoco, model
        self._scene = mujoco.MjvScene(model, maxgeom=10_000)
        self._gl = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._gl)
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = known.index(camera)
        self._option = mujoco.MjvOption()
        self._option.geomgroup[0] = 0  # robosuite keeps collision shapes in group 0
        self._pixels = np.empty((height, width, 3), dtype=np.uint8)
        self._viewport = mujoco.MjrRect(0, 0, width, height)

    def render(self, data: Any) -> np.ndarray:
        """The image ``[height, width, 3]``, uint8, top row first."""
        mujoco = self._mujoco
        self._context.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._camera, everything, self._scene
        )
        mujoco.mjr_render(self._viewport, self._scene, self._gl)
        mujoco.mjr_readPixels(self._pixels, None, self._viewport, self._gl)
        return self._pixels[::-1].copy()

    def close(self) -> None:
        """Free the context."""
        self._gl.free()
        self._context.free()
