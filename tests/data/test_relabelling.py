"""Relabelling: other rules over the letters that were logged, everything else carried over."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("PIL")

import typer
from typer.testing import CliRunner

from safe_rl.cli.relabelling import relabel_command
from safe_rl.data import (
    SUFFIX,
    LeRobotWriter,
    annotate,
    find_recordings,
    lerobot_episodes,
    load_annotations,
    load_lerobot,
    relabel,
    save_episodes,
)
from safe_rl.errors import GroundingError, RecordingError
from safe_rl.specs import Specification, SpecSet
from tests.data.lerobot_recording import FPS, SPECS, recorded
from tests.data.recorded import same

OTHER = SpecSet([Specification("quiet", "G !ask", trigger="ask", recovery="F answer")])
TYPO = Specification("typo", "G(aks -> answer)")


@pytest.fixture
def dataset(tmp_path):
    with LeRobotWriter(tmp_path / "old", fps=FPS, specs=SPECS, robot_type="panda") as writer:
        for number in range(4):
            writer.add(recorded(number), reason=f"why {number}", labels={"draw": number})
    return tmp_path / "old"


def test_other_rules_over_the_same_episodes(tmp_path, dataset):
    said = relabel(dataset, tmp_path / "new", OTHER)
    assert tuple(said) == lerobot_episodes(tmp_path / "new")
    episodes = load_lerobot(tmp_path / "new")
    assert all(same(own, recorded(number)) for number, own in enumerate(episodes))
    for own, before, found in zip(
        said, lerobot_episodes(dataset), load_annotations(tmp_path / "new"), strict=True
    ):
        assert (own.reason, own.labels, own.seed) == (before.reason, before.labels, before.seed)
        expected = annotate(recorded(own.index), OTHER)
        assert own.counts["V"] == tuple(expected.V) and own.safe == expected.safe
        assert (found.violated == expected.violated).all() and found.specs == OTHER
    assert any(
        own.safe != old.safe for own, old in zip(said, lerobot_episodes(dataset), strict=True)
    )
    # and back again: nothing was lost
    relabel(tmp_path / "new", tmp_path / "again", SPECS)
    one, two = (find_recordings([root]) for root in (dataset, tmp_path / "again"))
    assert [own.path.read_bytes() for own in one] == [own.path.read_bytes() for own in two]


def test_our_own_files_and_other_objects(tmp_path):
    plain = [recorded(number, images=False) for number in range(3)]
    save_episodes(tmp_path / "old" / f"x{SUFFIX}", plain)
    said = relabel(tmp_path / "old", tmp_path / "new", SPECS, objects={"graspable": ["b"]})
    expected = [annotate(replace(own, objects={"graspable": ("b",)}), SPECS) for own in plain]
    assert [own.counts["V"] for own in said] == [tuple(own.V) for own in expected]


def test_a_proposition_that_was_not_logged_is_named_with_what_is_there(tmp_path, dataset):
    with pytest.raises(GroundingError, match="'aks' .*did you mean 'ask'") as error:
        relabel(dataset, tmp_path / "new", [*OTHER, TYPO])
    assert "can serve: quiet" in str(error.value)
    assert "grasped(a), synced(a), grasped(b), synced(b), ask, answer" in str(error.value)


def test_nothing_is_written_over(tmp_path, dataset):
    with pytest.raises(RecordingError, match="there is a dataset already"):
        relabel(dataset, dataset, OTHER)
    with LeRobotWriter(tmp_path / "second", fps=FPS) as writer:
        writer.add(recorded(0))
    with pytest.raises(RecordingError, match="2 datasets in one folder"):
        relabel(tmp_path, tmp_path / "new", OTHER)


def test_the_command(tmp_path, dataset):
    app = typer.Typer()
    app.command()(relabel_command)
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {id: quiet, formula: G !ask, trigger: ask, recovery: F answer}\n")
    run = CliRunner().invoke
    result = run(app, [str(dataset), "--specs", str(rules), "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    said = lerobot_episodes(tmp_path / "new")
    assert f"4 episodes, {sum(own.safe for own in said)} of them safe" in result.output
    won = [own for own in said if own.success]
    assert f"{len(won)} successes, {sum(own.safe for own in won)} of them safe" in result.output
    rules.write_text("- {id: typo, formula: G(aks -> answer)}\n")
    result = run(app, [str(dataset), "--specs", str(rules), "--out", str(tmp_path / "other")])
    assert result.exit_code == 2 and "did you mean 'ask'" in result.stderr
