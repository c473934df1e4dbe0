"""Pictures of simple scenes by ray casting, with numpy alone, and short films of them."""

from __future__ import annotations

from safe_rl.envs.raycast.camera import Camera
from safe_rl.envs.raycast.film import caption, write_film
from safe_rl.envs.raycast.lighting import Light
from safe_rl.envs.raycast.materials import Material
from safe_rl.envs.raycast.picture import render
from safe_rl.envs.raycast.placing import placed
from safe_rl.envs.raycast.shapes import (
    Box,
    Cylinder,
    Ellipsoid,
    Revolved,
    Shape,
    Sphere,
    turned,
)

__all__ = [
    "Box",
    "Camera",
    "Cylinder",
    "Ellipsoid",
    "Light",
    "Material",
    "Revolved",
    "Shape",
    "Sphere",
    "caption",
    "placed",
    "render",
    "turned",
    "write_film",
]
