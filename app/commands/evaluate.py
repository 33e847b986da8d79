"""``evaluate``: measure a network, beside what came before, on a dataset's held-out objects or on anyone's motion."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import options
from app.commands.evaluate_baselines import baseline
from app.commands.evaluate_generative import generative, run_generative
from app.commands.evaluate_modes import modes
from app.commands.progress import Progress
from app.commands.refusal import Refused, refusing, say

if TYPE_CHECKING:
    from engine.datasets.sampling import SampledMotion
    from engine.evaluation.method import Method
    from engine.evaluation.programs import Result
    from engine.evaluation.selection import Selection
    from engine.model.checkpoint import Checkpoint

evaluate = typer.Typer(help="Measure a network.", no_args_is_help=True, rich_markup_mode=None)

Data = Annotated[
    list[Path],
    typer.Option(
        help="Folder of a dataset; or animated GLB, vertex sequences, URDF, MJCF, folders of them. May be given again.",
        show_default=False,
    ),
]
Split = Annotated[str, typer.Option(help="Of a dataset: validation, test_seen or test_unseen.")]
CheckpointFile = Annotated[
    Path | None, typer.Option("--checkpoint", help="Network to measure; by default the program's.", show_default=False)
]
Objects = Annotated[int | None, typer.Option(min=1, help="Most objects of a kind; by default all.")]
States = Annotated[int, typer.Option(min=1, help="Most states of an object.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="This kind alone. May be given again.")]
Seed = Annotated[int, typer.Option(min=0, help="Of choices, samples and intervals.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.", show_default=False)]
Baselines = Annotated[
    Path | None,
    typer.Option(help="Measure all baselines too; trained ones are read from this folder.", file_okay=False),
]
SPLIT = "test_seen"


@evaluate.callback()
def _group() -> None:
    """Measure a network."""


class _Session:
    """One evaluation from its options to its table and file."""

    def __init__(
        self, folder: Path, selection: Selection, *, quiet: bool, out: Path | None, refused: dict[str, str]
    ) -> None:
        from engine.evaluation.selection import chosen_objects

        self.selection, self.quiet, self._out = selection, quiet, out
        for name, reason in refused.items():
            say(f"skipped {name}: {reason}")
        self._began = time.monotonic()
        self._folder = folder
        self.motions: list[SampledMotion] = chosen_objects(folder, selection)

    def progress(self, title: str) -> Callable[[int, int], None]:
        return Progress(title, quiet=self.quiet)

    def finish(self, results: Sequence[Result], network: dict[str, Any]) -> None:
        """Print the tables, and write the file if one is wanted."""
        from engine.evaluation.document import Document, calibration, data_facts
        from engine.evaluation.report import tables_of

        document = Document(
            command=sys.argv[1:],
            seed=self.selection.seed,
            data=data_facts(self._folder, self.motions, self.selection),
            checkpoint=network,
            results=list(results),
            seconds=time.monotonic() - self._began,
            calibration=calibration(),
        )
        if self._out is not None:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            document.write(self._out)
        print("\n\n".join(table.plain() for table in tables_of(document)))


@contextmanager
def _session(
    data: Sequence[Path],
    *,
    split: str,
    objects: int | None,
    states: int,
    kinds: Sequence[str] | None,
    seed: int,
    out: Path | None,
    quiet: bool,
) -> Generator[_Session]:
    """Open the data and refuse, in its own words, what cannot be measured."""
    from engine.datasets.shards import SPLITS, DatasetError
    from engine.evaluation.selection import OWN_SPLIT, Selection, as_dataset, is_dataset
    from engine.runtime.cores import use_spare_cores

    missing = [str(path) for path in data if not path.exists()]
    if missing:
        raise Refused(f"there is no {', '.join(missing)}")
    if split not in SPLITS:
        raise Refused(f"there is no split {split}: the splits are {', '.join(SPLITS)}")
    use_spare_cores()
    selection = Selection(split if is_dataset(data) else OWN_SPLIT, objects, states, tuple(kinds or ()), seed)
    try:
        with as_dataset(data, seed=seed) as (folder, refused):
            yield _Session(folder, selection, quiet=quiet, out=out, refused=refused)
    except DatasetError as problem:
        raise Refused(str(problem)) from problem


def _load(path: Path | None) -> tuple[Checkpoint, dict[str, Any]]:
    from engine.evaluation.document import checkpoint_facts
    from engine.model.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(path)
    return checkpoint, checkpoint_facts(checkpoint, path)


def _methods(checkpoint: Checkpoint, baselines: Path | None, *, every_reduction: bool = False) -> list[Method]:
    """Return the network, and beside it the rest pose or, with a folder, all baselines."""
    from engine.evaluation.baselines.trained import baseline_methods
    from engine.evaluation.baselines.untrained import RestPose
    from engine.evaluation.network import NetworkMethod
    from engine.kinematics.reduction import ReductionKind

    kinds = list(ReductionKind) if every_reduction else [ReductionKind.VECTOR]
    ours: list[Method] = [NetworkMethod(checkpoint, kind) for kind in kinds]
    return [*ours, *(baseline_methods(baselines) if baselines is not None else [RestPose()])]


@evaluate.command()
@refusing
def reconstruction(
    data: Data,
    split: Split = SPLIT,
    checkpoint: CheckpointFile = None,
    objects: Objects = None,
    states: States = 4,
    kind: Kinds = None,
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Encode true states, decode the posterior's mean, and compare.

    \b
    Example:
      main.py evaluate reconstruction --data data/full --split test_unseen --json out/reconstruction.json
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.programs import evaluate_reconstruction

    network, facts = _load(checkpoint)
    with _session(
        data, split=split, objects=objects, states=states, kinds=kind, seed=seed, out=json, quiet=quiet
    ) as session:
        told = session.progress("reconstruction")
        session.finish([evaluate_reconstruction(network, session.motions, session.selection, progress=told)], facts)


@evaluate.command()
@refusing
def ik(
    data: Data,
    split: Split = SPLIT,
    checkpoint: CheckpointFile = None,
    baselines: Baselines = None,
    every_reduction: Annotated[
        bool, typer.Option("--every-reduction", help="Measure the paper's scalar reduction, and none, too.")
    ] = False,
    objects: Objects = None,
    states: States = 4,
    restarts: Annotated[int, typer.Option(min=0, help="Further descents from random coordinates.")] = 2,
    kind: Kinds = None,
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Pose held-out objects to their own true states, with the network and with what came before.

    \b
    Examples:
      main.py evaluate ik --data data/full --kind articulated --objects 40
      main.py evaluate ik --data data/full --baselines runs/baselines --json out/ik.json
      main.py evaluate ik --data dancer.glb --data robot.urdf
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.inverse import InverseSettings
    from engine.evaluation.programs import evaluate_inverse

    network, facts = _load(checkpoint)
    methods = _methods(network, baselines, every_reduction=every_reduction)
    settings = InverseSettings(restarts=restarts, seed=seed)
    with _session(
        data, split=split, objects=objects, states=states, kinds=kind, seed=seed, out=json, quiet=quiet
    ) as session:
        told = session.progress("inverse kinematics")
        results = evaluate_inverse(methods, session.motions, session.selection, settings, progress=told)
        session.finish(results, facts)


@evaluate.command()
@refusing
def samples(
    data: Data,
    split: Split = SPLIT,
    checkpoint: CheckpointFile = None,
    objects: Objects = None,
    states: States = 4,
    kind: Kinds = None,
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare states drawn from the prior with true ones, and count the directions that carry them.

    \b
    Example:
      main.py evaluate samples --data data/full --split test_unseen
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.programs import evaluate_samples

    network, facts = _load(checkpoint)
    with _session(
        data, split=split, objects=objects, states=states, kinds=kind, seed=seed, out=json, quiet=quiet
    ) as session:
        told = session.progress("samples of the prior")
        session.finish([evaluate_samples(network, session.motions, session.selection, progress=told)], facts)


@evaluate.command("all")
@refusing
def all_(
    data: Data,
    split: Split = SPLIT,
    checkpoint: CheckpointFile = None,
    baselines: Baselines = None,
    films: Annotated[
        Path | None, typer.Option(help="Run the generative evaluation too, and put its films into this folder.")
    ] = None,
    objects: Objects = None,
    states: States = 4,
    kind: Kinds = None,
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Run reconstruction, inverse kinematics and samples on the same objects, and the generative evaluation if asked.

    \b
    Example:
      main.py evaluate all --data data/full --objects 40 --baselines runs/baselines --json out/all.json
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.inverse import InverseSettings
    from engine.evaluation.programs import evaluate_inverse

    network, facts = _load(checkpoint)
    with _session(
        data, split=split, objects=objects, states=states, kinds=kind, seed=seed, out=json, quiet=quiet
    ) as session:
        first, last = _reconstruction_and_samples(session, network, "neurok")
        told = session.progress("inverse kinematics")
        posed = evaluate_inverse(
            _methods(network, baselines), session.motions, session.selection, InverseSettings(seed=seed), progress=told
        )
        session.finish([first, *posed, last], facts)
    if films is not None:
        run_generative(films, checkpoints=[checkpoint] if checkpoint else (), seed=seed, quiet=quiet)


@evaluate.command()
@refusing
def ablations(
    runs: Annotated[Path, typer.Argument(help="Folder of training runs.", exists=True, file_okay=False)],
    data: Data,
    full: Annotated[str, typer.Option(help="The run of the full model, which the others are compared with.")] = "full",
    split: Split = SPLIT,
    objects: Objects = 30,
    states: States = 3,
    kind: Kinds = None,
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Measure every run of a folder, and the full model's reductions, on the same objects, in one table.

    The runs should have had the same budget: the table's note says how long each was trained.

    \b
    Example:
      main.py evaluate ablations runs/short --data data/full --json out/ablations.json
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.inverse import InverseSettings
    from engine.evaluation.network import NetworkMethod
    from engine.evaluation.programs import evaluate_inverse, evaluate_samples
    from engine.kinematics.reduction import ReductionKind

    found = {path.parent.name: path for path in sorted(runs.glob("*/model.safetensors"))}
    if full not in found:
        raise Refused(f"there is no {full}/model.safetensors in {runs}, but {', '.join(found) or 'no run at all'}")
    names = [full, *(name for name in found if name != full)]
    networks = {name: _load(found[name])[0] for name in names}
    reduced = {f"{full}, {each} reduction": each for each in ReductionKind if each is not ReductionKind.VECTOR}
    with _session(
        data, split=split, objects=objects, states=states, kinds=kind, seed=seed, out=json, quiet=quiet
    ) as session:
        results: list[Result] = []
        for name in names:
            results += _reconstruction_and_samples(session, networks[name], name)
        for name, each in reduced.items():
            told = session.progress(f"{name}: samples")
            results.append(
                evaluate_samples(
                    networks[full], session.motions, session.selection, reduction=each, label=name, progress=told
                )
            )
        methods = [NetworkMethod(networks[name], label=name) for name in names]
        methods += [NetworkMethod(networks[full], each, label=full) for each in reduced.values()]
        settings = InverseSettings(seed=seed)
        told = session.progress("inverse kinematics")
        results += evaluate_inverse(methods, session.motions, session.selection, settings, progress=told)
        session.finish(results, {})


def _reconstruction_and_samples(session: _Session, network: Checkpoint, label: str) -> tuple[Result, Result]:
    from engine.evaluation.programs import evaluate_reconstruction, evaluate_samples

    told = session.progress(f"{label}: reconstruction")
    first = evaluate_reconstruction(network, session.motions, session.selection, label=label, progress=told)
    first.extra |= {"fingerprint": network.fingerprint, "training": _budget(network)}
    told = session.progress(f"{label}: samples")
    return first, evaluate_samples(network, session.motions, session.selection, label=label, progress=told)


def _budget(network: Checkpoint) -> dict[str, float]:
    """Return what a checkpoint tells of how long it was trained."""
    names = ("iteration", "items", "minutes")
    return {name: float(network.facts[name]) for name in names if isinstance(network.facts.get(name), int | float)}


@evaluate.command()
@refusing
def report(
    files: Annotated[list[Path], typer.Argument(help="JSON files of evaluations.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Markdown file to write; by default it is printed.")
    ] = None,
    families: Annotated[bool, typer.Option("--families/--no-families", help="Tables by family too.")] = True,
) -> None:
    """Turn evaluations into Markdown tables.

    \b
    Example:
      main.py evaluate report out/reconstruction.json out/ik.json -o out/tables.md
    """  # noqa: D301  (marks a block that keeps its lines)
    from engine.evaluation.document import DocumentError, read_document
    from engine.evaluation.report import markdown

    try:
        text = markdown([read_document(file) for file in files], families=families)
    except DocumentError as problem:
        raise Refused(str(problem)) from problem
    if output is None:
        print(text, end="")
        return
    output.write_text(text)


evaluate.command()(generative)
evaluate.command()(modes)
evaluate.command()(baseline)
