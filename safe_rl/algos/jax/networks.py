"""Actor, critic and cost critic: multilayer perceptrons as flax modules, and their parameters.

The three have trunks of their own. Putting their layers into one batched matrix product was tried
and is slower on a CPU: the batched product is not as well blocked as three plain ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from safe_rl.algos.jax.distributions import Categorical, DiagonalGaussian, Distribution
from safe_rl.errors import ConfigurationError

__all__ = ["Networks", "Parameters"]

Parameters = dict[str, Any]
"""Groups ``"actor"``, ``"critic"`` and (with constraints) ``"cost_critic"``: nested arrays."""


class Perceptron(nn.Module):
    """Layers with tanh between them.

    Attributes:
        widths: of the hidden layers.
        outputs: of the last layer, which has no tanh.
    """

    widths: Sequence[int]
    outputs: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return ``[..., outputs]`` for ``x`` ``[..., inputs]``."""
        for width in self.widths:
            x = nn.tanh(nn.Dense(width)(x))
        return nn.Dense(self.outputs)(x)


class Trunk(nn.Module):
    """The hidden layers alone, where a critic's trunk serves the cost heads too."""

    widths: Sequence[int]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the last hidden layer ``[..., widths[-1]]``."""
        for width in self.widths:
            x = nn.tanh(nn.Dense(width)(x))
        return x


@dataclass(frozen=True)
class Networks:
    """The functions of a policy and its critics; parameters are given to each call.

    Attributes:
        observation_size: length ``D`` of an observation.
        action_space: Discrete, or Box of one axis.
        num_costs: the number of constraints, ``K``.
        net_arch: widths of the hidden layers, the same for each trunk.
        share_cost_trunk: put the cost heads on the critic's hidden layers.
        log_std_init: first logarithm of a Box action's standard deviation.
    """

    observation_size: int
    action_space: spaces.Discrete | spaces.Box
    num_costs: int
    net_arch: tuple[int, ...]
    share_cost_trunk: bool = False
    log_std_init: float = 0.0

    def __post_init__(self) -> None:
        """Check the action space.

        Raises:
            ConfigurationError: it is neither Discrete from 0 nor a Box of one axis.
        """
        space = self.action_space
        fits = (isinstance(space, spaces.Discrete) and int(space.start) == 0) or (
            isinstance(space, spaces.Box) and len(space.shape) == 1
        )
        if not fits:
            raise ConfigurationError(
                f"the learner acts in Discrete spaces that start at 0 and in Box spaces of one "
                f"axis, not in {space}; flatten or shift the actions in the environment, or use "
                f"safe_rl.algos.PPOLagrangian"
            )

    @property
    def discrete(self) -> bool:
        """Whether actions are int32 ``[...]``, not float32 ``[..., A]``."""
        return isinstance(self.action_space, spaces.Discrete)

    @property
    def action_outputs(self) -> int:
        """The number of actions, or of an action's components."""
        if isinstance(self.action_space, spaces.Discrete):
            return int(self.action_space.n)
        return int(self.action_space.shape[0])

    @property
    def _actor(self) -> Perceptron:
        return Perceptron(self.net_arch, self.action_outputs)

    @property
    def _critic(self) -> Perceptron:
        return Perceptron(self.net_arch, 1)

    @property
    def _cost_critic(self) -> Perceptron:
        widths = () if self.share_cost_trunk else self.net_arch
        return Perceptron(widths, self.num_costs)

    @property
    def _head(self) -> Perceptron:
        return Perceptron((), 1)

    def init(self, seed: int) -> Parameters:
        """Return fresh parameters as numpy arrays: orthogonal matrices with SB3's gains, no biases.

        They are drawn on the host, in the names that the modules give their layers: compiling
        jax's orthogonal initialiser takes longer than a short run.
        """
        rng = np.random.default_rng([seed, 0x696E6974])  # apart from other uses of the same seed

        def layers(inputs: int, widths: Sequence[int], outputs: int, gain: float) -> Parameters:
            sizes = [
                *((width, math.sqrt(2.0)) for width in widths),
                *([(outputs, gain)] * bool(outputs)),
            ]
            made: Parameters = {}
            for number, (size, scale) in enumerate(sizes):
                made[f"Dense_{number}"] = {
                    "kernel": (scale * _orthogonal(rng, inputs, size)).astype(np.float32),
                    "bias": np.zeros(size, np.float32),
                }
                inputs = size
            return made

        size, arch = self.observation_size, self.net_arch
        parameters: Parameters = {"actor": {"net": layers(size, arch, self.action_outputs, 0.01)}}
        if not self.discrete:
            parameters["actor"]["log_std"] = np.full(
                self.action_outputs, self.log_std_init, np.float32
            )
        own, width = arch, size
        if self.share_cost_trunk:
            trunk = layers(size, arch, 0, 1.0)
            own, width = (), arch[-1] if arch else size
            parameters["critic"] = {"trunk": trunk, "net": layers(width, (), 1, 1.0)}
        else:
            parameters["critic"] = {"net": layers(size, arch, 1, 1.0)}
        if self.num_costs:
            parameters["cost_critic"] = {"net": layers(width, own, self.num_costs, 1.0)}
        return parameters

    def policy(self, actor: Any, observations: jax.Array) -> Distribution:
        """Return the action distribution; ``actor`` is that group of the parameters.

        ``observations`` are ``[..., D]``, normalised if the policy was trained so.
        """
        outputs = _apply(self._actor, actor["net"], observations)
        if self.discrete:
            return Categorical(outputs)
        return DiagonalGaussian(outputs, actor["log_std"])

    def values(self, parameters: Parameters, observations: jax.Array) -> jax.Array:
        """Return the value of the reward and of each cost, ``[..., 1 + K]``, reward first."""
        critic = parameters["critic"]
        hidden = observations
        if self.share_cost_trunk:
            hidden = _apply(Trunk(self.net_arch), critic["trunk"], observations)
            value = _apply(self._head, critic["net"], hidden)
        else:
            value = _apply(self._critic, critic["net"], observations)
        if not self.num_costs:
            return value
        costs = _apply(self._cost_critic, parameters["cost_critic"]["net"], hidden)
        return jnp.concatenate([value, costs], axis=-1)

    def environment_action(self, actions: jax.Array) -> jax.Array:
        """Return what the environment is given: actions clipped to a Box, others as they are."""
        if isinstance(self.action_space, spaces.Discrete):
            return actions
        return jnp.clip(actions, self.action_space.low, self.action_space.high)


def _apply(module: nn.Module, parameters: Any, x: jax.Array) -> jax.Array:
    outputs: Any = module.apply({"params": parameters}, x)
    found: jax.Array = outputs
    return found


def _orthogonal(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float64]:
    """Return a matrix with orthonormal rows or columns, whichever are fewer, evenly distributed."""
    normal = rng.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(normal)
    q = q * np.sign(np.diag(r))
    found: NDArray[np.float64] = q if rows >= columns else q.T
    return found
