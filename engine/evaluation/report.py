"""Evaluations as tables: by kind on the terminal, by kind and family as Markdown for a document."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evaluation.comparison import compare, error_over
from engine.evaluation.document import Document
from engine.evaluation.programs import Result
from engine.evaluation.statistics import Interval, summarise
from engine.evaluation.tables import Table

# Columns of each evaluation: the figure, and its name in the table.
COLUMNS: dict[str, dict[str, str]] = {
    "reconstruction": {
        "error": "error / motion",
        "error_of_size": "error / size",
        "rigid_departure": "parts from rigid / size",
        "rest_displacement": "rest, not anchored / size",
        "kl": "KL [nats]",
    },
    "ik": {
        "error": "error / motion",
        "chamfer": "Chamfer",
        "chamfer_sampling": "its sampling error",
        "iou": "IoU",
        "rigid_departure": "parts from rigid / size",
        "stretch_95": "stretch, 95 %",
        "stretch_max": "stretch, most",
        "buried": "buried",
        "buried_truth": "buried, truth",
        "spikes": "spikes, 95 %",
        "coordinates": "coordinates",
    },
    "samples": {
        "best_of_prior": "best of 256 / motion",
        "prior_motion": "motion of prior / data",
        "directions": "directions for 99 %",
        "joints": "joints",
        "directions_over": "directions - joints",
        "coordinates": "coordinates",
        "spikes": "spikes, 95 %",
        "prepare_seconds": "prepare [s]",
    },
}
TITLES = {
    "reconstruction": "Reconstruction through the posterior",
    "ik": "Inverse kinematics from points",
    "samples": "Samples of the prior",
}
_WORDS = {"chamfer_floor": "Chamfer of a true state to itself, stored once more and sampled anew"}


def tables_of(document: Document, *, families: bool = False) -> list[Table]:
    """Return the tables of a document: for each evaluation by kind, by family if asked for, and the comparisons."""
    if len({r.method for r in document.results if r.evaluation == "reconstruction"}) > 1:
        return [_ablations(document.results, seed=document.seed)]
    tables: list[Table] = []
    for evaluation, columns in COLUMNS.items():
        results = [result for result in document.results if result.evaluation == evaluation]
        if not results:
            continue
        tables.append(_figures(results, evaluation, columns, seed=document.seed, by_family=False))
        if families:
            tables.append(_figures(results[:1], evaluation, columns, seed=document.seed, by_family=True))
        if evaluation == "ik" and len(results) > 1:
            tables.append(_comparisons(results, seed=document.seed))
    return tables


def _figures(
    results: Sequence[Result], evaluation: str, columns: dict[str, str], *, seed: int, by_family: bool
) -> Table:
    found = [(result, summarise(result.objects, seed=seed, by_family=by_family)) for result in results]
    present = [name for name in columns if any(name in group for _, groups in found for group in groups.values())]
    groups = sorted({group for _, each in found for group in each})
    rows: list[tuple[str, ...]] = []
    for group in groups:
        for result, each in found:
            figures = each.get(group, {})
            method = result.method + (" (has seen the states)" if result.sees_states else "")
            count = max((x.objects for x in figures.values()), default=0)
            rows.append((group, method, str(count), *(_cell(figures.get(name)) for name in present)))
    title = TITLES[evaluation] + (", by family" if by_family else "")
    header = ("family" if by_family else "kind", "method", "objects", *(columns[name] for name in present))
    return Table(title, header, tuple(rows), _note(results))


def _cell(interval: Interval | None) -> str:
    return "-" if interval is None else str(interval)


def _note(results: Sequence[Result]) -> str:
    words = [f"{_WORDS[name]}: {value:.2g}." for name, value in results[0].extra.items() if name in _WORDS]
    failed = [f"{r.method} failed on {len(r.failed)} objects." for r in results if r.failed]
    return " ".join([*words, *failed])


def _comparisons(results: Sequence[Result], *, seed: int) -> Table:
    """Compare the first method with the others."""
    found = compare(results[0], results[1:], seed=seed)
    rows = tuple((c.kind, c.figure, c.rival, str(c.interval.objects), str(c.interval)) for c in found)
    header = ("kind", "figure", "rival", "objects", results[0].method)
    return Table(f"{results[0].method} against the best that has not seen the states", header, rows)


# Of an ablation's table: evaluation, figure, name of the column.
_ABLATION_COLUMNS = (
    ("reconstruction", "error", "posterior: error / motion"),
    ("ik", "error", "IK: error / motion"),
    ("ik", "chamfer", "IK: Chamfer"),
    ("ik", "iou", "IK: IoU"),
    ("ik", "rigid_departure", "IK: parts from rigid / size"),
    ("samples", "best_of_prior", "best of 256 / motion"),
    ("samples", "directions", "directions for 99 %"),
    ("samples", "spikes", "spikes, 95 %"),
)


def _ablations(results: Sequence[Result], *, seed: int) -> Table:
    """One row for each kind and network; the first network is the full model, with which the others are paired."""
    methods = list(dict.fromkeys(result.method for result in results))
    by_name = {(result.evaluation, result.method): result for result in results}
    figures = {key: summarise(result.objects, seed=seed) for key, result in by_name.items()}
    kinds = sorted({kind for groups in figures.values() for kind in groups})
    rows: list[tuple[str, ...]] = []
    for kind in kinds:
        for method in methods:
            cells = [_cell(figures.get((e, method), {}).get(kind, {}).get(name)) for e, name, _ in _ABLATION_COLUMNS]
            for evaluation in ("reconstruction", "ik"):
                mine, full = by_name.get((evaluation, method)), by_name.get((evaluation, methods[0]))
                if mine is None or full is None or mine is full:
                    cells.append("-")
                else:
                    cells.append(_cell(error_over(mine, full, kind, seed=seed)))
            rows.append((kind, method, *cells))
    header = ("kind", "network", *(words for _, _, words in _ABLATION_COLUMNS))
    over = (f"posterior: error over {methods[0]}", f"IK: error over {methods[0]}")
    return Table("Ablations", (*header, *over), tuple(rows), _budgets(results))


def _budgets(results: Sequence[Result]) -> str:
    """Say how long each network was trained."""
    words: list[str] = []
    for result in results:
        budget = result.extra.get("training", {})
        if result.evaluation == "reconstruction" and budget:
            told = ", ".join(f"{name} {value:.4g}" for name, value in budget.items())
            words.append(f"{result.method} ({result.extra.get('fingerprint', '')}): {told}.")
    return " ".join(words)


def circumstances(document: Document) -> str:
    """Return one paragraph that says how the figures of a document were obtained."""
    data, network = document.data, document.checkpoint
    counts = ", ".join(f"{count} {kind}" for kind, count in data["objects"].items())
    product = document.calibration.get("product_512_ms", float("nan"))
    name = f"checkpoint `{network['name']}` ({network['fingerprint']})" if network else "several checkpoints"
    return (
        f"`main.py {' '.join(document.command)}`, {document.date}, seed {document.seed}, {name}; split "
        f"{data['split']} (objects {data['fingerprint']}: {counts}; {data['states_of_an_object']} states each); "
        f"{document.seconds:.0f} s, with a 512 x 512 product in {product:.1f} ms. "
        "In brackets: 95 % intervals over objects."
    )


def markdown(documents: Sequence[Document], *, families: bool = True, level: int = 3) -> str:
    """Return the documents as one part of a Markdown page."""
    parts: list[str] = []
    for document in documents:
        parts.append(circumstances(document))
        parts += [table.markdown(level=level) for table in tables_of(document, families=families)]
    return "\n\n".join(parts).rstrip() + "\n"
