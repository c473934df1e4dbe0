"""``safe-rl ontology``: output, exit status, and one clear message."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from safe_rl.cli import app
from safe_rl.grounding.ontology import Ontology


def run(*arguments: object):
    return CliRunner().invoke(app, ["ontology", *map(str, arguments)])


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("entities:\n  gizmo: {kind: fruit, hazard: [sharp, unwashed]}\n")
    return path


def test_show_prints_the_paths_and_the_rules():
    output = run("show", "milk").output
    assert output.startswith("milk  also milk_carton, carton_of_milk\n├── kind\n│   ├── food\n")
    assert "│   │   └── animal_food\n│   │       └── dairy\n" in output
    assert "perishable  rule dairy_spoils: dairy\n" in output
    assert run("show", "milk_1").output == output


def test_show_prints_a_property_and_what_has_both_names():
    output = run("show", "shatters").output
    assert "shatters > fragile > breakage_hazard > hazard" in output
    assert "ceramic_breaks" in output and "wine_glass" in output
    both = run("show", "microwave").output
    assert "└── appliance" in both and "microwave > cooking_appliance > appliance > kind" in both


def test_list():
    lines = run("list").output.splitlines()
    assert lines[0].split() == ["entity", "attached", "to"]
    assert lines[-1] == f"{len(Ontology.load().entities)} entities"
    by_property = run("list", "--property", "open_flame").output
    assert [line.split()[0] for line in by_property.splitlines()[1:-1]] == [
        "barbecue_grill",
        "candle",
        "lighter",
        "stove",
    ]
    assert run("list", "-p", "fragile & soft").output == "0 entities\n"


def test_properties_and_relations():
    assert "fragile  " in run("properties").output
    assert "no_metal_in_the_microwave" in run("relations").output
    pair = run("relations", "fork_1", "microwave_1").output
    assert "microwave_1 must not run with fork_1" in pair
    assert run("relations", "cube", "table").output.startswith("no relational rule applies")


def test_a_file_of_ones_own(mine):
    checked = run("check", mine)
    assert checked.exit_code == 0
    assert "1 entity, 0 nodes, 0 rules; no mistakes" in checked.output
    note = f"note: {mine}:2: a rule gives 'unwashed' to 'gizmo' anyway"
    assert note in checked.output
    assert "gizmo" in run("list", "-p", "sharp", "--file", mine).output
    assert run("show", "gizmo", "-f", mine).output.startswith("gizmo\n├── kind")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "milkk"], "no entity and no property 'milkk'; did you mean 'milk'"),
        (["list", "-p", "frgile"], "error: there is no property 'frgile'; did you mean 'fragile'"),
        (["relations", "zzzz"], "no entity is named 'zzzz'"),
        (["check", "nothing.yaml"], "nothing.yaml: cannot be read"),
    ],
)
def test_mistakes(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
