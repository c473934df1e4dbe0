"""What carries what: the surfaces below each object, free fall and landing."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from safe_rl.envs.tabletop.fixtures import FLOOR, TABLE_HALF_X, TABLE_HALF_Y, Fixtures
from safe_rl.envs.tabletop.gripper import half_height
from safe_rl.envs.tabletop.kinds import Kind
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.state import Array, Body

NOTHING = -1
FIXTURE_SURFACES = ("floor", "table", "sink", "drawer", "cabinet", "microwave", "microwave_top")
"""Surfaces after those of the objects: surface ``len(objects) + k`` is the k-th of these."""


class Surface(NamedTuple):
    """The highest surface below an object."""

    height: Array
    number: Array


def surface_below(
    i: int,
    xs: list[Array],
    ys: list[Array],
    bodies: tuple[Body, ...],
    kinds: tuple[Kind, ...],
    fixtures: Fixtures,
    drawer: Array | None,
    p: TabletopParameters,
) -> Surface:
    """What object ``i``, at its new place, would come to rest on.

    An object rests on another one if its centre is above the other's footprint.
    """
    count = len(bodies)
    x, y = xs[i], ys[i]
    bottom = bodies[i].z - half_height(bodies[i], kinds[i]) + p.rest_tolerance
    on_table = (jnp.abs(x) < TABLE_HALF_X) & (jnp.abs(y) < TABLE_HALF_Y) & (bottom > 0.0)
    height = jnp.where(on_table, 0.0, FLOOR)
    index = jnp.where(on_table, count + 1, count)

    def consider(there: Array, top: Array | float, surface: int) -> None:
        nonlocal height, index
        better = there & (top >= height) & (bottom >= top)
        height = jnp.where(better, top, height)
        index = jnp.where(better, surface, index)

    if fixtures.sink is not None:
        consider(fixtures.sink.body.over(x, y), 0.0, count + 2)
    if fixtures.drawer is not None and drawer is not None:
        inside = fixtures.drawer.interior(drawer)
        consider(inside.over(x, y) & (bottom < inside.z1 + 0.3), inside.z0, count + 3)
        body = fixtures.drawer.body
        consider(body.over(x, y), body.z1, count + 4)
    if fixtures.microwave is not None:
        cavity = fixtures.microwave.interior
        consider(cavity.over(x, y), cavity.z0, count + 5)
        consider(fixtures.microwave.body.over(x, y), fixtures.microwave.body.z1, count + 6)
    for j in range(count):
        if j == i:
            continue
        dx, dy = x - xs[j], y - ys[j]
        above = dx * dx + dy * dy < kinds[j].radius ** 2
        consider(above, bodies[j].z + half_height(bodies[j], kinds[j]), j)
    return Surface(height, index.astype(jnp.int32))


class Fall(NamedTuple):
    """The vertical motion of one frame.

    Attributes:
        z: m, of the centre.
        vz: m/s.
        landing: m/s with which it came down; 0 if it did not.
        support: int32, the surface that it rests on, -1 for none.
    """

    z: Array
    vz: Array
    landing: Array
    support: Array


def fall(body: Body, kind: Kind, surface: Surface, p: TabletopParameters) -> Fall:
    """Free fall of what is not held, and its landing; exact, however long the frame is."""
    dt = p.frame
    rest = surface.height + half_height(body, kind)
    drop = jnp.maximum(body.z - rest, 0.0)
    freely = body.z + body.vz * dt - 0.5 * p.gravity * dt * dt
    lands = freely <= rest
    speed = jnp.sqrt(body.vz * body.vz + 2.0 * p.gravity * drop)
    z = jnp.where(lands, rest, freely)
    vz = jnp.where(lands, 0.0, body.vz - p.gravity * dt)
    landing = jnp.where(lands & (drop > 1e-4), speed, 0.0)
    return Fall(z, vz, landing, jnp.where(lands, surface.number, NOTHING))


def lowered(body: Body, kind: Kind, z: Array, surface: Surface, p: TabletopParameters) -> Fall:
    """The vertical motion of a held object that the gripper would carry to the height ``z``."""
    rest = surface.height + half_height(body, kind)
    rests = z <= rest + 1e-4
    reached = jnp.maximum(z, rest)
    down = (body.z - z) / p.frame
    came_down = rests & (body.z > rest + 1e-3) & (down > 0.0)
    landing = jnp.where(came_down, down, 0.0)
    vz = (reached - body.z) / p.frame
    return Fall(reached, vz, landing, jnp.where(rests, surface.number, NOTHING))
