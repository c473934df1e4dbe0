"""The loop: ask a planner, check its plan, say what is wrong, ask again; for one problem or many.

A round is one attempt to get a plan, whether it brings an answer or not, so that the number of
rounds bounds the loop also where every call fails or is blocked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from safe_rl.errors import ConfigurationError, PlannerRefusedError, StoppedError
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.refinement.calls import Caller, Pace, Reply
from safe_rl.feedback.refinement.planners import Planner
from safe_rl.feedback.refinement.rounds import (
    NO_ANSWER,
    OnRound,
    PlannerPerRound,
    Problem,
    Round,
    StopReason,
    next_messages,
    stop_reason,
)
from safe_rl.feedback.refinement.run_log import RunLog


@dataclass(frozen=True)
class Refinement:
    """What became of one problem.

    Attributes:
        problem, split: which one.
        rounds: all rounds, in order.
    """

    problem: str
    split: str
    rounds: tuple[Round, ...]

    @property
    def stopped(self) -> StopReason:
        """Why no further round was tried."""
        reason = self.rounds[-1].stopped
        assert reason is not None
        return reason

    @property
    def last(self) -> Round:
        """The last round."""
        return self.rounds[-1]

    @property
    def judgement(self) -> Judgement:
        """What the check says of the last round."""
        return self.last.judgement

    @property
    def tokens(self) -> int:
        """Those of all rounds."""
        return sum(one.tokens for one in self.rounds)


def refine_problem(
    planner: Planner | PlannerPerRound,
    problem: Problem,
    *,
    max_rounds: int = 3,
    token_limit: int | None = None,
    caller: Caller | None = None,
    done: Sequence[Round] = (),
    on_round: OnRound = lambda _: None,
) -> Refinement:
    """Refine the plan for one problem.

    Args:
        planner: answers a conversation, or makes such a planner for each round.
        problem: what is asked, and how answers are judged.
        max_rounds: how many rounds at most.
        token_limit: no round begins once so many tokens were used (prompts and answers).
        caller: paces the calls and tries again; default: ``Caller(Pace())``.
        done: rounds of an earlier run, which are not repeated.
        on_round: called with each new round.

    Raises:
        PlannerRefusedError: the endpoint refuses the key, the model or the address. What it
            refuses about one request alone ends this refinement with ``"request refused"``.
        ConfigurationError: an argument is out of range, or ``done`` is of another problem.
    """
    _check_limits(max_rounds, token_limit)
    caller = caller or Caller(Pace())
    opening = list(problem.opening())
    rounds = list(done)
    if rounds and [dict(m) for m in rounds[0].messages] != [dict(m) for m in opening]:
        raise ConfigurationError(
            f"{problem.name}: the log holds rounds of a problem of this name with another prompt; "
            "name another log"
        )
    while not rounds or rounds[-1].stopped is None:
        messages = next_messages(opening, rounds)
        told, refused = False, False
        try:
            reply = caller.call(_for_round(planner, problem, len(rounds) + 1), messages)
        except PlannerRefusedError as error:
            if not error.this_request_only:
                raise
            reply, refused = Reply("", str(error), False, 0, 0, True, 1, 0.0), True
        if reply.fault:
            told = reply.answered
            judgement = Judgement(NO_ANSWER, words=_fault_words(reply.fault) if told else "")
        else:
            judgement = problem.judge(reply.text)
        one = Round(
            problem=problem.name,
            split=problem.split,
            number=len(rounds) + 1,
            messages=tuple(messages),
            answer=reply.text,
            fault=reply.fault,
            told=told,
            judgement=judgement,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            estimated=reply.estimated,
            attempts=reply.attempts,
            seconds=reply.seconds,
            stopped=None,
        )
        reason = stop_reason([*rounds, one], max_rounds=max_rounds, token_limit=token_limit)
        one = replace(one, stopped="request refused" if refused else reason)
        rounds.append(one)
        on_round(one)
    return Refinement(problem.name, problem.split, tuple(rounds))


def refine_problems(
    planner: Planner | PlannerPerRound,
    problems: Iterable[Problem],
    *,
    max_rounds: int = 3,
    token_limit: int | None = None,
    caller: Caller | None = None,
    log: RunLog | None = None,
    on_round: OnRound = lambda _: None,
) -> list[Refinement]:
    """Refine the plans for many problems at once.

    Twice as many problems are under way as there may be requests in flight, so that checks and
    waits before a retry cost no requests. With a ``log``, each round is written when it ends, and
    what the log holds already is not done again.

    Returns:
        One refinement for each problem, in the order of the problems.

    Raises:
        PlannerRefusedError: see :func:`refine_problem`; the others are stopped.
        ConfigurationError: two problems of one name, or an argument is out of range.
    """
    _check_limits(max_rounds, token_limit)
    everything = list(problems)
    twice = [n for n, times in Counter(p.name for p in everything).items() if times > 1]
    if twice:
        raise ConfigurationError(f"two problems are called {twice[0]!r}; names must differ")
    caller = caller or Caller(Pace())

    def end(one: Round) -> None:
        if log is not None:
            log.append(one)
        on_round(one)

    def work(problem: Problem) -> Refinement:
        return refine_problem(
            planner,
            problem,
            max_rounds=max_rounds,
            token_limit=token_limit,
            caller=caller,
            done=() if log is None else log.rounds.get(problem.name, ()),
            on_round=end,
        )

    with ThreadPoolExecutor(max_workers=2 * caller.pace.in_flight) as pool:
        futures = [pool.submit(work, problem) for problem in everything]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            failed = [f.exception() for f in futures if f.done() and not f.cancelled()]
            first = next(
                (e for e in failed if e is not None and not isinstance(e, StoppedError)), None
            )
            if first is not None:
                raise first
            return [future.result() for future in futures]
        except BaseException:
            caller.pace.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            caller.pace.go_on()
            raise


def _for_round(planner: Planner | PlannerPerRound, problem: Problem, number: int) -> Planner:
    return planner.for_round(problem, number) if isinstance(planner, PlannerPerRound) else planner


def _check_limits(max_rounds: int, token_limit: int | None) -> None:
    if max_rounds < 1:
        raise ConfigurationError(f"max_rounds {max_rounds!r} must be at least 1")
    if token_limit is not None and token_limit < 1:
        raise ConfigurationError(f"token_limit {token_limit!r} must be at least 1, or None")


def _fault_words(fault: str) -> str:
    return f"Your last answer could not be used: it was {fault}. Answer with the plan only."
