"""Everything that may come of a plan: all its rollouts with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from safe_rl.envs.household.plan import Action, Failure, Run, Trace
from safe_rl.envs.household.task import Task
from safe_rl.errors import ConfigurationError
from safe_rl.model_checking import ComputationTree, MarkovChain, markov_chain, merge_rollouts

MOST: Final = 1 << 14

_Partial = tuple[float, int, Trace, tuple[str, ...]]
"""A rollout under way: probability, state, trace, and what happened."""


class Rollout(NamedTuple):
    """One way in which a plan may go.

    Attributes:
        probability: Its probability; those of a plan sum to 1.
        run: What happened.
    """

    probability: float
    run: Run


def outcome_tree(task: Task, plan: Sequence[Action], most: int = MOST) -> ComputationTree:
    """Return all rollouts of a plan as a computation tree, on which CTL is checked.

    A rollout that ends where an action fails is one that was cut off.

    Raises:
        ConfigurationError: there are more than ``most``, or an action or object is unknown.

    >>> from safe_rl.envs.household import make_task
    >>> from safe_rl.model_checking import check
    >>> task = make_task("train", 0, "pour_drink")
    >>> tree = outcome_tree(task, task.reference)
    >>> tree.num_rollouts, check(tree, "AG(spilled(table) -> AF !spilled(table))").holds
    (2, True)
    """
    found = [rollout.run for rollout in rollouts(task, plan, most)]
    return merge_rollouts(
        [run.trace for run in found],
        _names(task, (letter for run in found for letter in run.trace)),
        truncated=[run.failure is not None for run in found],
    )


def outcome_chain(task: Task, plan: Sequence[Action]) -> MarkovChain:
    """Return what may come of a plan as a Markov chain, on which PCTL is checked exactly.

    A state is a step of the plan and what has come of it so far; the chain ends with the plan, or
    where an action fails. It grows with what can be told apart, not with the number of rollouts.

    Raises:
        ConfigurationError: an action or object is unknown, or nothing can be done at all.

    >>> from safe_rl.envs.household import make_task
    >>> from safe_rl.model_checking import PctlChecker
    >>> task = make_task("train", 0, "pour_drink")
    >>> chain = outcome_chain(task, task.naive)
    >>> round(float(PctlChecker(chain).probabilities("P<=0.1 [F spilled(table)]")[0]), 3)
    0.2
    """
    simulator = task.simulator
    nodes: dict[tuple[int, int, frozenset[str]], int] = {(0, simulator.start, frozenset()): 0}
    edges: dict[tuple[int, int], float] = {}
    letters = [simulator.letter(simulator.start)]
    for (step, state, _), number in (waiting := list(nodes.items())):
        if step == len(plan) or simulator.why_not(state, plan[step]) is not None:
            continue
        for outcome in simulator.outcomes(state, plan[step]):
            node = (step + 1, outcome.state, outcome.events)
            if node not in nodes:
                nodes[node] = len(nodes)
                waiting.append((node, nodes[node]))
                letters.append(simulator.letter(outcome.state, outcome.events))
            edge = (number, nodes[node])
            edges[edge] = edges.get(edge, 0.0) + outcome.probability
    if not edges:
        raise ConfigurationError("the plan has no action that can be done, so nothing comes of it")
    names = _names(task, letters)
    labels = [[name in letter for name in names] for letter in letters]
    return markov_chain(list(edges), list(edges.values()), labels, names)


def _names(task: Task, letters: Iterable[frozenset[str]]) -> list[str]:
    """The propositions of the rules and of the goal, and all that are true somewhere."""
    met = sorted(frozenset().union(*letters))
    return list(dict.fromkeys((*task.specs.propositions, *task.goal.atoms, *met)))


def rollouts(task: Task, plan: Sequence[Action], most: int = MOST) -> list[Rollout]:
    """Return all rollouts of a plan, the intended one first; a rollout ends where an action fails.

    Args:
        task: The task.
        plan: Known actions over its objects.
        most: A bound on the number of rollouts.

    Raises:
        ConfigurationError: there are more than ``most``, or an action or object is unknown.

    >>> from safe_rl.envs.household import make_task
    >>> task = make_task("train", 0, "pour_drink")
    >>> [round(rollout.probability, 3) for rollout in rollouts(task, task.reference)]
    [0.8, 0.2]
    """
    simulator = task.simulator
    first = simulator.letter(simulator.start)
    found: list[Rollout] = []
    pending: list[_Partial] = [(1.0, simulator.start, (first,), ())]
    while pending:  # depth first, the intended outcome on top of the stack
        probability, state, trace, happened = pending.pop()
        step = len(happened)
        if len(found) + len(pending) >= most:
            raise ConfigurationError(
                f"the plan has more than {most} rollouts; sample them with task.run(plan, seed=...)"
            )
        if step == len(plan):
            found.append(Rollout(probability, Run(trace, None, happened)))
            continue
        words = simulator.why_not(state, plan[step])
        if words is not None:
            failure = Failure(step, plan[step], words)
            found.append(Rollout(probability, Run(trace, failure, happened)))
            continue
        for outcome in reversed(simulator.outcomes(state, plan[step])):
            letter = simulator.letter(outcome.state, outcome.events)
            pending.append(
                (
                    probability * outcome.probability,
                    outcome.state,
                    (*trace, letter),
                    (*happened, outcome.name),
                )
            )
    return found
