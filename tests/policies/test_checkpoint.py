"""A policy on disk: read back as it was, never half, nothing executed."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safe_rl.errors import CheckpointError
from safe_rl.policies.vla import VLA, Statistics, VLAConfig, add_lora, load_vla, save_vla

CONFIG = VLAConfig(3, 2, cameras=("front",), image_size=16, width=8, layers=1, heads=2)
STATISTICS = Statistics(*(np.full(n, v, np.float32) for n, v in ((3, 1), (3, 2), (2, 3), (2, 4))))


def _answer(model: VLA) -> torch.Tensor:
    draw = np.random.default_rng(0)
    seen = {
        "state": draw.normal(size=(2, 3)),
        "images.front": draw.integers(0, 256, (2, 16, 16, 3), np.uint8),
    }
    return model(model.inputs(seen, ["go", "stay"])).detach()


def test_what_was_saved_is_read_back_with_its_statistics(tmp_path) -> None:
    model = VLA(CONFIG, STATISTICS)
    folder = save_vla(model, tmp_path / "policy", {"prompt": "words", "steps": 3})
    loaded, info = load_vla(folder)
    assert loaded.config == CONFIG
    assert info == {"prompt": "words", "steps": 3}
    assert torch.equal(_answer(loaded), _answer(model))
    assert torch.equal(loaded.action_std, torch.full((2,), 4.0))


def test_a_policy_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    first, second = VLA(CONFIG), VLA(CONFIG)
    save_vla(first, tmp_path)
    real = os.replace

    def killed(source, target):
        if str(target).endswith("policy.json"):
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        save_vla(second, tmp_path)
    monkeypatch.undo()
    assert torch.equal(_answer(load_vla(tmp_path).model), _answer(first))
    save_vla(second, tmp_path)
    assert torch.equal(_answer(load_vla(tmp_path).model), _answer(second))
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


def test_adapters_are_merged_in_what_is_written_and_stay_in_what_is_trained(tmp_path) -> None:
    pytest.importorskip("peft")
    model = add_lora(VLA(CONFIG), rank=1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.1)
    loaded = load_vla(save_vla(model, tmp_path)).model
    torch.testing.assert_close(_answer(loaded), _answer(model))
    assert any(".lora_" in name for name, _ in model.named_parameters())


def _weights(folder):
    return next(folder.glob("*.safetensors"))


def _edit(folder, **changes):
    path = folder / "policy.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "policy.json").unlink(), "no such file"),
        (lambda f: (f / "policy.json").write_text("{"), "not a policy"),
        (lambda f: _edit(f, format=2), "format 2"),
        (lambda f: _edit(f, weights="../../elsewhere"), "not a policy"),
        (lambda f: _edit(f, config={"state_size": 3, "action_size": True}), "action_size"),
        (lambda f: _edit(f, config={**CONFIG.to_json(), "width": 16}), "damaged"),
        (lambda f: _weights(f).unlink(), "damaged"),
        (lambda f: _weights(f).write_bytes(_weights(f).read_bytes()[:-4]), "not what was written"),
    ],
)
def test_damage_is_one_clear_error(tmp_path, damage, words: str) -> None:
    save_vla(VLA(CONFIG), tmp_path)
    damage(tmp_path)
    with pytest.raises(CheckpointError, match=words):
        load_vla(tmp_path)


def test_what_is_kept_beside_it_must_be_plain(tmp_path) -> None:
    with pytest.raises(CheckpointError, match="plain data"):
        save_vla(VLA(CONFIG), tmp_path, {"bad": object()})
    assert not (tmp_path / "policy.json").exists()
