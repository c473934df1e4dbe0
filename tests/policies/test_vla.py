"""The small vision-language-action policy: what it reads, its distribution, that it learns."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.policies.vla import (
    VLA,
    ChunkDistribution,
    Statistics,
    VLAConfig,
    VLAPolicy,
    add_lora,
    merge_lora,
    statistics_of,
    word_numbers,
)

SEES = VLAConfig(3, 2, chunk=4, cameras=("front",), image_size=16, width=16, layers=2, heads=2)
BLIND = VLAConfig(3, 2, chunk=4, width=32, layers=2)


def _observation(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {
        "state": draw.normal(size=(rows, 3)).astype(np.float32),
        "images.front": draw.integers(0, 256, (rows, 16, 16, 3), np.uint8),
    }


def test_the_distribution_is_torchs_normal() -> None:
    torch.manual_seed(0)
    one, other = (ChunkDistribution(torch.randn(5, 4, 2), torch.randn(2)) for _ in range(2))
    normal, another = (torch.distributions.Normal(d.mean, d.log_std.exp()) for d in (one, other))
    actions = torch.randn(5, 4, 2)
    torch.testing.assert_close(one.log_prob(actions), normal.log_prob(actions).sum(-1))
    torch.testing.assert_close(one.entropy(), normal.entropy().sum(-1))
    kl = torch.distributions.kl_divergence(normal, another).sum(-1)
    torch.testing.assert_close(one.kl(other), kl)
    drawn = ChunkDistribution(torch.full((4000, 1, 1), 2.0), torch.tensor([-1.0])).sample()
    assert drawn.mean().item() == pytest.approx(2.0, abs=0.03)
    assert drawn.std().item() == pytest.approx(np.exp(-1.0), abs=0.03)


@pytest.mark.parametrize("config", [SEES, BLIND])
def test_every_input_matters(config: VLAConfig) -> None:
    from dataclasses import replace

    torch.manual_seed(0)
    model = VLA(replace(config, reads_cost=True))
    seen = _observation(1)

    def answer(observation=seen, words="lift the cup", cost=0.0):
        return model(model.inputs(observation, [words], [cost])).detach()

    base = answer()
    assert base.shape == (1, 4, 2)
    moved = {**seen, "state": seen["state"] + 0.1}
    assert not torch.equal(base, answer(moved))
    assert not torch.equal(base, answer(words="lift the glass"))
    assert not torch.equal(base, answer(cost=1.0))
    image = {**seen, "images.front": 255 - seen["images.front"]}
    assert torch.equal(base, answer(image)) == config.state_only


def test_padding_is_not_read() -> None:
    torch.manual_seed(0)
    model = VLA(SEES).eval()
    seen = _observation(2)
    together = model(model.inputs(seen, ["lift", "lift the red cup over there"])).detach()
    alone = model(model.inputs({k: v[:1] for k, v in seen.items()}, ["lift"])).detach()
    torch.testing.assert_close(together[:1], alone, atol=1e-5, rtol=1e-4)


def test_statistics_set_the_units() -> None:
    draw = np.random.default_rng(1)
    states, actions = draw.normal(5.0, 3.0, (200, 3)), draw.normal(-2.0, 0.1, (200, 2))
    found = statistics_of([states[:50], states[50:]], [actions[:20], actions[20:]])
    np.testing.assert_allclose(found.state_mean, states.mean(0), rtol=1e-5)
    np.testing.assert_allclose(found.action_std, actions.std(0), rtol=1e-4)
    torch.manual_seed(0)
    plain, scaled = VLA(BLIND), VLA(BLIND, found)
    scaled.load_state_dict({**plain.state_dict(), **{
        name: torch.tensor(value) for name, value in found._asdict().items()
    }})  # fmt: skip
    seen = {"state": states[:4].astype(np.float32)}
    normal = {"state": ((seen["state"] - found.state_mean) / found.state_std)}
    words = [""] * 4
    one = scaled.distribution(scaled.inputs(seen, words))
    other = plain.distribution(plain.inputs(normal, words))
    torch.testing.assert_close(
        one.mean, other.mean * torch.tensor(found.action_std) + torch.tensor(found.action_mean)
    )
    torch.testing.assert_close(one.log_std, other.log_std + torch.tensor(found.action_std).log())


@pytest.mark.parametrize("config", [SEES, BLIND])
def test_it_learns_to_tell_instructions_apart(config: VLAConfig) -> None:
    torch.manual_seed(0)
    model = VLA(config)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    wanted = torch.tensor([-1.0, 1.0]).repeat(8)[:, None, None].expand(16, 4, 2)
    losses = []
    for step in range(60):
        inputs = model.inputs(_observation(16, seed=step), ["go left", "go right"] * 8)
        loss = -model.distribution(inputs).log_prob(wanted).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1.0
    fresh = model(model.inputs(_observation(2, seed=9), ["go left", "go right"])).detach()
    assert (fresh[0] < -0.5).all() and (fresh[1] > 0.5).all()


def test_a_rows_answer_depends_on_its_seed_and_on_no_other_row() -> None:
    torch.manual_seed(0)
    seen = _observation(3)
    together, alone = VLAPolicy(VLA(SEES)), None
    alone = VLAPolicy(together.model)
    together.reset([0, 1, 2], [7, 8, 7])
    alone.reset([1], [8])
    first = together.act(seen, ["go"] * 3, [0, 1, 2])
    second = together.act(seen, ["go"] * 3, [0, 1, 2])
    mine = {name: value[1:2] for name, value in seen.items()}
    assert np.array_equal(first[1:2], alone.act(mine, ["go"], [1]))
    assert np.array_equal(second[1:2], alone.act(mine, ["go"], [1]))
    assert not np.array_equal(first, second)
    together.reset([2], [7])
    again = together.act({k: v[2:] for k, v in seen.items()}, ["go"], [2])
    assert np.array_equal(first[2:], again)
    steady = VLAPolicy(together.model, deterministic=True)
    steady.reset([0], [1])
    one = {name: value[:1] for name, value in seen.items()}
    mean = together.model(together.model.inputs(one, ["go"])).detach().numpy()
    assert np.array_equal(steady.act(one, ["go"], [0]), mean)


def test_a_row_must_be_reset_first() -> None:
    with pytest.raises(ResetNeededError, match="row 4"):
        VLAPolicy(VLA(BLIND)).act(_observation(1), ["go"], [4])


def test_lora_trains_the_added_matrices_and_merges_to_the_same_answers() -> None:
    pytest.importorskip("peft")
    torch.manual_seed(0)
    model = VLA(SEES).eval()
    frozen = model.blocks[0].query.weight.detach().clone()
    inputs = model.inputs(_observation(4), ["go"] * 4)
    before = model(inputs).detach()
    add_lora(model, rank=2)
    torch.testing.assert_close(model(inputs).detach(), before)
    trained = [p for p in model.parameters() if p.requires_grad]
    assert 0 < sum(p.numel() for p in trained) < 0.5 * sum(p.numel() for p in model.parameters())
    optimiser = torch.optim.Adam(trained, 1e-2)
    for _ in range(5):
        loss = model(inputs).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    after = model(inputs).detach()
    assert (after - before).abs().max() > 1e-3
    assert torch.equal(model.blocks[0].query.get_base_layer().weight, frozen)
    merge_lora(model)
    assert set(model.state_dict()) == set(VLA(SEES).state_dict())
    torch.testing.assert_close(model(inputs).detach(), after, atol=1e-5, rtol=1e-4)
    with pytest.raises(ConfigurationError, match="perceptron"):
        add_lora(VLA(BLIND))


def test_words_are_read_in_any_case_and_signs_too() -> None:
    numbers = word_numbers(["Lift THE cup", "lift the cup", "G !dropped(cup)"], 8, 512)
    assert np.array_equal(numbers[0], numbers[1])
    assert (numbers[2] > 0).sum() == 6  # G ! dropped ( cup )
    assert numbers[2, 4] == numbers[0, 2]


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ({"state": np.zeros((1, 3))}, "looks at 'images.front'"),
        (
            {**_observation(1), "state": np.zeros((1, 4))},
            r"\[1, 3\], but is given float64 \[1, 4\]",
        ),
        ({**_observation(1), "images.front": np.zeros((1, 16, 16, 3))}, r"uint8 \[1, 16, 16, 3\]"),
    ],
)
def test_what_it_looks_at_must_be_there(observation, words: str) -> None:
    model = VLA(SEES)
    with pytest.raises(ConfigurationError, match=words):
        model.inputs(observation, ["go"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heads": 3}, "multiple of heads"),
        ({"image_size": 24}, "multiple of 16"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"cameras": (), "reads_state": False}, "must see something"),
    ],
)
def test_sizes_that_do_not_fit(change, words: str) -> None:
    from dataclasses import replace

    with pytest.raises(ConfigurationError, match=words):
        replace(SEES, **change)


def test_statistics_of_other_sizes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="action_mean"):
        VLA(BLIND, Statistics.neutral(3, 5))
