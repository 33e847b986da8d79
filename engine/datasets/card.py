"""The card of a dataset: what is in it, where it comes from, what was left out, and what it cost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.motion import KINDS
from engine.datasets.shards import SPLITS, excluded_keys
from engine.datasets.variants import VARIANTS


def write_card(folder: Path) -> dict[str, Any]:
    """Write ``card.json`` and ``README.md`` of a dataset from its jobs' reports, and return the card."""
    reports = [json.loads(path.read_text()) for path in sorted((folder / "jobs").glob("*.json"))]
    plan = json.loads((folder / "plan.json").read_text()) if (folder / "plan.json").exists() else {}
    card = make_card(reports, plan=plan, excluded=excluded_keys(folder))
    card["bytes"] = sum(path.stat().st_size for split in SPLITS for path in (folder / split).glob("*.tar*"))
    (folder / "card.json").write_text(json.dumps(card, indent=1))
    (folder / "README.md").write_text(card_text(card))
    return card


def make_card(reports: list[dict[str, Any]], *, plan: dict[str, Any], excluded: frozenset[str]) -> dict[str, Any]:
    """Return the card: counts by kind, family, split and source; histograms; what was left out; versions and cost."""
    entries = [entry for report in reports for entry in report["objects"] if entry["key"] not in excluded]
    kinds: dict[str, Any] = {}
    states = sum(entry["states"] for entry in entries)
    for kind in KINDS:
        of_kind = [entry for entry in entries if entry["family"].split("/")[0] == kind]
        if not of_kind:
            continue
        count = sum(entry["states"] for entry in of_kind)
        kinds[kind] = {
            "objects": len(of_kind),
            "states": count,
            "share_of_states": round(count / states, 4),
            "families": dict(sorted(Counter(entry["family"] for entry in of_kind).items())),
            "core_seconds": 0.0,
            "histograms": {
                "states": histogram([entry["states"] for entry in of_kind], [1, 4, 8, 16, 24, 32, 64, 96, 1000]),
                "vertices": histogram(
                    [entry["vertices"] for entry in of_kind], [0, 100, 300, 1000, 2000, 5000, 10000, 20001]
                ),
                "motion": histogram([entry["motion"] for entry in of_kind], [0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 100]),
            },
        }
    seconds: dict[str, float] = defaultdict(float)
    rejected: dict[str, Counter[str]] = defaultdict(Counter)
    frames: dict[str, Counter[str]] = defaultdict(Counter)
    versions: dict[str, str] = {}
    for report in reports:
        seconds[report["maker"]] += report["core_seconds"]
        rejected[report["maker"]].update(report["rejected"])
        frames[report["maker"]].update(report["frames_left_out"])
        versions |= report["versions"]
        # The cost of a job is shared among its objects.
        for entry in report["objects"]:
            kind = entry["family"].split("/")[0]
            if kind in kinds:
                kinds[kind]["core_seconds"] += report["core_seconds"] / len(report["objects"])
    return {
        "plan": plan,
        "objects": len(entries),
        "states": states,
        "variants": sum(report["variants"] for report in reports),
        "excluded_twins": len({key for key in excluded if not key.endswith(VARIANTS)}),
        "splits": {
            split: {
                "objects": sum(entry["split"] == split for entry in entries),
                "states": sum(entry["states"] for entry in entries if entry["split"] == split),
            }
            for split in SPLITS
        },
        "kinds": kinds,
        "sources": _sources(entries),
        "left_out": {
            "objects": {maker: dict(counts) for maker, counts in rejected.items() if counts},
            "frames": {maker: dict(counts) for maker, counts in frames.items() if counts},
        },
        "core_seconds": {maker: round(spent, 1) for maker, spent in sorted(seconds.items())},
        "versions": versions,
    }


def _sources(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    count = Counter((entry["source"], entry["licence"], entry["credit"]) for entry in entries)
    return [
        {"source": source, "licence": licence, "credit": credit, "objects": n}
        for (source, licence, credit), n in sorted(count.items())
    ]


def histogram(values: Iterable[float | int], bounds: list[float | int]) -> dict[str, int]:
    """Return how many values lie in each interval of the bounds, the upper bound left out."""
    counts, _ = np.histogram(list(values), bounds)
    return {f"{low:g} to {high:g}": int(n) for low, high, n in zip(bounds, bounds[1:], counts, strict=False)}


def card_text(card: dict[str, Any]) -> str:
    """Return the card as Markdown."""
    lines = ["# A dataset of moving meshes", ""]
    lines += [
        f"{card['objects']:,} objects in {card['states']:,} states, and {card['variants']:,} coarser copies of objects;"
        f" {card['bytes'] / 1e6:,.0f} MB. Plan: `{json.dumps(card['plan'])}`.",
        "",
    ]
    lines += ["| kind | objects | states | share | families | core-seconds |", "|---|---|---|---|---|---|"]
    for kind, facts in card["kinds"].items():
        lines.append(
            f"| {kind} | {facts['objects']:,} | {facts['states']:,} | {100 * facts['share_of_states']:.1f} % |"
            f" {len(facts['families'])} | {facts['core_seconds']:,.0f} |"
        )
    lines += ["", "| split | objects | states |", "|---|---|---|"]
    lines += [f"| {split} | {n['objects']:,} | {n['states']:,} |" for split, n in card["splits"].items()]
    if card["excluded_twins"]:
        lines += ["", f"{card['excluded_twins']} objects are not read: another split has a twin of theirs."]
    lines += ["", "## Sources", "", "| source | licence | credit | objects |", "|---|---|---|---|"]
    lines += [f"| {s['source']} | {s['licence']} | {s['credit'] or '-'} | {s['objects']:,} |" for s in card["sources"]]
    lines += ["", "## Left out", "", "| maker | objects | frames |", "|---|---|---|"]
    for maker in card["core_seconds"]:
        cells = [
            ", ".join(f"{n:,} {reason}" for reason, n in sorted(card["left_out"][what].get(maker, {}).items())) or "-"
            for what in ("objects", "frames")
        ]
        lines.append(f"| {maker} | {cells[0]} | {cells[1]} |")
    lines += ["", "## Histograms", ""]
    lines.append("States an object has, vertices of its mesh, and RMS motion of its samples [half extents].")
    for kind, facts in card["kinds"].items():
        for what, counts in facts["histograms"].items():
            lines += ["", f"{kind}, {what}: " + "; ".join(f"{bound}: {n}" for bound, n in counts.items() if n) + "."]
    lines += ["", "## Families", ""]
    for kind, facts in card["kinds"].items():
        lines += [f"**{kind}**: " + ", ".join(f"{f.split('/')[1]} {n}" for f, n in facts["families"].items()) + ".", ""]
    lines += ["## Made with", "", ", ".join(f"{name} {v}" for name, v in sorted(card["versions"].items())) + ".", ""]
    return "\n".join(lines)
