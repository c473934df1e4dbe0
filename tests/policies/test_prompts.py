"""The three prompt forms."""

from __future__ import annotations

import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.logic import parse
from safe_rl.policies import PROMPT_FORMS, prompt
from safe_rl.specs import Specification, SpecSet, load_specs


def test_the_instruction_stays_as_it_is() -> None:
    specs = load_specs("tabletop_lift").bind({"target": ["cup"], "delicate": ["cup", "glass"]})
    forms = [prompt("lift the cup", specs, form) for form in PROMPT_FORMS]
    assert forms[0] == "lift the cup"
    assert all(form.startswith("lift the cup") for form in forms)
    assert len(set(forms)) == 3


def test_words_and_formulas_are_the_specifications_own() -> None:
    grasp = load_specs("safemanip").select(["grasp_remains_synced_until_dropped"])
    specs = grasp.bind({"graspable": ["mug_1", "mug_2"]})
    words, formulas = (prompt("go", specs, form) for form in ("words", "ltlf"))
    for rule in specs.instances:
        assert rule.says in words
    clause = formulas.removeprefix("go. Safety (LTLf): ")
    one, other = (rule.formula for rule in specs.instances)
    assert parse(clause) == one & other


def test_a_rule_without_words_cannot_be_told_in_words() -> None:
    with pytest.raises(ConfigurationError, match="says anything"):
        prompt("go", SpecSet([Specification("a", "G !a", trigger="a")]), "words")


@pytest.mark.parametrize("form", ["words", "ltlf"])
def test_rules_are_needed(form: str) -> None:
    with pytest.raises(ConfigurationError, match="there are none"):
        prompt("go", None, form)


def test_an_unknown_form() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'words'"):
        prompt("go", None, "word")


def test_training_and_evaluation_tell_the_same() -> None:
    pytest.importorskip("jax")
    import gymnasium
    import numpy as np

    import safe_rl.envs  # noqa: F401
    from safe_rl.data import Episode
    from safe_rl.data.annotations import bind_specs
    from safe_rl.wrappers import ProductMDP

    env = gymnasium.make("safe_rl/TabletopLift-v0", propositions="task")
    recorded = Episode(
        propositions=("a",), letters=np.zeros((2, 1), bool), rewards=np.zeros(1), terminated=False,
        truncated=True, objects={k: tuple(v) for k, v in env.unwrapped.objects.items()},
    )  # fmt: skip
    specs = load_specs("tabletop_lift")
    for form in PROMPT_FORMS:
        trained = prompt("lift the cup", bind_specs(specs, recorded), form)
        assert trained == prompt("lift the cup", ProductMDP(env, specs).specs, form)
