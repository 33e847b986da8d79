"""``evaluate generative``: NeuROK's second table for this program, on motions of its own.

Eight objects under five actions are simulated with each network and filmed. Measured are the motion magnitude as
WorldScore defines it, on the exact optical flow of the rendered surface instead of an estimated one
(`app.render.optical_flow`): the median over all pixels, and beside it over the pixels of the object; and what the
motion does that its laws forbid (`engine.evaluation.violations`). A page for an anonymised vote sets the networks side
by side. Motion magnitude rewards motion as such, plausible or not, and grows with the picture and with the time between
frames. Objects, conditions, cameras and voters of the paper are not known, and its other methods were not run: nothing
here can be held against the figures of its table.

With one network an untrained one of the same build is the control.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from app.commands import options
from app.commands.progress import Progress
from app.commands.refusal import Refused, refusing

if TYPE_CHECKING:
    from app.commands.generative_trials import Trial
    from app.commands.vote_page import Pair
    from app.render.cameras import View
    from app.render.optical_flow import MotionMagnitude
    from engine.api import Film
    from engine.clips.clip import Clip
    from engine.evaluation.violations import Violations
    from engine.runtime.loading import LoadedObject

FPS = 20
NOTE = (
    "Motion magnitude: median length of the exact optical flow [pixels a frame], mean over pairs of frames. Not to be "
    "compared with the paper's table: its objects, cameras, frame rates and voters are not these."
)
_UNTRAINED = "untrained"
_COLUMNS = (
    "network",
    "films",
    "failed",
    "motion, picture",
    "motion, object",
    "floor depth, worst",
    "edge stretch, 95 %",
    "edges beyond 3x, worst",
    "buried, worst",
    "pin drift, worst",
    "energy gained, worst",
)


@dataclass(frozen=True, slots=True)
class Filmed:
    """One trial with one network.

    Attributes:
        trial: its name.
        network: name of the network.
        film: the video, or None where the motion could not be computed.
        problem: why not; empty where it could.
        motion, violations: what was measured.
    """

    trial: str
    network: str
    film: Path | None
    problem: str
    motion: MotionMagnitude | None
    violations: Violations | None


@refusing
def generative(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of films, page, key and figures.")],
    objects: Annotated[
        list[Path] | None, typer.Argument(help="Mesh files; by default eight of the gallery.", show_default=False)
    ] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(help="Network to compare. May be given again; by default the program's.", show_default=False),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=60.0, help="Length of each motion.")] = 3.0,
    size: options.Size = "320x240",  # type: ignore[assignment]  (Typer parses it)
    seed: Annotated[int, typer.Option(min=0, help="Of places, directions, and of the page's order.")] = 0,
    votes: Annotated[
        list[Path] | None,
        typer.Option(help="Saved answers to the page in the folder: count them, and do nothing else."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Film objects under five actions with several networks, measure the motions, and write a page for a vote.

    The folder gets films/, generative.json, vote.html (for voters) and key.json (not for voters).

    \b
    Examples:
      main.py evaluate generative --checkpoint a.safetensors --checkpoint b.safetensors -o out
      main.py evaluate generative chair.obj --seconds 2 --size 240x180 -o out
      main.py evaluate generative -o out --votes votes_1.json --votes votes_2.json
    """  # noqa: D301  (marks a block that keeps its lines)
    from app.commands.vote_page import count_votes

    if votes:
        counted = [asdict(preference) for preference in count_votes(output / "key.json", votes)]
        print(json.dumps(counted, indent=2) if as_json else _lines(counted))
        return
    content = run_generative(
        output,
        objects=objects or (),
        checkpoints=checkpoint or (),
        seconds=seconds,
        size=(size.width, size.height),
        seed=seed,
        quiet=quiet,
    )
    print(json.dumps(content, indent=2, default=str) if as_json else f"{_lines(content['summary'])}\n\n{NOTE}")


def run_generative(
    output: Path,
    *,
    objects: Sequence[Path] = (),
    checkpoints: Sequence[Path] = (),
    seconds: float = 3.0,
    size: tuple[int, int] = (320, 240),
    seed: int = 0,
    quiet: bool = True,
) -> dict[str, Any]:
    """Film, measure, and write figures, page and key into a folder.

    Args:
        output: the folder.
        objects: mesh files; by default eight of the gallery.
        checkpoints: networks to compare; by default the program's. A single one gets an untrained one as its control.
        seconds: length of each motion.
        size: width and height of the films [pixels].
        seed: of places, directions, and of the page's order.
        quiet: whether to leave out the progress.

    Returns:
        What ``generative.json`` holds; its ``summary`` has a row for each network.
    """
    from app.commands.vote_page import write_vote_page

    (output / "films").mkdir(parents=True, exist_ok=True)
    networks = _networks(checkpoints, output)
    filmed = film_trials(objects or _gallery(), networks, output, seconds=seconds, size=size, seed=seed, quiet=quiet)
    write_vote_page(vote_pairs(filmed, output), output / "vote.html", output / "key.json", seed=seed)
    content: dict[str, Any] = {
        "note": NOTE,
        "seed": seed,
        "seconds": seconds,
        "size": list(size),
        "fps": FPS,
        "networks": {name: str(path) for name, path in networks.items()},
        "summary": [summary(name, [item for item in filmed if item.network == name]) for name in networks],
        "films": [asdict(item) for item in filmed],
    }
    text = json.dumps(content, indent=2, default=str)
    (output / "generative.json").write_text(text + "\n", encoding="utf-8")
    return content


def film_trials(
    objects: Sequence[Path],
    networks: dict[str, Path],
    output: Path,
    *,
    seconds: float,
    size: tuple[int, int],
    seed: int,
    quiet: bool = True,
) -> list[Filmed]:
    """Simulate, film and measure each object under each action with each network.

    Args:
        objects: mesh files.
        networks: checkpoints by name.
        output: folder; films go to ``films`` in it.
        seconds: length of each motion.
        size: width and height of the films [pixels].
        seed: of places and directions.
        quiet: whether to leave out the progress.
    """
    from app.commands.gallery_choice import gallery_choice
    from app.commands.generative_trials import Action, draw_trial
    from engine import api
    from engine.dynamics.mechanics import Mechanics

    result: list[Filmed] = []
    told, count = Progress("Filming", quiet=quiet), len(objects) * len(Action)
    for index, mesh in enumerate(objects):
        anchor, material = gallery_choice(mesh)
        loaded = {
            name: api.load(mesh, anchor=anchor, material=material, checkpoint=path) for name, path in networks.items()
        }
        first = next(iter(loaded.values()))
        assert isinstance(first.motion, Mechanics)
        for number, action in enumerate(Action):
            trial = draw_trial(
                mesh,
                action,
                first.rest,
                mass=first.motion.mass,
                anchor=first.anchor,
                metres_per_unit=first.metres_per_unit,
                rng=np.random.default_rng([seed, index, number]),
            )
            result.extend(_filmed(trial, loaded, output, seconds=seconds, size=size))
            told(index * len(Action) + number + 1, count)
    return result


def summary(name: str, filmed: Sequence[Filmed]) -> dict[str, object]:
    """Return the row of a network: means over its films, and the worst of what must not be."""
    motions = [item.motion for item in filmed if item.motion is not None]
    found = [item.violations for item in filmed if item.violations is not None]
    drifts = [v.pin_drift for v in found if v.pin_drift is not None]
    gains = [v.energy_gain for v in found if v.energy_gain is not None]
    values = (
        name,
        len(motions),
        len(filmed) - len(motions),
        _mean([m.picture for m in motions]),
        _mean([m.surface for m in motions]),
        max((v.floor_depth for v in found), default=None),
        _mean([v.stretch for v in found]),
        max((v.overstretched for v in found), default=None),
        max((v.buried for v in found), default=None),
        max(drifts, default=None),
        max(gains, default=None),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def vote_pairs(filmed: Sequence[Filmed], output: Path) -> list[Pair]:
    """Return the pairs of films of each trial; what could not be computed is not voted on."""
    from app.commands.generative_trials import WORDS, Action
    from app.commands.vote_page import Pair

    shown = [item for item in filmed if item.film is not None]
    return [
        Pair(
            first.trial,
            WORDS[Action(first.trial.rsplit("_", 1)[1])],
            (output / str(first.film), output / str(second.film)),
            (first.network, second.network),
        )
        for first, second in combinations(shown, 2)
        if first.trial == second.trial
    ]


def _filmed(
    trial: Trial, loaded: dict[str, LoadedObject], output: Path, *, seconds: float, size: tuple[int, int]
) -> list[Filmed]:
    """Return one trial with each network, all seen by one camera."""
    from app.commands.filming import camera_over, film_of
    from app.commands.parsing import CameraChoice
    from engine.clips.resample import frame_times
    from engine.clips.video import even_size

    clips: dict[str, tuple[Clip, Violations]] = {}
    problems: dict[str, str] = {}
    for name, thing in loaded.items():
        found = _simulated(trial, thing, seconds)
        if isinstance(found, str):
            problems[name] = found
        else:
            clips[name] = found
    result = [Filmed(trial.name, name, None, problem, None, None) for name, problem in problems.items()]
    if not clips:
        return result
    whole = even_size(size)
    times = frame_times(next(iter(clips.values()))[0], fps=FPS)
    camera = camera_over([clip for clip, _ in clips.values()], times, whole, CameraChoice())
    film = film_of(size=size, camera=camera)
    for name, (clip, violations) in clips.items():
        path = output / "films" / f"{trial.name}_{name}.mp4"
        motion = _written(clip, path, film, camera.view(*whole))
        result.append(Filmed(trial.name, name, path.relative_to(output), "", motion, violations))
    return result


def _written(clip: Clip, path: Path, film: Film, view: View) -> MotionMagnitude:
    """Write a film and return its motion magnitude."""
    from app.render.optical_flow import motion_magnitude
    from engine import api
    from engine.clips.resample import frame_times

    api.export(clip, path, fps=FPS, film=film)
    frames = (clip.at(float(time)) for time in frame_times(clip, fps=FPS))
    return motion_magnitude(view, np.asarray(clip.rest_faces), frames)


def _simulated(trial: Trial, loaded: LoadedObject, seconds: float) -> tuple[Clip, Violations] | str:
    """Return a motion and its violations, or why it could not be computed."""
    from dataclasses import replace

    from engine import api
    from engine.dynamics.mechanics import Mechanics
    from engine.evaluation.violations import EnergyLedger, measure_violations

    if trial.anchor is not None and trial.anchor is not loaded.anchor:
        loaded = replace(loaded, anchor=trial.anchor, motion=loaded.motion.with_anchor(trial.anchor))
    assert isinstance(loaded.motion, Mechanics)
    ledger = EnergyLedger(loaded, trial.conditions, mass=loaded.motion.mass)
    try:
        clip = api.simulate(
            loaded,
            seconds=seconds,
            conditions=trial.conditions,
            height=trial.height * loaded.rest.size * loaded.metres_per_unit,
            watch=ledger,
        )
    except api.SimulationError as problem:
        return str(problem)
    return clip, measure_violations(clip, loaded, energy_gain=ledger.gain)


def _networks(checkpoints: Sequence[Path], output: Path) -> dict[str, Path]:
    """Return checkpoints by name; beside a single one an untrained network, written into the folder."""
    from engine.model.checkpoint import DEFAULT_CHECKPOINT, load_checkpoint, random_checkpoint, save_checkpoint

    paths = list(checkpoints) or [DEFAULT_CHECKPOINT]
    stems = [path.stem for path in paths]
    # Checkpoints of several runs are all called checkpoint.
    names = stems if len(set(stems)) == len(stems) else [f"{path.parent.name}-{path.stem}" for path in paths]
    networks = dict(zip(names, paths, strict=True))
    if len(networks) != len(paths):
        raise Refused(f"the checkpoints need names that tell them apart; these are {', '.join(names)}")
    if len(networks) == 1:
        control = random_checkpoint(load_checkpoint(paths[0]).model.config)
        networks[_UNTRAINED] = output / f"{_UNTRAINED}.safetensors"
        save_checkpoint(control.model, control.facts, networks[_UNTRAINED])
    return networks


def _gallery() -> list[Path]:
    from app.commands.gallery_choice import GALLERY
    from app.commands.generative_trials import GALLERY_OBJECTS

    return [GALLERY / f"{name}.glb" for name in GALLERY_OBJECTS]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _lines(rows: Sequence[dict[str, object]]) -> str:
    """Return rows as a Markdown table."""
    if not rows:
        return "There is nothing to show."
    head = [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
    return "\n".join(head + [f"| {' | '.join(_cell(value) for value in row.values())} |" for row in rows])


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
