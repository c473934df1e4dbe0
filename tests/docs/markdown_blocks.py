"""Runs the code blocks of a Markdown page, the way a reader would: top to bottom, in one folder.

What a fence's info string means here:

- ``python``: executed; all blocks of a page share one namespace.
- ``text title="Output"``: what the block before it printed, compared line by line.
- ``console``: each line that starts with ``$ `` is run by bash, the lines below it are its output.
- any language with ``title="NAME"``: a file of that name, written for the blocks that follow.

A line ``...`` in an expected output stands for any number of lines. Everything else must be
preceded by ``<!-- not run: REASON -->``; a block that is neither runnable nor marked is an error,
so that nothing is skipped in silence.

To draw the committed pictures again, or to bring shown outputs up to date (look at the diff)::

    python -m tests.docs.markdown_blocks run docs/semantics.md docs/images
    python -m tests.docs.markdown_blocks update docs/evaluation.md
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, title, text, and the line of its fence."""

    language: str
    title: str
    text: str
    line: int
    not_run: str


@dataclass(frozen=True)
class Outcome:
    """What a command, or the code before an output block, printed beside what the page shows."""

    block: Block
    command: str
    shown: str
    printed: str

    @property
    def agrees(self) -> bool:
        """Whether the page is right; a command without shown output may print anything."""
        if self.command and not self.shown.strip():
            return True
        return matches(self.shown, self.printed)


class BlockError(AssertionError):
    """A block failed, printed something else, or is not runnable and not marked."""


def read_blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    blocks: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if not opening:
            at += 1
            continue
        indent, info = len(opening["indent"]), opening["info"].strip()
        start = at
        at += 1
        body: list[str] = []
        while at < len(lines) and lines[at].strip() != "```":
            body.append(lines[at][indent:])
            at += 1
        if at == len(lines):
            raise BlockError(f"line {start + 1}: the block is never closed")
        at += 1
        above = next((line for line in reversed(lines[:start]) if line.strip()), "")
        marked = NOT_RUN.search(above)
        title = re.search(r'title="([^"]*)"', info)
        blocks.append(
            Block(
                language=info.split()[0] if info else "",
                title=title[1] if title else "",
                text="\n".join(body),
                line=start + 1,
                not_run=marked["reason"] if marked else "",
            )
        )
    return blocks


def matches(expected: str, printed: str) -> bool:
    """Whether the output is what the page shows; a line ``...`` stands for any lines."""
    patterns = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in expected.strip("\n").splitlines()
    ]
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return re.fullmatch("".join(patterns), "".join(line + "\n" for line in lines)) is not None


def _commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
        elif line.strip():
            raise BlockError(f"line {block.line}: a console block starts with '$ '")
    return found


def outcomes(text: str, folder: Path) -> Iterator[Outcome | Block]:
    """Run the blocks of a page inside ``folder``, yielding what there is to compare.

    A code block that ran is yielded itself.

    Raises:
        BlockError: A block failed, or is neither runnable nor marked; the message gives its line.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in read_blocks(text):
        where = f"line {block.line}"
        if block.not_run:
            continue
        if block.language == "python" and not block.title:
            output = io.StringIO()
            try:
                with contextlib.redirect_stdout(output), contextlib.chdir(folder):
                    code = compile("\n" * block.line + block.text, "<page>", "exec")
                    exec(code, namespace)
            except Exception as error:
                raise BlockError(f"{where}: {type(error).__name__}: {error}") from error
            printed = output.getvalue()
            yield block
        elif block.title == "Output":
            yield Outcome(block, "", block.text, printed)
        elif block.language == "console":
            for command, shown in _commands(block):
                yield Outcome(block, command, shown, _run_command(command, folder, where))
        elif block.title:
            (folder / block.title).write_text(block.text + "\n")
        else:
            raise BlockError(
                f"{where}: a {block.language or 'plain'} block is not run by the tests; "
                "make it runnable, or write <!-- not run: REASON --> above it"
            )


def run_page(text: str, folder: Path) -> int:
    """Run every block of a page inside ``folder``; return how many ran or were compared.

    Raises:
        BlockError: A block failed or printed something else; the message gives its line.
    """
    ran = set()
    for outcome in outcomes(text, folder):
        if isinstance(outcome, Outcome) and not outcome.agrees:
            raise BlockError(
                f"line {outcome.block.line}: {outcome.command}\nthe page shows\n{outcome.shown}\n"
                f"but it printed\n{outcome.printed}"
            )
        ran.add(outcome.block if isinstance(outcome, Outcome) else outcome)
    return len(ran)


def updated_page(text: str, folder: Path) -> str:
    """Return the page with each output that is not what was printed replaced by it."""
    bodies: dict[Block, list[str]] = {}
    for outcome in outcomes(text, folder):
        if isinstance(outcome, Outcome):
            body = bodies.setdefault(outcome.block, [])
            if outcome.command:
                body += f"$ {outcome.command}".splitlines()
            kept = outcome.shown if outcome.agrees else outcome.printed
            body += [line.rstrip() for line in kept.strip("\n").splitlines()]
    lines = text.splitlines()
    for block, body in reversed(bodies.items()):
        indent = " " * (len(lines[block.line - 1]) - len(lines[block.line - 1].lstrip()))
        count = lines[block.line :].index(indent + "```")
        lines[block.line : block.line + count] = [indent + line for line in body]
    return "\n".join(lines) + "\n"


def _run_command(command: str, folder: Path, where: str) -> str:
    """What the command prints (both streams); a failure is an error.

    ``safe-rl check`` answers with 1 for a trace that violates, which pages show on purpose.
    """
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    allowed = {0, 1} if command.startswith("safe-rl check") else {0}
    if run.returncode not in allowed:
        raise BlockError(f"{where}: $ {command}\nexit status {run.returncode}\n{run.stdout}")
    return run.stdout


def offer_root(folder: Path) -> None:
    """Put into ``folder`` what a clone's root offers to commands."""
    for name in ("train.py", "eval.py"):
        (folder / name).symlink_to(ROOT / name)


if __name__ == "__main__":
    what, page = sys.argv[1], Path(sys.argv[2])
    if what == "run":
        print(f"{run_page(page.read_text(), Path(sys.argv[3]).resolve())} blocks ran")
    else:
        with tempfile.TemporaryDirectory() as name:
            offer_root(Path(name))
            page.write_text(updated_page(page.read_text(), Path(name)))
