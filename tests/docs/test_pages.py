"""Every code block of the README and of the documentation runs, and prints what the page shows."""

from pathlib import Path

import pytest

from tests.docs.markdown_blocks import (
    BlockError,
    matches,
    offer_root,
    read_blocks,
    run_page,
    updated_page,
)

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages whose blocks train or simulate.
SLOW = {
    "docs/audit.md",
    "docs/training.md",
    "docs/evaluation.md",
    "docs/robosuite.md",
    "docs/own-environment.md",
    "docs/refinement.md",
}


def _page_parameters() -> list[object]:
    names = [str(page.relative_to(ROOT)) for page in PAGES]
    return [
        pytest.param(
            page,
            id=name,
            marks=[pytest.mark.slow] * (name in SLOW)
            + [pytest.mark.robosuite] * (name == "docs/robosuite.md"),
        )
        for page, name in zip(PAGES, names, strict=True)
    ]


@pytest.mark.parametrize("page", _page_parameters())
def test_page_runs(page: Path, tmp_path: Path) -> None:
    offer_root(tmp_path)
    text = page.read_text()
    ran = run_page(text, tmp_path)
    unmarked = [block for block in read_blocks(text) if not block.not_run and not block.title]
    assert ran >= len(unmarked)


def test_pages_link_to_files_that_exist() -> None:
    import re

    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(("http://", "https://", "mailto:")):
                if not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    # The Python tags of mkdocs.yml mean nothing to a safe loader; this file has none.
    navigation = str(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    missing = [str(page) for page in pages if str(page) not in navigation]
    assert [page for page in missing if not page.startswith("decisions/0")] == []
    listed = (ROOT / "docs/decisions/index.md").read_text()
    assert [name for name in missing if name.removeprefix("decisions/") not in listed] == []


def _page(*blocks: str) -> str:
    return "\n\n".join(block.replace("'''", "```") for block in blocks)


def test_runner_shares_names_and_compares_output(tmp_path: Path) -> None:
    page = _page(
        "'''python\nx = 2\n'''",
        "'''python\nprint(x + 1)\n'''",
        "'''text title=\"Output\"\n3\n'''",
        "'''console\n$ echo a; echo b; echo c\na\n...\nc\n'''",
        "'''json title=\"f.json\"\n[1]\n'''",
        "'''console\n$ cat f.json\n[1]\n'''",
        "<!-- not run: shown only -->\n\n'''bash\nfalse\n'''",
    )
    assert run_page(page, tmp_path) == 5


def test_update_corrects_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    right = "'''console\n$ echo a; echo b\n...\nb\n$ echo quiet\n'''"
    page = _page("'''python\nprint(7)\n'''", "'''text title=\"Output\"\n8\n9\n'''", right)
    assert updated_page(page, tmp_path) == page.replace("8\n9", "7") + "\n"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("'''python\n1 / 0\n'''", "ZeroDivisionError"),
        ("'''python\nprint(1)\n'''\n\n'''text title=\"Output\"\n2\n'''", "but it printed"),
        ("'''console\n$ echo a\nb\n'''", "printed"),
        ("'''console\n$ exit 3\n'''", "exit status 3"),
        ("'''bash\ntrue\n'''", "not run by the tests"),
        ("'''\nplain\n'''", "not run by the tests"),
        ("'''python\n", "never closed"),
    ],
)
def test_runner_fails_where_a_page_is_wrong(block: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BlockError, match=message):
        run_page(_page(block), tmp_path)


def test_ellipsis_stands_for_whole_lines_only() -> None:
    assert matches("a\n...\nd", "a\nb\nc\nd\n")
    assert matches("a\n...\n", "a\n")
    assert not matches("a\n...\nd", "a\nb\n")
    assert not matches("a...", "abc")
