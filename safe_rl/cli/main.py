"""The ``safe-rl`` command line.

Commands import what they need when they run, so that ``safe-rl --help`` stays quick and the core
commands work without torch or a simulator.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from safe_rl import __version__
from safe_rl.cli.collecting import (
    collect_command,
    coverage_command,
    grasps_command,
    teleoperate_command,
)
from safe_rl.cli.compare import compare_command
from safe_rl.cli.messages import clear_errors
from safe_rl.cli.model_checking import model_check_command
from safe_rl.cli.ontology import ontology_app
from safe_rl.cli.options import RecordedObjects, Select, Simulator
from safe_rl.cli.planner import planner_data_command
from safe_rl.cli.programs import PASS_THROUGH, run_program
from safe_rl.cli.refine import plan_eval_command, refine_command
from safe_rl.cli.relabelling import relabel_command
from safe_rl.cli.serve import serve_command

app = typer.Typer(
    name="safe-rl",
    help="Temporal-logic safety specifications that train, check and score policies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
specs_app = typer.Typer(no_args_is_help=True, help="Look at the specifications that are shipped.")
app.add_typer(specs_app, name="specs")
app.add_typer(ontology_app, name="ontology")


class ExportFormat(StrEnum):
    """How ``safe-rl compile`` writes an automaton."""

    TABLE = "table"
    DOT = "dot"
    HOA = "hoa"
    JSON = "json"


class SemanticsChoice(StrEnum):
    """How a formula is read over finite traces."""

    FINITE = "finite"
    BAD_PREFIX = "bad_prefix"


class ReplayChoice(StrEnum):
    """How a simulator shows a recorded demonstration to the grounding."""

    STEPS = "steps"
    STATES = "states"
    ACTIONS = "actions"


class CostChoice(StrEnum):
    """What an episode limit counts."""

    VIOLATION = "violation"
    EXPOSURE = "exposure"


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"safe-rl {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Temporal-logic safety specifications that train, check and score policies."""


@app.command("compile")
def compile_command(
    formula: Annotated[str, typer.Argument(help='An LTLf formula, such as "G(a -> X b)".')],
    form: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="How to write the automaton.")
    ] = ExportFormat.TABLE,
    semantics: Annotated[
        SemanticsChoice,
        typer.Option(help="bad_prefix reads U as W and reports only finite bad prefixes."),
    ] = SemanticsChoice.FINITE,
    max_states: Annotated[int, typer.Option(min=1, help="Give up beyond this many states.")] = 5000,
    time_limit: Annotated[float, typer.Option(min=0.0, help="Give up after these seconds.")] = 60.0,
) -> None:
    """Compile a formula to its minimal automaton and show it."""
    from safe_rl.cli.compiling import show_automaton

    with clear_errors():
        show_automaton(formula, form.value, semantics.value, max_states, time_limit)


@app.command("check")
def check_command(
    specs: Annotated[
        str, typer.Argument(help="A file of specifications, or the name of a shipped set.")
    ],
    trace: Annotated[
        Path, typer.Argument(help="JSON lines: one object of name: true/false per step.")
    ],
    truncated: Annotated[
        bool,
        typer.Option(
            "--truncated",
            help="The trace was cut off: what is still open is pending, not violated.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    explained: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say of each violation what decided it, and how to avoid it."
        ),
    ] = False,
    objects: Annotated[
        list[str] | None,
        typer.Option(
            "--objects",
            metavar="PROPERTY=NAME,NAME",
            help="Objects that carry a property, for specifications with forall; repeatable.",
        ),
    ] = None,
    infer_objects: Annotated[
        bool,
        typer.Option(
            "--infer-objects", help="Take the objects from names such as grasped(mug_1) in TRACE."
        ),
    ] = False,
) -> None:
    """Check a recorded trace. Exit status: 0 no violation, 1 violated, 2 bad input."""
    from safe_rl.cli.checking import check

    with clear_errors():
        violated = check(
            specs,
            trace,
            truncated=truncated,
            as_json=as_json,
            explained=explained,
            objects=objects or [],
            infer_objects=infer_objects,
        )
    raise typer.Exit(1 if violated else 0)


@specs_app.command("list")
def specs_list() -> None:
    """List the sets of specifications that are shipped."""
    from safe_rl.cli.showing import list_sets

    with clear_errors():
        list_sets()


@specs_app.command("show")
def specs_show(
    name: Annotated[str, typer.Argument(help="A shipped set, or a file of specifications.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show each specification of a set: formula, trigger, recovery, limit and words."""
    from safe_rl.cli.showing import show_set

    with clear_errors():
        show_set(name, as_json)


@app.command("train", context_settings=PASS_THROUGH)
def train_command(context: typer.Context) -> None:
    """Train a policy: the same Hydra program as train.py, overrides passed through."""
    run_program("train", context)


@app.command("imitate", context_settings=PASS_THROUGH)
def imitate_command(context: typer.Context) -> None:
    """Learn a policy from graded demonstrations; overrides as Hydra takes them."""
    run_program("imitate", context)


@app.command("eval", context_settings=PASS_THROUGH)
def eval_command(context: typer.Context) -> None:
    """Evaluate a policy: the same Hydra program as eval.py, overrides passed through."""
    run_program("evaluate", context)


@app.command("audit")
def audit_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders: *.episodes.npz, LeRobot datasets, *.hdf5 with simulator states."
        ),
    ],
    specs: Annotated[
        str, typer.Option(help="A file of specifications, or the name of a shipped set.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the tables and the report.")] = Path("audit"),
    select: Select = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: as many as are worth starting.")
    ] = None,
    objects: RecordedObjects = None,
    infer_objects: Annotated[
        bool,
        typer.Option(
            "--infer-objects",
            help="Take the objects from names such as grasped(mug_1) where none are recorded.",
        ),
    ] = False,
    env: Simulator = None,
    replay: Annotated[
        ReplayChoice,
        typer.Option(
            help="Step each action from its recorded state, only show the recorded states, or step "
            "all actions from the first state."
        ),
    ] = ReplayChoice.STEPS,
    cost: Annotated[
        CostChoice, typer.Option(help="What an episode limit counts.")
    ] = CostChoice.VIOLATION,
    reference: Annotated[
        Path | None,
        typer.Option(help="Audit of demonstrations, whose triggered specifications count as due."),
    ] = None,
    timelines: Annotated[
        int, typer.Option(min=0, help="Violated episodes to draw and explain step by step.")
    ] = 3,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap replicates.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
) -> None:
    """Run the monitors over recorded episodes; an interrupted audit resumes.

    Exit status: 0 every file was audited, 3 some were skipped, 2 bad input.
    """
    with clear_errors():
        from safe_rl.cli.audit import AuditOptions, audit

        complete = audit(
            AuditOptions(
                paths=paths,
                specs=specs,
                out=out,
                select=select or (),
                workers=workers,
                objects=objects or (),
                infer=infer_objects,
                env=env or (),
                replay=replay.value,
                cost=cost.value,
                reference=reference,
                timelines=timelines,
                resamples=resamples,
                seed=seed,
            )
        )
    raise typer.Exit(0 if complete else 3)


@app.command("sensitivity")
def sensitivity_command(
    demonstrations: Annotated[
        list[Path] | None,
        typer.Argument(help="*.hdf5 with states; default: scripted episodes are simulated."),
    ] = None,
    env: Simulator = None,
    specs: Annotated[
        str | None, typer.Option(help="A file or a shipped set; default: the environment's.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the tables and figures.")] = Path(
        "sensitivity"
    ),
    select: Select = None,
    episodes: Annotated[int, typer.Option(min=1, help="How many are simulated.")] = 64,
    constant: Annotated[
        list[str] | None, typer.Option(help="Only this constant; repeatable.")
    ] = None,
    factor: Annotated[
        list[float] | None, typer.Option(help="A multiple of the default to try; repeatable.")
    ] = None,
    noise: Annotated[
        float, typer.Option(min=0.0, help="On the tabletop's scripted actions.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Of layouts and noise.")] = 0,
) -> None:
    """Move each constant of the grounding around its default; report how many verdicts change.

    Without --env the scene frames are of env=tabletop/place.
    """
    with clear_errors():
        from safe_rl.cli.sensitivity import sensitivity

        sensitivity(
            demonstrations or (),
            env or ("env=tabletop/place",),
            specs,
            out,
            select=select or (),
            episodes=episodes,
            constants=constant or (),
            factors=factor or (),
            noise=noise,
            seed=seed,
        )


app.command("collect", context_settings=PASS_THROUGH)(collect_command)
app.command("coverage")(coverage_command)
app.command("grasps")(grasps_command)
app.command("teleoperate")(teleoperate_command)
app.command("relabel")(relabel_command)
app.command("refine")(refine_command)
app.command("plan-eval")(plan_eval_command)
app.command("planner-data")(planner_data_command)
app.command("serve")(serve_command)
app.command("compare")(compare_command)


app.command("model-check")(model_check_command)


@app.command("curves")
def curves_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    output: Annotated[Path, typer.Option(help="The picture to write.")] = Path(
        "learning_curves.png"
    ),
) -> None:
    """Draw the learning curves of runs; those that differ only in seed become one mean."""
    with clear_errors():
        from safe_rl.cli.curves import draw_curves

        typer.echo(f"wrote {draw_curves(runs, output)}")


@app.command("film")
def film_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or checkpoints.")],
    output: Annotated[Path, typer.Option(help="The GIF to write.")] = Path("film.gif"),
    seed: Annotated[int, typer.Option(min=0, help="Of the episode.")] = 0,
    every: Annotated[int, typer.Option(min=1, help="Steps between two frames.")] = 2,
    fps: Annotated[float, typer.Option(min=1.0, max=50.0, help="Frames per second.")] = 10.0,
) -> None:
    """Film one episode of each run, side by side; steps in violation are marked."""
    with clear_errors():
        from safe_rl.cli.film import film

        typer.echo(f"wrote {film(runs, output, seed=seed, every=every, fps=fps)}")


@app.command("demo")
def demo_command(
    output: Annotated[
        Path, typer.Option(help="Folder of the runs, the report and the figures.")
    ] = Path("outputs/demo"),
    seed: Annotated[int, typer.Option(min=0, help="Of everything.")] = 0,
    timesteps: Annotated[
        int | None, typer.Option(min=1, help="Environment steps per policy.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=2, help="Sampled episodes per policy.")] = 4000,
) -> None:
    """Train with and without limits, score beside the exact optimum, film an episode (minutes)."""
    with clear_errors():
        from safe_rl.cli.demo import run_demo

        run_demo(output, seed=seed, timesteps=timesteps, episodes=episodes)


def main() -> None:
    """Run the command line (the ``safe-rl`` script)."""
    app()
