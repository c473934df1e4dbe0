"""A checker for a user's specifications and grounding, in the manner of SB3's ``check_env``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from safe_rl.automata import compile_ltlf
from safe_rl.errors import ConfigurationError, GroundingError, near
from safe_rl.logic import Formula, Op
from safe_rl.monitors import Monitor
from safe_rl.specs import Instance, Objects, Specs, SpecSet
from safe_rl.wrappers.binding import bound_specs
from safe_rl.wrappers.check_report import (
    InstanceSummary,
    Problem,
    PropositionSummary,
    Report,
    Severity,
)
from safe_rl.wrappers.labels import Grounding, LabelSource
from safe_rl.wrappers.product import ProductMDP


def check_grounding(
    env: gym.Env[Any, Any],
    specs: Specs | None = None,
    *,
    grounding: Grounding | None = None,
    objects: Objects | None = None,
    steps: int = 1000,
    seed: int = 0,
    strict: bool = False,
    verbose: bool = True,
) -> Report:
    """Play random actions and look for mistakes in specifications and grounding.

    Args:
        env: The environment; a :class:`ProductMDP` brings its specifications and its grounding.
        specs: As for :class:`ProductMDP`.
        grounding: As for :class:`ProductMDP`.
        objects: As for :class:`ProductMDP`.
        steps: How many steps to play.
        seed: Of the first reset and of the random actions.
        strict: Raise if there is an error.
        verbose: Print the report.

    Raises:
        GroundingError: ``strict``, and the report is not ok.
        ConfigurationError: ``env`` is no single environment, or there are no specifications.
        SpecificationError: the specifications are malformed or not bound to objects.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> report = check_grounding(
        ...     gym.make("CartPole-v1"),
        ...     [Specification("upright", "G !tilted", trigger="true")],
        ...     grounding=lambda env: {"titled": bool(abs(env.unwrapped.state[2]) > 0.1)},
        ...     steps=50,
        ...     verbose=False,
        ... )
        >>> report.ok, report.problems[0].message
        (False, "the grounding does not give 'tilted'; did you mean 'titled'?")
    """
    if not isinstance(env, gym.Env):
        raise ConfigurationError(
            f"check_grounding takes one environment, but got {type(env).__name__}; "
            "check one sub-environment with the grounding of a single environment"
        )
    if steps < 1:
        raise ConfigurationError(f"steps must be at least 1, but is {steps}")
    if isinstance(env, ProductMDP):
        specs = env.specs if specs is None else specs
        grounding = env.grounding if grounding is None else grounding
        env = env.env
    if specs is None:
        raise ConfigurationError("check_grounding needs specs, unless env is a ProductMDP")
    named = env.get_wrapper_attr("objects") if env.has_wrapper_attr("objects") else None
    bound = bound_specs(specs, objects, named)
    run = _Run(env, bound, LabelSource(env, grounding))
    run.play(steps, seed)
    report = run.report()
    if verbose:
        print(report)
    if strict and not report.ok:
        errors = [p.message for p in report.problems if p.severity == "error"]
        raise GroundingError("; ".join(errors))
    return report


class _Run:
    """Collects what random play shows."""

    def __init__(self, env: gym.Env[Any, Any], specs: SpecSet, labels: LabelSource) -> None:
        self._env = env
        self._specs = specs
        self._labels = labels
        self._monitor = Monitor(specs)
        self._problems: dict[tuple[str, str], Problem] = {}
        self._keys: tuple[str, ...] | None = None
        self._true: dict[str, int] = {}
        self._changes: dict[str, int] = {}
        self._last: dict[str, bool] = {}
        self._letters = 0
        self._counts = np.zeros((4, len(specs.instances)), np.int64)
        self._at_reset = np.zeros(len(specs.instances), np.int64)
        self._monitored = True
        self._failed = False
        self._episodes = 0
        self._steps = 0

    def play(self, steps: int, seed: int) -> None:
        """Play random episodes, ``steps`` steps in all, unless the grounding fails."""
        self._env.action_space.seed(seed)
        reset_seed: int | None = seed
        while self._steps < steps and not self._failed:
            _, info = self._env.reset(seed=reset_seed)
            reset_seed = None
            self._labels.start()
            self._episodes += 1
            self._read(info, first=True)
            terminated = truncated = False
            while not (terminated or truncated or self._failed) and self._steps < steps:
                _, _, terminated, truncated, info = self._env.step(self._env.action_space.sample())
                self._steps += 1
                self._read(info, first=False)
            if self._monitored and not self._failed:
                self._monitor.finish(truncated=not terminated)
                for i, counts in enumerate(self._monitor.summary().values()):
                    self._counts[:, i] += (counts.N, counts.V, counts.U, counts.pending)

    def report(self) -> Report:
        """Judge what was collected."""
        for instance in self._specs.instances:
            self._judge_formulas(instance)
        if not self._failed:
            self._judge_propositions()
        if self._monitored and not self._failed:
            self._judge_counts()
        rank = {"error": 0, "warning": 1, "note": 2}
        rows: tuple[InstanceSummary, ...] = ()
        if self._monitored:
            columns = [*self._counts.tolist(), self._at_reset.tolist()]
            rows = tuple(
                InstanceSummary(instance.id, *numbers)
                for instance, *numbers in zip(self._specs.instances, *columns, strict=True)
            )
        return Report(
            problems=tuple(sorted(self._problems.values(), key=lambda p: rank[p.severity])),
            propositions=tuple(
                PropositionSummary(name, true, self._letters, self._changes[name])
                for name, true in self._true.items()
            ),
            instances=rows,
            episodes=self._episodes,
            steps=self._steps,
        )

    def _add(self, severity: Severity, kind: str, subject: str, message: str) -> None:
        self._problems.setdefault((kind, subject), Problem(severity, kind, subject, message))

    def _read(self, info: Mapping[str, Any], first: bool) -> None:
        try:
            letter = self._labels.read(info)
        except GroundingError as error:
            self._failed = True
            where = "at a reset" if first else f"at step {self._steps}"
            self._add("error", "grounding_failed", self._labels.described, f"{where}, {error}")
            return
        self._letters += 1
        self._check_keys(letter, first)
        for name in self._specs.propositions:
            if name not in letter:
                self._monitored = False
                self._add(
                    "error",
                    "missing_proposition",
                    name,
                    f"the grounding does not give {name!r}{near(name, letter)}",
                )
        for name, value in letter.items():
            self._check_value(name, value, first)
        if self._monitored:
            events = self._monitor.reset(letter) if first else self._monitor.step(letter)
            if first:
                self._at_reset += events.violated

    def _check_keys(self, letter: Mapping[str, Any], first: bool) -> None:
        keys = tuple(sorted(letter))
        if self._keys is None:
            self._keys = keys
        elif keys != self._keys:
            for name in sorted(set(keys) ^ set(self._keys)):
                was = "appears" if name in keys else "disappears"
                where = (
                    f"at the reset of episode {self._episodes}"
                    if first
                    else (f"at step {self._steps}")
                )
                self._add(
                    "error",
                    "keys_change",
                    name,
                    f"{name!r} {was} {where}; a grounding must give the same propositions always",
                )

    def _check_value(self, name: str, value: Any, first: bool) -> None:
        if not isinstance(value, bool):
            if isinstance(value, int | np.integer) and value in (0, 1):
                value = bool(value)
            else:
                if name in self._specs.propositions:
                    self._monitored = False
                    self._add(
                        "error",
                        "not_boolean",
                        name,
                        f"{name!r} must be true or false, but is {value!r} "
                        f"({type(value).__name__}); compare it with a threshold, or call bool()",
                    )
                return
        self._true[name] = self._true.get(name, 0) + value
        changed = not first and name in self._last and self._last[name] != value
        self._changes[name] = self._changes.get(name, 0) + changed
        self._last[name] = value

    def _judge_formulas(self, instance: Instance) -> None:
        specification = instance.specification
        dfa = compile_ltlf(specification.formula, semantics=specification.semantics)
        if dfa.is_doomed(dfa.initial):
            self._add(
                "error",
                "unsatisfiable",
                instance.id,
                f"no trace satisfies {instance.id!r}: {specification.formula}",
            )
        # A trigger looks back only, so "some step satisfies it" says whether it can ever be true.
        some_step = compile_ltlf(Formula(Op.EVENTUALLY, (specification.trigger,)))
        if some_step.is_doomed(some_step.initial):
            self._add(
                "error",
                "cannot_trigger",
                instance.id,
                f"the trigger of {instance.id!r} can never be true: {specification.trigger}",
            )

    def _judge_propositions(self) -> None:
        used = set(self._specs.propositions)
        for name, true in self._true.items():
            if name in used and true in (0, self._letters):
                self._add(
                    "warning",
                    "never_changes",
                    name,
                    f"{name!r} was {'true' if true else 'false'} in all {self._letters} letters; "
                    "look at its threshold, or play more steps",
                )
        for name in sorted(set(self._keys or ()) - used):
            self._add(
                "note",
                "unused_proposition",
                name,
                f"no specification uses {name!r}{near(name, used - set(self._keys or ()))}",
            )

    def _judge_counts(self) -> None:
        for i, instance in enumerate(self._specs.instances):
            at_reset = int(self._at_reset[i])
            if at_reset == self._episodes:
                self._add(
                    "error",
                    "violated_at_reset",
                    instance.id,
                    f"{instance.id!r} was violated by the first letter of all {at_reset} episodes: "
                    f"{instance.specification.formula}",
                )
            elif at_reset:
                self._add(
                    "warning",
                    "sometimes_violated_at_reset",
                    instance.id,
                    f"{instance.id!r} was violated by the first letter of {at_reset} of "
                    f"{self._episodes} episodes; mark it initial to draw such resets again",
                )
            if self._counts[0, i] + self._counts[3, i] == 0:
                self._add(
                    "warning",
                    "never_triggered",
                    instance.id,
                    f"{instance.id!r} was never triggered while armed: "
                    f"{instance.specification.trigger}; "
                    "what never triggers passes nothing and has no V/N",
                )
