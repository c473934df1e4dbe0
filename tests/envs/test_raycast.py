"""Pictures checked against geometry that can be worked out by hand."""

import math
import subprocess
import sys

import numpy as np
import pytest

from safe_rl.envs.raycast import (
    Box,
    Camera,
    Cylinder,
    Ellipsoid,
    Light,
    Material,
    Revolved,
    Sphere,
    caption,
    furniture,
    placed,
    render,
    tableware,
    turned,
    write_film,
)
from safe_rl.envs.raycast.materials import display, linear
from safe_rl.envs.raycast.shapes import matrix
from safe_rl.envs.raycast.surfaces import surfaces_of
from safe_rl.errors import ConfigurationError, MissingDependencyError

WHITE = ("#ffffff", "#ffffff")
RED, BLUE = Material("#e01010", gloss=0.0), Material("#1010e0", gloss=0.0)
FRONT = Camera((0.0, -4.0, 0.0), (0.0, 0.0, 0.0), fov=40.0, width=81, height=61)


BLANK = int(render([], FRONT, background=WHITE)[0, 0, 0])


def drawn(shapes, camera=FRONT, **options):
    return render(shapes, camera, background=WHITE, **options)


def covered(picture):
    """Pixels that do not show the white background, which the tone curve makes a little darker."""
    return (picture < BLANK - 5).any(axis=2)


def test_sphere_covers_the_disc_that_perspective_gives():
    picture = drawn([Sphere((0, 0, 0), 0.8, RED)], smooth=False)
    # The silhouette is the cone of half angle asin(r / d) about the view direction.
    radius = FRONT.focal * math.tan(math.asin(0.8 / 4.0))
    row, column = np.mgrid[:61, :81]
    away = np.hypot(row - 30, column - 40)
    assert covered(picture)[away < radius - 0.6].all()
    assert not covered(picture)[away > radius + 0.6].any()


def test_smooth_edges_are_between_object_and_background():
    shapes = [Sphere((0, 0, 0), 0.8, Material("#000000", gloss=0.0))]
    rough, smooth = drawn(shapes, smooth=False), drawn(shapes)
    assert set(np.unique(rough[..., 0])) == {0, BLANK}
    between = (smooth[..., 0] > 40) & (smooth[..., 0] < 230)
    assert between.sum() > 30
    edge = np.hypot(*(np.argwhere(between) - (30, 40)).T)
    radius = FRONT.focal * math.tan(math.asin(0.2))
    assert (np.abs(edge - radius) < 1.5).all()


def test_nearer_hides_farther_whatever_the_order():
    near, far = Sphere((0, -1, 0), 0.5, RED), Box((0, 1, 0), (1, 0.1, 1), material=BLUE)
    for shapes in ([near, far], [far, near]):
        picture = drawn(shapes)
        assert picture[30, 40, 0] > picture[30, 40, 2]  # red in the middle
        assert picture[18, 52, 2] > picture[18, 52, 0]  # blue around it


def test_shadow_falls_away_from_the_sun():
    ground = Box((0, 0, -0.1), (3, 3, 0.1), material=Material("#ffffff", gloss=0.0))
    ball = Sphere((0, 0, 1.0), 0.3, RED)
    camera = Camera((0, 0, 8.0), (0, 0, 0), fov=40, width=81, height=81)
    sun = Light(direction=(-1.0, 0.0, 1.0), softness=0.0)
    picture = drawn([ground, ball], camera, light=sun)
    # The centre of the shadow is where the line from the sun through the ball meets z = 0: x = 1.
    x, y, _ = camera.project(np.array([[1.0, -1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    shaded, sunny, clear = (
        int(picture[round(b), round(a)].sum()) for a, b in zip(x, y, strict=True)
    )
    assert shaded < 0.75 * sunny
    assert abs(sunny - clear) < 6
    # Its outline is an ellipse, r / sin(45 degrees) long: 0.4 m along x, 0.3 m along y.
    inside, outside = camera.project(np.array([[1.35, 1.5], [0.0, 0.0], [0.0, 0.0]]))[0]
    assert picture[40, round(inside)].sum() < 0.8 * sunny
    assert picture[40, round(outside)].sum() > 0.95 * sunny


def test_soft_sun_blurs_the_shadow_and_keeps_its_place():
    ground = Box((0, 0, -0.1), (3, 3, 0.1), material=Material("#ffffff", gloss=0.0))
    ball = Sphere((0, 0, 1.5), 0.4, RED)
    camera = Camera((0, 0, 8.0), (0, 0, 0), fov=40, width=81, height=81)
    levels = []
    for softness in (0.0, 6.0):
        light = Light(direction=(-1.0, 0.0, 1.0), softness=softness)
        line = drawn([ground, ball], camera, light=light)[40, 52:].astype(int).sum(axis=1)
        levels.append(line)
    columns = np.arange(len(levels[0]))
    places = [((line.max() - line) @ columns) / (line.max() - line).sum() for line in levels]
    assert places[0] == pytest.approx(places[1], abs=1)
    steepest = [np.abs(np.diff(line)).max() for line in levels]
    assert steepest[1] < 0.7 * steepest[0]


def test_glass_keeps_what_is_behind_it():
    behind = Box((0, 1, 0), (1, 0.1, 1), material=BLUE)
    pane = Box((0, 0, 0), (0.6, 0.02, 0.6), material=Material("#ff0000", gloss=0.0, opacity=0.1))
    plain, seen = drawn([behind])[30, 40].astype(int), drawn([behind, pane])[30, 40].astype(int)
    assert seen[2] > seen[0]  # still blue
    assert seen[0] > plain[0] + 20  # with a tint of red
    solid = Box((0, 0, 0), (0.6, 0.02, 0.6), material=Material("#ff0000", gloss=0.0))
    hidden = drawn([behind, solid])[30, 40]
    assert hidden[0] > hidden[2]


def test_glass_behind_something_solid_does_not_show():
    front = Box((0, -1, 0), (1, 0.1, 1), material=BLUE)
    pane = Box((0, 0, 0), (0.5, 0.02, 0.5), material=Material("#ff0000", opacity=0.5))
    assert (drawn([front, pane])[15:45, 25:55] == drawn([front])[15:45, 25:55]).all()


def test_box_turned_by_45_degrees_has_a_silhouette_wider_by_root_two():
    flat = Camera((0, -60.0, 0), (0, 0, 0), fov=4, width=81, height=61)
    straight = covered(drawn([Box((0, 0, 0), (0.7, 0.7, 0.7), material=RED)], flat))[30].sum()
    rotation = turned(45.0)
    across = covered(drawn([Box((0, 0, 0), (0.7, 0.7, 0.7), rotation, RED)], flat))[30].sum()
    assert across == pytest.approx(math.sqrt(2) * straight, abs=2)
    rolled = drawn([Box((0, 0, 0), (0.7, 0.7, 0.7), turned(45.0, (0, 1, 0)), RED)], flat)
    row, column = np.nonzero(covered(rolled))
    diamond = np.abs(row - 30) + np.abs(column - 40)
    assert diamond.max() == pytest.approx(0.7 * math.sqrt(2) * flat.focal / 60, abs=2)


def test_quaternion_and_matrix_agree():
    half = math.radians(30) / 2
    quaternion = (math.cos(half), 0.0, 0.0, math.sin(half))
    assert matrix(quaternion) == pytest.approx(turned(30.0))
    shapes = [
        Box((0, 0, 0), (0.7, 0.4, 0.5), rotation, RED) for rotation in (quaternion, turned(30))
    ]
    assert (drawn(shapes[:1]) == drawn(shapes[1:])).all()


@pytest.mark.parametrize(
    "shape",
    [
        Box((0.1, 0.2, 0.3), (0.5, 0.3, 0.4), turned(33, (1, 2, 3))),
        Ellipsoid((0.1, 0.2, 0.3), (0.5, 0.3, 0.4), turned(33, (1, 2, 3))),
        Cylinder((0.1, 0.2, 0.3), 0.4, 0.3, 0.5, turned(33, (1, 2, 3))),
        Cylinder((0.1, 0.2, 0.3), 0.4, 0.4, 0.5, turned(33, (1, 2, 3)), wall=0.1),
        Revolved((0, 0, 0), [(0, -0.4), (0.5, -0.3), (0.2, 0.1), (0.3, 0.4), (0, 0.4)]),
    ],
    ids=["box", "ellipsoid", "cylinder", "cup", "profile"],
)
def test_rays_cross_a_closed_surface_an_even_number_of_times(shape):
    (surface,) = surfaces_of([shape])
    rng = np.random.default_rng(3)
    direction = rng.normal(size=(3, 4000)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=0)
    origin = (rng.uniform(-0.8, 0.8, size=(3, 4000)) - 3 * direction).astype(np.float32)
    distance = np.sort(surface.crossings(origin, direction), axis=0)
    count = np.isfinite(distance).sum(axis=0)
    assert 300 < (count > 0).sum() < 4000
    assert (count % 2 == 1).mean() < 0.002  # an edge may be met exactly
    # Entering, the outward normal looks against the ray; leaving, along it.
    for turn, sign in ((0, -1), (1, 1)):
        hit = np.flatnonzero((count > 0) & (count % 2 == 0))
        points = origin[:, hit] + distance[turn, hit] * direction[:, hit]
        true, shaded = surface.normals(points)
        assert np.linalg.norm(true, axis=0) == pytest.approx(1, abs=1e-4)
        assert np.linalg.norm(shaded, axis=0) == pytest.approx(1, abs=1e-4)
        along = (true * direction[:, hit]).sum(axis=0) * sign
        assert (along > -1e-3).mean() > 0.995


def test_cylinder_is_as_high_and_wide_as_it_says():
    flat = Camera((0, -60.0, 0), (0, 0, 0), fov=4, width=81, height=61)
    picture = covered(drawn([Cylinder((0, 0, 0), 1.2, 0.5, 1.0, material=RED)], flat, smooth=False))
    scale = flat.focal / 60
    rows = np.flatnonzero(picture.any(axis=1))
    assert len(rows) == pytest.approx(2.4 * scale, abs=2)
    top, bottom = picture[rows[2]].sum(), picture[rows[-3]].sum()
    assert top == pytest.approx(2 * 1.0 * scale, abs=2)
    assert bottom == pytest.approx(2 * 0.5 * scale, abs=2)


def test_cup_is_open_and_shows_its_liquid():
    above = Camera((0, 0, 4.0), (0, 0, 0), fov=40, width=61, height=61)
    cup = {"center": (0, 0, 0), "half_height": 0.5, "radius": 0.6, "material": RED, "wall": 0.05}
    empty = drawn([Cylinder(**cup)], above)[30, 30].astype(int)
    full = drawn([Cylinder(**cup, liquid=BLUE, fill=0.8)], above)[30, 30].astype(int)
    assert empty[0] > empty[2]
    assert full[2] > full[0]


def test_bright_side_faces_the_sun():
    picture = drawn(
        [Sphere((0, 0, 0), 0.8, Material("#c0c0c0", gloss=0.0))], light=Light((-1, 0, 0))
    )
    assert picture[30, 32].sum() > 1.3 * picture[30, 48].sum()


def test_same_scene_gives_the_same_picture_and_leaves_the_shapes_alone():
    shapes = kitchen()
    before = [repr(shape) for shape in shapes]
    camera = Camera((-0.15, -1.2, 0.66), (0, 0, 0.1), 38, 64, 48)
    assert (render(shapes, camera) == render(shapes, camera)).all()
    assert [repr(shape) for shape in shapes] == before


@pytest.mark.parametrize("size", [(1, 1), (7, 5), (33, 70)])
def test_any_size_and_an_empty_scene(size):
    width, height = size
    picture = render([], Camera((1, 0, 0), width=width, height=height))
    assert picture.shape == (height, width, 3) and picture.dtype == np.uint8
    picture = render(kitchen(), Camera((0, -1, 0.5), width=width, height=height))
    assert picture.shape == (height, width, 3)


def test_camera_inside_and_in_front_of_things():
    """Solids that reach behind the camera, or lie there, are neither lost nor mirrored."""
    ground = Box((0, 0, -1.1), (50, 50, 0.1), material=Material("#404040", gloss=0.0))
    picture = drawn([ground])
    assert covered(picture)[45:].all() and not covered(picture)[:29].any()
    assert not covered(drawn([Sphere((0, -8, 0), 0.5, RED)])).any()
    assert covered(drawn([Box((0, -4, 0), (1, 1, 1), material=RED)])).all()


def test_picture_is_finite_where_a_ray_is_parallel_to_faces():
    with np.errstate(all="raise", under="ignore"):
        drawn([Box((0, 0, 0), (0.5, 0.5, 0.5), material=RED), Cylinder((0, 0, 0), 1, 0.7)])


def test_colours_survive_the_way_through_linear_light():
    for color in ("#000000", "#123456", "#a0b0c0"):
        back = display(linear(color)) * 255
        wanted = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
        assert back.tolist() == pytest.approx(wanted, abs=0.6)
    assert float(display(np.array([50.0], np.float32))[0]) <= 1.0


def test_placed_moves_a_group_as_one():
    parts = [Box((1, 0, 0), (0.1, 0.2, 0.3)), Sphere((0, 0, 1), 0.1)]
    box, ball = placed(parts, (0, 0, 5), turned(90.0))
    assert np.asarray(box.center) == pytest.approx([0, 1, 5])
    assert np.asarray(ball.center) == pytest.approx([0, 0, 6])
    assert matrix(box.rotation) == pytest.approx(turned(90.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box((0, 0), (1, 1, 1)),
        lambda: Box((0, 0, 0), (1, 0, 1)),
        lambda: Sphere((0, 0, math.nan), 1),
        lambda: Cylinder((0, 0, 0), 1, 0.5, wall=0.6),
        lambda: Cylinder((0, 0, 0), 1, 0.5, fill=1.5),
        lambda: Revolved((0, 0, 0), [(0.0, 1.0)]),
        lambda: Revolved((0, 0, 0), [(-0.1, 1.0), (0.2, 0.0)]),
        lambda: Material("#12345"),
        lambda: Material((0.1, 0.2, 1.2)),
        lambda: Material(opacity=2),
        lambda: Material(pattern="stripes"),
        lambda: Light(direction=(0, 0, 0)),
        lambda: Camera((0, 0, 1), (0, 0, 1)),
        lambda: Camera((0, 0, 1), fov=180),
        lambda: Camera((0, 0, 1), width=0),
        lambda: matrix((0, 0, 0, 0)),
        lambda: matrix(np.ones((3, 3))),
        lambda: render([], FRONT, background=("#ffffff",)),
    ],
)
def test_wrong_arguments_are_named(make):
    with pytest.raises(ConfigurationError):
        make()


def test_what_is_no_shape_is_named():
    with pytest.raises(TypeError, match="str"):
        render(["cup"], FRONT)


def kitchen(lift=0.1):
    return [
        *furniture.table(),
        *furniture.cabinet((-0.4, 0.2, 0), opening=0.1),
        *furniture.microwave((0.4, 0.2, 0), door=70, on=True),
        *furniture.sink((0.0, 0.2, 0), water=0.5, running=True),
        *furniture.gripper((0, 0, lift)),
        *furniture.beam((0, 0, 0.3), (0.2, 0, 0.5), 0.01, RED),
        *tableware.cup((0, 0, lift - 0.05), fill=0.5),
        *tableware.wine_glass((0.1, -0.1, 0), fill=0.5),
        *tableware.tumbler((0.2, -0.1, 0), fill=0.5),
        *tableware.plate((-0.1, -0.2, 0)),
        *tableware.bread((-0.1, -0.2, 0.01)),
        *tableware.toast((0.1, -0.25, 0)),
        *tableware.apple((0.2, -0.2, 0)),
        *tableware.egg((0.25, -0.2, 0)),
        *tableware.ball((0.3, -0.2, 0)),
        *tableware.jar((-0.2, -0.1, 0)),
        *tableware.lid((-0.2, -0.1, 0.1)),
    ]


def test_ready_made_things_stand_on_their_base():
    for make in (
        tableware.cup,
        tableware.wine_glass,
        tableware.tumbler,
        tableware.plate,
        tableware.apple,
        tableware.egg,
        tableware.ball,
        tableware.jar,
        tableware.lid,
        tableware.toast,
        furniture.cabinet,
        furniture.microwave,
        furniture.sink,
    ):
        lowest = min(s.corners[2].min() for s in surfaces_of(make((0.3, 0.1, 0.5))))
        assert lowest == pytest.approx(0.5, abs=1e-3), make.__name__


def test_drawer_and_door_and_fingers_move():
    def front(shapes):
        return min(float(s.corners[1].min()) for s in surfaces_of(shapes))

    shut, pulled = (front(furniture.cabinet((0, 0, 0), opening=d)) for d in (0.0, 0.1))
    assert shut - pulled == pytest.approx(0.1, abs=1e-5)
    shut, swung = (front(furniture.microwave((0, 0, 0), door=d)) for d in (0.0, 90.0))
    assert shut - swung > 0.2
    wide, narrow = (
        max(float(s.corners[1].max()) for s in surfaces_of(furniture.gripper((0, 0, 0), d)[2:8]))
        for d in (0.08, 0.02)
    )
    assert wide - narrow == pytest.approx(0.03, abs=1e-5)


def test_caption_adds_a_strip_of_constant_height():
    pytest.importorskip("PIL")
    frame = drawn([Sphere((0, 0, 0), 0.8, RED)], Camera((0, -4, 0), width=160, height=120))
    quiet = caption(frame, "put the cup away", step=3)
    alarm = caption(frame, "put the cup away", step=4, violated=["no_spill", "a" * 200])
    assert quiet.shape == alarm.shape and quiet.shape[1:] == (160, 3)
    assert (quiet[:120] == frame).all()

    def red(strip):
        level = strip.astype(int)
        return int(((level[..., 0] > 180) & (level[..., 1] < 130)).sum())

    assert red(quiet[120:]) == 0 < red(alarm[120:])
    over = caption(frame, "put the cup away", step=3, below=False)
    assert (over[-120:] == frame).all()
    with pytest.raises(ConfigurationError, match="uint8"):
        caption(frame.astype(float), "")


def test_film_can_be_read_back(tmp_path):
    image = pytest.importorskip("PIL.Image")
    camera = Camera((0, -4, 0), width=64, height=48)
    frames = [drawn([Sphere((x, 0, 0), 0.5, RED)], camera) for x in np.linspace(-1, 1, 7)]
    path = write_film(tmp_path / "films" / "ball.gif", frames, fps=10)
    assert [item.name for item in path.parent.iterdir()] == ["ball.gif"]
    with image.open(path) as film:
        assert film.n_frames == 7 and film.size == (64, 48)
        assert film.info["duration"] == 100 and film.info["loop"] == 0
        for number, frame in enumerate(frames):
            film.seek(number)
            shown = np.asarray(film.convert("RGB")).astype(int)
            assert np.abs(shown - frame).mean() < 4


def test_film_replaces_a_file_only_when_it_is_whole(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    frame = np.zeros((4, 4, 3), np.uint8)
    path = write_film(tmp_path / "a.gif", [frame])
    before = path.read_bytes()

    def broken(self, target, **options):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(image.Image, "save", broken)
    with pytest.raises(OSError, match="disk full"):
        write_film(path, [frame + 9])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_film_refuses_what_is_no_film(tmp_path):
    frame = np.zeros((4, 4, 3), np.uint8)
    for frames, fps in (([], 10), ([frame], 0), ([frame], 51), ([frame, frame[:2]], 10)):
        with pytest.raises(ConfigurationError, match="write_film"):
            write_film(tmp_path / "a.gif", frames, fps)
    assert not list(tmp_path.iterdir())


def test_missing_pillow_is_explained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    frame = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(MissingDependencyError, match="pillow"):
        caption(frame, "text")
    with pytest.raises(MissingDependencyError, match="pillow"):
        write_film(tmp_path / "a.gif", [frame])


def test_package_needs_numpy_only():
    """Neither jax nor Pillow is imported before it is needed."""
    code = (
        "import sys; import safe_rl.envs.raycast; "
        "print([name for name in ('jax', 'PIL', 'matplotlib', 'torch') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
