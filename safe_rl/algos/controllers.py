"""Controllers of constraints: measured constraint values in, Lagrange multipliers out.

A controller knows nothing of policies, rollouts or frameworks. After each batch of finished
episodes it is given the measured values ``J`` (one per constraint) and the limits ``d``, and it
returns multipliers ``lambda >= 0``; the policy then ascends ``J_r - sum_i lambda_i J_i``. A
multiplier is in units of reward per unit of cost, so at convergence of an unnormalised problem it
is the dual variable that a linear-programming solver reports.

All steps are proportional to the violation ``J - d``. An adaptive optimiser such as Adam divides a
scalar's gradient by its own size and so moves the multiplier by a fixed amount whatever the
violation (SafePO issue 69); none is used here.

The state of a controller is plain numbers, so that a checkpoint can carry it in any format.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safe_rl.errors import ConfigurationError, near

__all__ = [
    "PID",
    "Controller",
    "ExactPenalty",
    "LogBarrier",
    "ProjectedGradient",
    "Unconstrained",
    "make_controller",
]

FloatArray = NDArray[np.float64]


def _check_number(
    name: str, value: float, *, lowest: float = 0.0, highest: float = math.inf
) -> float:
    number = float(value)
    if not lowest <= number <= highest:
        raise ConfigurationError(
            f"{name} must be between {lowest:g} and {highest:g}, got {value!r}"
        )
    return number


class Controller(ABC):
    """What every controller shares: the multipliers, their bounds and their state.

    Args:
        initial: first value of every multiplier, or one value per constraint.
        upper: largest value that a multiplier may take.
        warmup: fraction of the training in which the multipliers keep their first value. A policy
            that has not yet learned to act costs little because it does little, and multipliers
            that start above zero would fall for that reason alone.
    """

    kind: ClassVar[str] = ""

    def __init__(
        self,
        initial: float | Sequence[float] = 0.0,
        upper: float = math.inf,
        warmup: float = 0.0,
    ) -> None:
        self.upper = _check_number("upper", upper)
        self.warmup = _check_number("warmup", warmup, highest=1.0)
        values = np.atleast_1d(np.asarray(initial, dtype=np.float64))
        if values.ndim != 1 or not ((values >= 0.0) & (values <= self.upper)).all():
            raise ConfigurationError(
                f"initial must be one number, or one per constraint, between 0 and "
                f"upper={self.upper:g}; got {initial!r}"
            )
        self.initial: float | list[float] = (
            float(values[0]) if np.ndim(initial) == 0 else values.tolist()
        )
        self._multipliers: FloatArray | None = None

    @property
    def multipliers(self) -> FloatArray:
        """The multipliers, ``[num_constraints]``, in reward per unit of cost (a copy)."""
        if self._multipliers is None:
            raise ConfigurationError(
                f"{type(self).__name__} has not been started; call start(num_constraints) first"
            )
        return self._multipliers.copy()

    def start(self, num_constraints: int) -> FloatArray:
        """Begin a run with ``num_constraints`` constraints; return the initial multipliers."""
        values = np.asarray(self.initial, dtype=np.float64)
        if values.ndim == 1 and len(values) != num_constraints:
            raise ConfigurationError(
                f"initial names {len(values)} multipliers {values.tolist()}, but there are "
                f"{num_constraints} constraints; give one number, or one per constraint"
            )
        self._multipliers = np.broadcast_to(values, (num_constraints,)).astype(np.float64)
        self._start(num_constraints)
        return self.multipliers

    def update(self, values: ArrayLike, limits: ArrayLike, *, progress: float = 0.0) -> FloatArray:
        """Take one step and return the new multipliers.

        Args:
            values: measured constraint values ``[num_constraints]``: mean cost of an episode.
            limits: the limit on each, ``[num_constraints]``.
            progress: fraction of the training that is done, 0 to 1, for annealed step sizes.

        Returns:
            The multipliers, ``[num_constraints]``.

        Raises:
            ConfigurationError: wrong shapes, or a value that is not finite (nothing changes then).
        """
        shape = self.multipliers.shape
        measured = np.asarray(values, dtype=np.float64)
        bounds = np.asarray(limits, dtype=np.float64)
        if measured.shape != shape or bounds.shape != shape:
            raise ConfigurationError(
                f"expected {shape[0]} constraint values and limits, got shapes "
                f"{measured.shape} and {bounds.shape}"
            )
        if not (np.isfinite(measured).all() and np.isfinite(bounds).all()):
            raise ConfigurationError(
                f"constraint values and limits must be finite, got {measured.tolist()} and "
                f"{bounds.tolist()}; update only from finished episodes"
            )
        progress = min(max(float(progress), 0.0), 1.0)
        if progress < self.warmup:
            return self.multipliers
        self._multipliers = np.clip(self._step(measured, bounds, progress), 0.0, self.upper)
        return self.multipliers

    def config(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **arguments}``; :func:`make_controller` rebuilds it."""
        return {
            "kind": self.kind,
            "initial": self.initial,
            "upper": self.upper,
            "warmup": self.warmup,
        }

    def state_dict(self) -> dict[str, list[float]]:
        """Return the state as lists of plain numbers."""
        return {"multipliers": self.multipliers.tolist()}

    def load_state_dict(self, state: Mapping[str, Sequence[float]]) -> None:
        """Restore what :meth:`state_dict` returned.

        Raises:
            ConfigurationError: the names or lengths differ from this controller's own.
        """
        own = self.state_dict()
        sizes = {name: len(value) for name, value in own.items()}
        given = {name: len(value) for name, value in state.items()}
        if sizes != given:
            raise ConfigurationError(
                f"this state does not fit {type(self).__name__}: expected the entries {sizes}, "
                f"got {given}"
            )
        self._multipliers = np.asarray(state["multipliers"], dtype=np.float64)

    def _start(self, num_constraints: int) -> None:
        """Initialise what a subclass keeps besides the multipliers; nothing by default."""
        del num_constraints

    @abstractmethod
    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        """Return the new multipliers before they are clipped to ``[0, upper]``."""

    def __repr__(self) -> str:
        """Show the arguments, as they would be written."""
        arguments = {key: value for key, value in self.config().items() if key != "kind"}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"


class Unconstrained(Controller):
    """Multipliers that stay zero: costs are measured and logged, and constrain nothing."""

    kind = "unconstrained"

    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        return np.zeros_like(values)


class ProjectedGradient(Controller):
    """Dual ascent, ``lambda <- [lambda + lr (J - d)]`` projected on ``[0, upper]``.

    The step size falls linearly from ``lr`` to ``final_fraction * lr`` over the training, because
    the last iterate of a primal-dual method with constant steps circles the saddle point.

    Source: Altman, "Constrained Markov Decision Processes" (1999), and Tessler et al., "Reward
    Constrained Policy Optimization" (2019), equation 5.

    >>> controller = ProjectedGradient(lr=0.5)
    >>> controller.start(2)
    array([0., 0.])
    >>> controller.update([3.0, 0.5], limits=[1.0, 1.0])   # twice over the limit, twice the step
    array([1., 0.])
    >>> controller.update([2.0, 0.5], limits=[1.0, 1.0])
    array([1.5, 0. ])
    """

    kind = "projected_gradient"

    def __init__(
        self,
        lr: float = 0.05,
        final_fraction: float = 1.0,
        initial: float | Sequence[float] = 0.0,
        upper: float = math.inf,
        warmup: float = 0.0,
    ) -> None:
        super().__init__(initial, upper, warmup)
        self.lr = _check_number("lr", lr)
        self.final_fraction = _check_number("final_fraction", final_fraction, highest=1.0)

    def config(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **arguments}``."""
        return {**super().config(), "lr": self.lr, "final_fraction": self.final_fraction}

    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        lr = self.lr * (1.0 - progress * (1.0 - self.final_fraction))
        return self.multipliers + lr * (values - limits)


class PID(Controller):
    """PID control of the violation: damps the oscillation that pure dual ascent shows.

    With ``delta = J - d`` smoothed by an exponential average of factor ``smoothing``::

        I      <- [I + ki (J - d)]             projected on [0, upper]
        D      <- [J - J_previous]_+           of the smoothed value, ``delay`` updates apart
        lambda <- [kp delta + I + kd D]        projected on [0, upper]

    ``ki = lr, kp = kd = 0`` is :class:`ProjectedGradient`. The proportional term is the gradient of
    a quadratic penalty (augmented Lagrangian), which makes the last iterate itself converge. The
    integral's gain falls linearly to ``final_fraction * ki`` over the training.

    Source: Stooke, Achiam & Abbeel, "Responsive Safety in Reinforcement Learning by PID Lagrangian
    Methods" (2020), algorithm 2.
    """

    kind = "pid"

    def __init__(
        self,
        kp: float = 0.1,
        ki: float = 0.05,
        kd: float = 0.0,
        smoothing: float = 0.9,
        delay: int = 1,
        final_fraction: float = 1.0,
        initial: float | Sequence[float] = 0.0,
        upper: float = math.inf,
        warmup: float = 0.0,
    ) -> None:
        super().__init__(initial, upper, warmup)
        self.kp = _check_number("kp", kp)
        self.ki = _check_number("ki", ki)
        self.kd = _check_number("kd", kd)
        self.smoothing = _check_number("smoothing", smoothing, highest=1.0)
        self.delay = int(_check_number("delay", delay, lowest=1))
        self.final_fraction = _check_number("final_fraction", final_fraction, highest=1.0)

    def config(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **arguments}``."""
        return {
            **super().config(),
            "kp": self.kp,
            "ki": self.ki,
            "kd": self.kd,
            "smoothing": self.smoothing,
            "delay": self.delay,
            "final_fraction": self.final_fraction,
        }

    def _start(self, num_constraints: int) -> None:
        self._integral = self.multipliers
        self._error = np.zeros(num_constraints)
        self._value = np.zeros(num_constraints)
        self._past: list[FloatArray] = []  # smoothed values, oldest first, at most ``delay``
        self._updates = 0

    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        gain = self.ki * (1.0 - progress * (1.0 - self.final_fraction))
        self._integral = np.clip(self._integral + gain * (values - limits), 0.0, self.upper)
        # The first measurement starts the averages: zero would read as a satisfied constraint.
        keep = self.smoothing if self._updates else 0.0
        self._error = keep * self._error + (1.0 - keep) * (values - limits)
        self._value = keep * self._value + (1.0 - keep) * values
        rise = np.zeros_like(values)
        if self._past:
            rise = np.maximum(self._value - self._past[0], 0.0)
        self._past = [*self._past, self._value][-self.delay :]
        self._updates += 1
        return self.kp * self._error + self._integral + self.kd * rise

    def state_dict(self) -> dict[str, list[float]]:
        """Return the state as lists of plain numbers."""
        return {
            **super().state_dict(),
            "integral": self._integral.tolist(),
            "error": self._error.tolist(),
            "value": self._value.tolist(),
            "updates": [float(self._updates)],
            "past": [float(x) for value in self._past for x in value],
        }

    def load_state_dict(self, state: Mapping[str, Sequence[float]]) -> None:
        """Restore what :meth:`state_dict` returned."""
        size = len(self.multipliers)
        past = np.asarray(state.get("past", []), dtype=np.float64)
        if size and len(past) % size:
            raise ConfigurationError(
                f"this state does not fit {self!r} with {size} constraints: 'past' holds "
                f"{len(past)} numbers"
            )
        self._past = list(past.reshape(-1, size)) if size else []
        super().load_state_dict(state)
        self._integral = np.asarray(state["integral"], dtype=np.float64)
        self._error = np.asarray(state["error"], dtype=np.float64)
        self._value = np.asarray(state["value"], dtype=np.float64)
        self._updates = int(state["updates"][0])


class LogBarrier(Controller):
    """Interior-point barrier, ``lambda = 1 / (sharpness (d - J))``, and ``upper`` when violated.

    The gradient of ``log(d - J) / sharpness`` added to the objective. It keeps a feasible policy
    feasible; an infeasible one is driven back with the finite slope ``upper``.

    Source: Liu, Ding & Liu, "IPO: Interior-point Policy Optimization under Constraints" (2020).
    """

    kind = "log_barrier"

    def __init__(
        self,
        sharpness: float = 20.0,
        initial: float | Sequence[float] = 0.0,
        upper: float = 100.0,
        warmup: float = 0.0,
    ) -> None:
        super().__init__(initial, upper, warmup)
        self.sharpness = _check_number("sharpness", sharpness, lowest=1e-12)

    def config(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **arguments}``."""
        return {**super().config(), "sharpness": self.sharpness}

    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        slack = limits - values
        barrier = 1.0 / (self.sharpness * np.where(slack > 0.0, slack, 1.0))
        return np.where(slack > 0.0, barrier, self.upper)


class ExactPenalty(Controller):
    """Exact penalty, ``lambda = kappa`` while the limit is passed, else 0.

    The subgradient of ``kappa [J - d]_+``, which has the constrained optimum as its own for any
    ``kappa`` above the true multiplier.

    Source: Zhang et al., "Penalized Proximal Policy Optimization for Safe RL" (P3O, 2022).
    """

    kind = "exact_penalty"

    def __init__(
        self,
        kappa: float = 20.0,
        initial: float | Sequence[float] = 0.0,
        upper: float = math.inf,
        warmup: float = 0.0,
    ) -> None:
        super().__init__(initial, upper, warmup)
        self.kappa = _check_number("kappa", kappa)

    def config(self) -> dict[str, Any]:
        """Return ``{"kind": ..., **arguments}``."""
        return {**super().config(), "kappa": self.kappa}

    def _step(self, values: FloatArray, limits: FloatArray, progress: float) -> FloatArray:
        return np.where(values > limits, self.kappa, 0.0)


_KINDS: dict[str, type[Controller]] = {
    controller.kind: controller
    for controller in (ProjectedGradient, PID, LogBarrier, ExactPenalty, Unconstrained)
}


def make_controller(kind: str, **arguments: Any) -> Controller:
    """Return a controller by the name that configuration files use.

    >>> make_controller("projected_gradient", lr=0.1)
    ProjectedGradient(initial=0.0, upper=inf, warmup=0.0, lr=0.1, final_fraction=1.0)

    Raises:
        ConfigurationError: there is no such controller, or it has no such argument.
    """
    if kind not in _KINDS:
        raise ConfigurationError(
            f"there is no controller {kind!r}{near(kind, _KINDS)}; choose one of "
            f"{', '.join(_KINDS)}"
        )
    try:
        return _KINDS[kind](**arguments)
    except TypeError as error:
        known = [name for name in _KINDS[kind]().config() if name != "kind"]
        raise ConfigurationError(
            f"controller {kind!r} cannot take {arguments}: {error}; its arguments are "
            f"{', '.join(known)}"
        ) from error
