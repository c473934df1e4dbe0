"""The protocol's scores as tables and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from safe_rl.evaluation.protocol_scores import DIAGNOSTICS, RATES, ProtocolScores, Rate
from safe_rl.evaluation.report import estimate_json

LABELS = {
    "success": "success (TSR)",
    "ssr": "SSR",
    "unsafe_success": "unsafe success",
    "unsuccessful_safe": "Unsucc.&Safe",
    "unsuccessful_unsafe": "unsafe, no success",
    "safe": "Safe",
    "vacuous_safe": "Vacuous-safe",
    "engaged": "Eng.",
    "engaged_safe": "Eng.&Safe",
    "safe_given_engaged": "Safe|Eng.",
    "svr": "SVR",
    "evr": "EVR",
}


def rates_table(scores: ProtocolScores, name: str) -> Table:
    """Return the shares of rollouts: mean over seeds, spread, interval, and every seed."""
    table = Table(
        title=f"{name}: {scores.scenarios} scenarios x {len(scores.seeds)} seeds, in percent",
        title_justify="left",
        caption="Mean over the policy's seeds +- their standard deviation; 95%: bootstrap over "
        "scenarios of all seeds pooled. n/a: no denominator, or the environment does not tell.",
        caption_justify="left",
    )
    table.add_column("")
    table.add_column("mean", justify="right")
    table.add_column("95%", justify="right")
    for seed in scores.seeds:
        table.add_column(f"seed {seed}", justify="right")
    for key, label in LABELS.items():
        rate = scores.rates[key]
        own = [_percent(value) for value in rate.seeds] if rate else ["n/a"] * len(scores.seeds)
        table.add_row(
            label, _mean(rate, 100.0), _interval(rate), *own, style="bold" * (key == "ssr")
        )
    return table


def diagnostics_table(scores: ProtocolScores) -> Table:
    """Return what is reported of each specification."""
    table = Table(title="Each specification, means over seeds", title_justify="left")
    table.add_column("specification", overflow="fold")
    for heading in ("N", "V", "U", "SVR %", "EVR %", "V/N %", "U/N", "exposed %", "steps to V"):
        table.add_column(heading, justify="right")
    for spec, rates in scores.specifications.items():
        if spec == "all":
            table.add_section()
        scale = {"exposure_per_trigger": 1.0, "time": 1.0}
        order = ("svr", "evr", "per_trigger", "exposure_per_trigger", "exposed", "time")
        cells = [_mean(rates[key], scale.get(key, 100.0), spread=False) for key in order]
        table.add_row(spec, *map(str, scores.counts[spec]), *cells)
    return table


def protocol_json(scores: ProtocolScores) -> dict[str, Any]:
    """Return the scores as plain data, unrounded."""
    return {
        "scenarios": scores.scenarios,
        "policy_seeds": list(scores.seeds),
        "rates": _rates_json(scores.rates),
        "specifications": {
            spec: {**dict(zip("NVU", scores.counts[spec], strict=True)), **_rates_json(rates)}
            for spec, rates in scores.specifications.items()
        },
        "meanings": {"rates": dict(RATES), "specifications": dict(DIAGNOSTICS)},
    }


COMPARED = ("success", "ssr", "engaged", "safe_given_engaged", "evr", "V/N")


def comparison_table(reports: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return one row for each report: means over seeds in percent, with their spread.

    Args:
        reports: name to the rates of :func:`protocol_json`, and ``"V/N"`` of all specifications.
    """
    table = Table(title="Means over seeds +- standard deviation, in percent", title_justify="left")
    table.add_column("", overflow="fold")
    for name in COMPARED:
        table.add_column(LABELS.get(name, name), justify="right")
    for report, rates in reports.items():
        cells = []
        for name in COMPARED:
            rate = rates.get(name) or {"mean": None}
            spread = rate.get("deviation")
            text = _percent(rate["mean"])
            cells.append(text if spread is None else f"{text} +- {_percent(spread)}")
        table.add_row(report, *cells)
    return table


def _rates_json(rates: Mapping[str, Rate | None]) -> dict[str, Any]:
    return {
        name: None
        if rate is None
        else {
            "mean": rate.mean,
            "deviation": rate.deviation,
            "seeds": list(rate.seeds),
            "pooled": estimate_json(rate.pooled),
        }
        for name, rate in rates.items()
    }


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f}"


def _mean(rate: Rate | None, scale: float, spread: bool = True) -> str:
    if rate is None or rate.mean is None:
        return "n/a"
    text = f"{scale * rate.mean:.1f}" if scale > 1 else f"{rate.mean:.2f}"
    if spread and rate.deviation is not None:
        text += f" +- {scale * rate.deviation:.1f}"
    return text


def _interval(rate: Rate | None) -> str:
    if rate is None or rate.pooled.low is None or rate.pooled.high is None:
        return ""
    return f"[{100 * rate.pooled.low:.1f}, {100 * rate.pooled.high:.1f}]"
