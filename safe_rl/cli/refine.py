"""``safe-rl refine`` and ``safe-rl plan-eval``: their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from safe_rl.cli.messages import clear_errors


class SplitChoice(StrEnum):
    """The sets of tasks."""

    TRAIN = "train"
    HELD_OUT = "held_out"
    LONGER = "longer"


class ToldChoice(StrEnum):
    """How the rules are told before the first round."""

    WORDS = "words"
    FORMULAS = "formulas"
    BOTH = "both"
    NOTHING = "nothing"


class FormatChoice(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


_Planner = Annotated[
    str,
    typer.Option(
        help="scripted (the task's safe plan), naive (knows the goal only), file:PATH (recorded "
        "answers), or endpoint (a model behind an OpenAI-compatible endpoint)."
    ),
]
_Split = Annotated[list[SplitChoice], typer.Option(help="Set of tasks; repeatable.")]
_Count = Annotated[int, typer.Option(min=1, help="Tasks of each split.")]
_First = Annotated[int, typer.Option(min=0, help="Seed of the first task.")]
_Activity = Annotated[str | None, typer.Option(help="Only this activity; default: all in turn.")]
_Specs = Annotated[
    str | None, typer.Option(help="A file or a shipped set instead of the tasks' own rules.")
]
_Told = Annotated[ToldChoice, typer.Option(help="How the rules are told before the first round.")]
_Runs = Annotated[
    int,
    typer.Option(min=0, help="Sampled runs of each plan; 0: judge as if all goes as intended."),
]
_CTL = Annotated[
    list[str] | None,
    typer.Option("--ctl", help='Formula over all runs, such as "AG !broken(cup)"; repeatable.'),
]
_Log = Annotated[
    Path | None,
    typer.Option(help="JSON lines, one for each round; a run that was killed goes on from it."),
]
_Format = Annotated[FormatChoice, typer.Option("--format", "-f", help="How to print the results.")]
_Model = Annotated[
    str, typer.Option(help="Model of the endpoint.", envvar="OPENAI_MODEL", show_envvar=True)
]
_BaseUrl = Annotated[
    str,
    typer.Option(
        help="Address of the endpoint, such as http://127.0.0.1:8000/v1. The key is read from "
        "OPENAI_API_KEY only.",
        envvar="OPENAI_BASE_URL",
        show_envvar=True,
    ),
]
_Temperature = Annotated[float | None, typer.Option(min=0.0, help="Default: the server's.")]
_MaxTokens = Annotated[int, typer.Option(min=1, help="Tokens of one answer.")]
_Stream = Annotated[bool, typer.Option("--stream", help="Take answers as a stream.")]
_Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds of silence that end a call.")]
_InFlight = Annotated[int, typer.Option(min=1, help="Calls under way at once.")]
_PerSecond = Annotated[float | None, typer.Option(min=0.001, help="Calls begun per second.")]
_Retries = Annotated[int, typer.Option(min=0, help="Further attempts of a call that failed.")]


def refine_command(
    planner: _Planner = "scripted",
    split: _Split = [SplitChoice.TRAIN],  # noqa: B006 - typer reads it, nobody changes it
    count: _Count = 20,
    first: _First = 0,
    activity: _Activity = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds at most.")] = 3,
    token_limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens of one task, prompts and answers.")
    ] = None,
    specs: _Specs = None,
    told: _Told = ToldChoice.WORDS,
    runs: _Runs = 0,
    ctl: _CTL = None,
    log: _Log = None,
    form: _Format = FormatChoice.TABLE,
    model: _Model = "",
    base_url: _BaseUrl = "",
    temperature: _Temperature = None,
    max_tokens: _MaxTokens = 1024,
    stream: _Stream = False,
    timeout: _Timeout = 60.0,
    in_flight: _InFlight = 4,
    per_second: _PerSecond = None,
    retries: _Retries = 5,
) -> None:
    """Let a planner plan household tasks, tell it what went wrong, and score it by round.

    Exit status: 0 done, 2 bad input or a refused key.
    """
    with clear_errors():
        from safe_rl.cli.refining import RefineOptions, refine_tasks

        refine_tasks(
            RefineOptions(
                planner=planner,
                splits=[choice.value for choice in split],
                count=count,
                first=first,
                activity=activity,
                rounds=rounds,
                token_limit=token_limit,
                specs=specs,
                told=told.value,
                runs=runs,
                ctl=tuple(ctl or ()),
                log=log,
                model=model,
                base_url=base_url,
                temperature=temperature,
                max_tokens=max_tokens,
                stream=stream,
                timeout=timeout,
                in_flight=in_flight,
                per_second=per_second,
                retries=retries,
            ),
            form.value,
        )


def plan_eval_command(
    logs: Annotated[
        list[Path] | None,
        typer.Argument(help="Logs of runs, to be compared in one table; no planner is asked."),
    ] = None,
    planner: _Planner = "scripted",
    split: _Split = [SplitChoice.TRAIN],  # noqa: B006
    count: _Count = 20,
    first: _First = 0,
    activity: _Activity = None,
    specs: _Specs = None,
    told: _Told = ToldChoice.WORDS,
    runs: _Runs = 0,
    ctl: _CTL = None,
    log: _Log = None,
    form: _Format = FormatChoice.TABLE,
    model: _Model = "",
    base_url: _BaseUrl = "",
    temperature: _Temperature = None,
    max_tokens: _MaxTokens = 1024,
    stream: _Stream = False,
    timeout: _Timeout = 60.0,
    in_flight: _InFlight = 4,
    per_second: _PerSecond = None,
    retries: _Retries = 5,
) -> None:
    """Score a planner's first plans, without feedback; or the rounds that logs hold.

    Exit status: 0 done, 2 bad input or a refused key.
    """
    if logs:
        with clear_errors():
            from safe_rl.cli.refining import compare_logs

            compare_logs(logs, form.value)
        return
    refine_command(
        planner=planner,
        split=split,
        count=count,
        first=first,
        activity=activity,
        rounds=1,
        specs=specs,
        told=told,
        runs=runs,
        ctl=ctl,
        log=log,
        form=form,
        model=model,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        stream=stream,
        timeout=timeout,
        in_flight=in_flight,
        per_second=per_second,
        retries=retries,
    )
