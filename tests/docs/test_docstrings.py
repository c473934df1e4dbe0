"""Every `>>>` example in the package's docstrings prints what it shows."""

import doctest
import importlib
import pkgutil

import pytest

import safe_rl

MODULES = [
    module.name
    for module in pkgutil.walk_packages(safe_rl.__path__, "safe_rl.")
    if not module.name.endswith("__main__")  # importing one runs it
]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.robosuite if ".robosuite" in name else ())
        for name in MODULES
    ],
)
def test_examples(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_package_has_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    light = [name for name in MODULES if name.split(".")[1] in {"logic", "automata", "specs"}]
    examples = [
        example
        for name in light
        for test in finder.find(importlib.import_module(name))
        for example in test.examples
    ]
    assert len(examples) >= 10
