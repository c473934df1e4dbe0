"""The kitchen as a picture and as text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.kitchen_grid.canvas import Canvas, Colour
from safe_rl.envs.kitchen_grid.dynamics import (
    COLUMNS,
    ROWS,
    WALL,
    Event,
    Hand,
    Kitchen,
    Order,
    Station,
)

CELL = 96
STRIP = 28

FLOOR: Colour = (238, 233, 224)
TILE: Colour = (226, 219, 207)
INK: Colour = (58, 58, 66)
FAINT: Colour = (128, 124, 118)
WOOD: Colour = (176, 128, 84)
DARK_WOOD: Colour = (132, 92, 58)
INSIDE: Colour = (74, 54, 40)
STEEL: Colour = (176, 184, 190)
DARK_STEEL: Colour = (112, 120, 128)
WATER: Colour = (92, 166, 220)
STOVE: Colour = (64, 66, 74)
EMBER: Colour = (226, 104, 58)
FRIDGE: Colour = (214, 226, 232)
PLATE: Colour = (250, 250, 250)
MEAT: Colour = (200, 70, 78)
FAT: Colour = (240, 196, 190)
BREAD: Colour = (214, 160, 88)
CRUST: Colour = (160, 108, 52)
GLASS: Colour = (140, 204, 228)
GLASS_EDGE: Colour = (70, 140, 176)
ROBOT: Colour = (86, 96, 160)
DANGER: Colour = (214, 48, 48)


def _meat(canvas: Canvas, x: float, y: float) -> None:
    canvas.box(x - 9, y - 6, 18, 12, MEAT, radius=6)
    canvas.line(x - 4, y - 1, x + 4, y + 1, FAT, 3)


def _bread(canvas: Canvas, x: float, y: float) -> None:
    canvas.box(x - 9, y - 7, 18, 14, CRUST, radius=5)
    canvas.box(x - 7, y - 5, 14, 10, BREAD, radius=4)


def _glass(canvas: Canvas, x: float, y: float, tilt: float = 0.0) -> None:
    canvas.line(x - 5 + tilt, y - 8, x - 4 - tilt, y + 8, GLASS_EDGE, 2)
    canvas.line(x + 5 + tilt, y - 8, x + 4 - tilt, y + 8, GLASS_EDGE, 2)
    canvas.line(x + tilt / 2, y - 1, x - tilt, y + 6, GLASS, 8)
    canvas.line(x - 4 - tilt, y + 8, x + 4 - tilt, y + 8, GLASS_EDGE, 2)


_ITEM: dict[Order, Callable[[Canvas, float, float], None]] = {
    Order.RAW: _meat,
    Order.READY: _bread,
    Order.GLASS: _glass,
}


def _cupboard(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 12, y + 20, 72, 42, DARK_WOOD, radius=3)
    if state.door_open:
        canvas.box(x + 16, y + 24, 64, 34, INSIDE)
        canvas.box(x + 16, y + 40, 64, 2, WOOD)
        for left in (26, 40):
            _glass(canvas, x + left, y + 49)
        canvas.box(x + 6, y + 22, 9, 38, WOOD, radius=2)  # the door, swung aside
    else:
        canvas.box(x + 16, y + 24, 64, 34, WOOD)
        canvas.disc(x + 72, y + 41, 3, STEEL)


def _sink(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 14, y + 20, 68, 40, STEEL, radius=6)
    basin = WATER if state.event is Event.WASHED else DARK_STEEL
    canvas.box(x + 22, y + 28, 52, 26, basin, radius=8)
    canvas.line(x + 48, y + 20, x + 48, y + 34, INK, 4)
    if state.event is Event.WASHED:
        for drop in (40, 48, 56):
            canvas.disc(x + drop, y + 46, 3, PLATE)


def _stove(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 14, y + 18, 68, 44, STOVE, radius=4)
    for left, top in ((32, 40), (64, 40)):
        canvas.disc(x + left, y + top, 12, DARK_STEEL, hole=9)
        canvas.disc(x + left, y + top, 7, EMBER, hole=4)


def _table(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 10, y + 20, 76, 42, WOOD, radius=8)
    canvas.box(x + 13, y + 23, 70, 36, (194, 148, 102), radius=6)
    if state.plate_laid:
        canvas.disc(x + 48, y + 41, 15, PLATE)
        canvas.disc(x + 48, y + 41, 11, STEEL, hole=10)
    if state.event is Event.SERVED:
        _bread(canvas, x + 48, y + 41)


def _rack(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 14, y + 50, 68, 8, DARK_STEEL, radius=3)
    for left in (28, 48, 68):
        _glass(canvas, x + left, y + 40)
        canvas.line(x + left - 9, y + 28, x + left - 9, y + 52, STEEL, 2)
    canvas.line(x + 77, y + 28, x + 77, y + 52, STEEL, 2)


def _fridge(canvas: Canvas, x: float, y: float, state: Kitchen) -> None:
    canvas.box(x + 20, y + 16, 56, 48, DARK_STEEL, radius=5)
    canvas.box(x + 22, y + 18, 52, 44, FRIDGE, radius=4)
    canvas.box(x + 22, y + 34, 52, 2, DARK_STEEL)
    canvas.box(x + 27, y + 22, 3, 9, DARK_STEEL)
    canvas.box(x + 27, y + 40, 3, 14, DARK_STEEL)


def _wall(canvas: Canvas) -> None:
    """The wall, on the edge that its two stations share."""
    (row, left), (_, right) = sorted(divmod(station, COLUMNS) for station in WALL)
    canvas.box(right * CELL - 3, row * CELL + 2, 6, CELL - 4, INK, radius=2)


_STATION: dict[Station, Callable[[Canvas, float, float, Kitchen], None]] = {
    Station.CUPBOARD: _cupboard,
    Station.SINK: _sink,
    Station.STOVE: _stove,
    Station.TABLE: _table,
    Station.RACK: _rack,
    Station.FRIDGE: _fridge,
}


def _robot(canvas: Canvas, state: Kitchen) -> None:
    row, column = divmod(state.station, COLUMNS)
    x, y = column * CELL + CELL / 2, row * CELL + CELL - 22.0
    grip = 11.0 if state.hand is not Hand.EMPTY else 14.0
    canvas.line(x, y + 14, x, y + 10, ROBOT, 14)
    canvas.line(x - grip, y + 8, x + grip, y + 8, ROBOT, 6)
    for side in (-grip, grip):
        canvas.line(x + side, y + 8, x + side, y - 5, ROBOT, 5)
    match state.hand:
        case Hand.RAW:
            _meat(canvas, x, y - 2)
        case Hand.READY:
            _bread(canvas, x, y - 2)
        case Hand.GLASS_FIRM | Hand.GLASS_HASTY | Hand.GLASS_SLIPPING:
            tilt = {Hand.GLASS_FIRM: 0.0, Hand.GLASS_HASTY: 2.0, Hand.GLASS_SLIPPING: 5.0}
            _glass(canvas, x, y - 3, tilt[state.hand])
    if state.hand is Hand.GLASS_SLIPPING or (
        state.event is Event.REACHED_IN and not state.door_open
    ):
        canvas.disc(x + 28, y, 8, DANGER)
        canvas.line(x + 28, y - 4, x + 28, y + 1, PLATE, 2.5)
        canvas.disc(x + 28, y + 4.5, 1.6, PLATE)


@lru_cache(maxsize=512)
def _drawn(state: Kitchen) -> NDArray[np.uint8]:
    canvas = Canvas(ROWS * CELL + STRIP, COLUMNS * CELL, FLOOR)
    for line in range(1, COLUMNS):
        canvas.box(line * CELL - 1, 0, 2, ROWS * CELL, TILE)
    canvas.box(0, CELL - 1, COLUMNS * CELL, 2, TILE)
    for station, paint in _STATION.items():
        row, column = divmod(station, COLUMNS)
        paint(canvas, column * CELL, row * CELL, state)
        canvas.text(column * CELL + 6, row * CELL + 5, station.name, FAINT)
    _wall(canvas)
    _robot(canvas, state)
    canvas.box(0, ROWS * CELL, COLUMNS * CELL, STRIP, INK)
    canvas.text(8, ROWS * CELL + 10, f"ORDER {state.order.name}", PLATE, size=1.8)
    _ITEM[state.order](canvas, 110, ROWS * CELL + STRIP / 2)
    if state.event is not Event.NONE:
        words = state.event.name.replace("_", " ")
        left = COLUMNS * CELL - 8 - 4 * 1.8 * len(words)
        canvas.text(left, ROWS * CELL + 10, words, PLATE, size=1.8)
    picture = canvas.picture()
    picture.setflags(write=False)
    return picture


def draw(state: Kitchen) -> NDArray[np.uint8]:
    """The kitchen from above, ``uint8 [220, 288, 3]``; a red mark shows what is going wrong."""
    return _drawn(state).copy()


def write(state: Kitchen) -> str:
    """The kitchen as text: the stations, the robot in brackets, then what it does."""
    lines = []
    for row in range(ROWS):
        cells = []
        for column in range(COLUMNS):
            station = Station(row * COLUMNS + column)
            name = station.name.lower()
            if station is Station.CUPBOARD:
                name += " open" if state.door_open else " shut"
            if station is Station.TABLE and state.plate_laid:
                name += " plate"
            cell = f"[{name}]" if station is state.station else f" {name} "
            walled = {station, station + 1} == WALL
            cells.append(f"{cell:<15}{'|' if walled else ' '}")
        lines.append("".join(cells).rstrip())
    hand = state.hand.name.lower().replace("_", ", ")
    event = "" if state.event is Event.NONE else f"; {state.event.name.lower().replace('_', ' ')}"
    lines.append(f"order: {state.order.name.lower()}; hand: {hand}{event}")
    return "\n".join(lines)
