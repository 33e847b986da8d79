"""``evaluate modes``: film strips of how an object moves along the first of its reduced directions.

A row per direction: five states from -a to +a, the rest shape in the middle. The amplitude a is such that the surface
moves by 12 % of the object's size (RMS, to first order), or less where that would leave the range of the training.
States are laid onto the rest shape by the rigid motion that fits best, since the metric that the directions come from
leaves rigid motion out. What the eye finds right or wrong goes into docs/evaluation.md by hand.

Symbols: ``q`` reduced coordinates, ``k_q`` their number, ``z = z0 + unit U q`` the latent (`Reduction`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from app.commands import options
from app.commands.progress import Progress
from app.commands.refusal import refusing
from engine.clips.replacing import replacing

if TYPE_CHECKING:
    from jaxtyping import Float32, Float64
    from PIL import Image

    from app.render.contact_sheet import Strip, Studio
    from engine.kinematics.object_kinematics import ObjectKinematics

ROWS = 6
PICTURES = 5
MOTION = 0.12
"""RMS motion of the surface at the ends of a row, to first order, as a share of size."""
# Distance at which the colour is red, as a share of size: the same for all rows and objects.
_RED = 0.3
# A thing lower than this share of its middle extent lies flat, and is seen from above.
_FLAT = 0.45
_FROM_ABOVE = 62.0
_LARGEST = 300_000
_QUALITIES = (90, 82, 74, 64, 52)
_NOTE = "Five states of each direction, the rest shape in the middle. Colours: distance from rest, red at 30 % of size."


@dataclass(frozen=True, slots=True)
class Mode:
    """One reduced direction of an object, as its row of pictures shows it.

    Attributes:
        share: of the trace of the averaged metric.
        amplitude: of q at the ends of the row.
        motion: RMS distance of the surface from rest at the ends, the larger of both, as a share of size.
        largest: of those distances, as a share of size.
        stretch: 95th percentile over the edges of how far their length changes at the ends, as a share of it.
        limited: whether the range of the training bounds the amplitude.
    """

    share: float
    amplitude: float
    motion: float
    largest: float
    stretch: float
    limited: bool


@dataclass(frozen=True, slots=True)
class ModeReport:
    """What a sheet shows.

    Attributes:
        name: of the object.
        k_q: number of its reduced coordinates.
        for_99: directions that carry 99 % of the trace.
        moving: root of the trace: RMS motion of the surface per deviation of the prior, as a share of size.
        in_range: whether the rest state lies within the range of the training.
        fingerprint: of the checkpoint.
        modes: of the rows.
    """

    name: str
    k_q: int
    for_99: int
    moving: float
    in_range: bool
    fingerprint: str
    modes: tuple[Mode, ...]


@refusing
def modes(
    meshes: Annotated[list[Path], typer.Argument(help="Mesh files.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the sheets.", show_default=False)],
    checkpoint: options.Network = None,
    up: options.Up = None,
    seed: Annotated[int, typer.Option(help="Of the surface samples.")] = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw the first six directions in which each object moves, one sheet (JPEG) an object.

    \b
    Examples:
      main.py evaluate modes scissors.ply box.ply -o sheets
      main.py evaluate modes shared/*.ply --checkpoint runs/long/checkpoint.safetensors -o sheets --json
    """  # noqa: D301  (marks a block that keeps its lines)
    from app.render.contact_sheet import Studio
    from engine.geometry.mesh_reader import load_rest_shape
    from engine.kinematics.object_kinematics import prepare_object
    from engine.model.checkpoint import load_checkpoint

    network = load_checkpoint(checkpoint)
    output.mkdir(parents=True, exist_ok=True)
    told = Progress("Drawing", quiet=quiet)
    reports: list[ModeReport] = []
    with Studio() as studio:
        for number, mesh in enumerate(meshes):
            kinematics = prepare_object(load_rest_shape(mesh, up=up), checkpoint=network, seed=seed)
            page, report = draw_modes(studio, kinematics, mesh.stem)
            save_jpeg(page, output / f"modes_{mesh.stem}.jpg")
            reports.append(report)
            told(number + 1, len(meshes))
    print(json.dumps([asdict(report) for report in reports], indent=2) if as_json else _table(reports))


def draw_modes(studio: Studio, kinematics: ObjectKinematics, name: str) -> tuple[Image.Image, ModeReport]:
    """Draw an object along each of its first directions.

    Args:
        studio: where to draw.
        kinematics: the object with its network.
        name: what the sheet calls it.

    Returns:
        The sheet, a row for each of the first six directions (the rest shape alone where there is none), and the
        figures of its rows.
    """
    from app.render.contact_sheet import Figure, Strip, distance_colors, draw_page

    rest, size = kinematics.rest, kinematics.rest.size
    count = min(ROWS, kinematics.k_q)
    rows = [mode_states(kinematics, index) for index in range(count)]
    shown = np.concatenate([states for states, _ in rows]) if rows else np.array(rest.vertices, np.float32)[None]
    away = np.linalg.norm(shown - np.asarray(rest.vertices, np.float32), axis=-1)
    figure = Figure(np.asarray(rest.faces), shown, distance_colors(away / (_RED * size)))
    extent = np.ptp(np.asarray(rest.vertices), axis=0)
    flat = extent[2] < _FLAT * np.sort(extent)[1]
    drawn = studio.pictures(figure, **({"elevation": _FROM_ABOVE} if flat else {}))
    strips = [_row(mode, i, drawn[PICTURES * i : PICTURES * (i + 1)]) for i, (_, mode) in enumerate(rows)]
    strips = strips or [Strip(drawn, "No direction moves it by enough to see: it stays rigid.")]
    reduction = kinematics.reduction
    report = ModeReport(
        name=name,
        k_q=kinematics.k_q,
        for_99=reduction.directions_for(0.99),
        moving=float(reduction.spectrum.double().sum().sqrt()) / size,
        in_range=_latent_distance(kinematics, np.zeros(kinematics.k_q)) <= kinematics.range_radius,
        fingerprint=kinematics.fingerprint,
        modes=tuple(mode for _, mode in rows),
    )
    title = f"{name}: k_q {report.k_q}, {report.for_99} directions for 99 %" if report.k_q else f"{name}: rigid"
    return draw_page(strips, columns=1, width=PICTURES, title=title, note=_NOTE), report


def mode_states(kinematics: ObjectKinematics, index: int) -> tuple[Float32[np.ndarray, "5 n 3"], Mode]:
    """Return the vertices of five states along a direction, laid onto the rest shape [unit frame], and its figures."""
    reduction, rest = kinematics.reduction, np.asarray(kinematics.rest.vertices, np.float64)
    from engine.datasets.alignment import vertex_areas
    from engine.geometry.rigid_fit import rigid_fit
    from engine.geometry.welding import edges_of

    size = kinematics.rest.size
    wanted = MOTION * size / (float(reduction.rms_motion[index]) * reduction.unit)
    allowed = range_amplitude(kinematics, index)
    amplitude = min(wanted, allowed)
    states = np.zeros((PICTURES, *rest.shape), np.float32)
    area = vertex_areas(rest, np.asarray(kinematics.rest.faces))
    for row, share in enumerate(np.linspace(-1.0, 1.0, PICTURES)):
        q = np.zeros(kinematics.k_q)
        q[index] = share * amplitude
        decoded = kinematics.decode(q).astype(np.float64)
        rotation, shift = rigid_fit(decoded, rest, area)
        states[row] = decoded @ rotation.T + shift
    ends = states[[0, -1]].astype(np.float64)
    away = np.linalg.norm(ends - rest, axis=-1) / size
    edges = edges_of(np.asarray(kinematics.rest.faces))
    length = _lengths(rest, edges)
    # An edge of no length has no stretch.
    kept = length > 1e-9 * size
    change = [np.abs(_lengths(end, edges)[kept] / length[kept] - 1.0) for end in ends]
    spectrum = reduction.spectrum.double()
    mode = Mode(
        share=float(spectrum[index] / spectrum.sum()),
        amplitude=float(amplitude),
        motion=float(np.sqrt(away**2 @ (area / area.sum())).max()),
        largest=float(away.max()),
        stretch=float(np.percentile(np.concatenate(change), 95.0)),
        limited=bool(allowed < wanted),
    )
    return states, mode


def range_amplitude(kinematics: ObjectKinematics, index: int) -> float:
    """Return how far q may go along one direction, both ways, before that coordinate leaves the range of the training.

    Where the rest state is outside already, one deviation of the prior is granted.
    """
    from engine.kinematics.reduction import share_of_radius

    latent = len(kinematics.reduction.basis)
    reach = kinematics.range_radius * share_of_radius(1, latent) - abs(float(kinematics.prior_offset[index]))
    return max(reach, 1.0) / kinematics.reduction.unit


def save_jpeg(page: Image.Image, path: Path, *, largest: int = _LARGEST) -> Path:
    """Write a picture as JPEG of less quality until it is small enough [bytes]; the last attempt is kept."""
    import io

    data = b""
    for quality in _QUALITIES:
        stream = io.BytesIO()
        page.save(stream, format="JPEG", quality=quality, optimize=True)
        data = stream.getvalue()
        if len(data) <= largest:
            break
    with replacing(path) as part:
        part.write_bytes(data)
    return path


def _row(mode: Mode, index: int, pictures: list[np.ndarray]) -> Strip:
    from app.render.contact_sheet import Strip

    bound = " (range of the training)" if mode.limited else ""
    caption = (
        f"{index + 1}: {100 * mode.share:.1f} % of the trace, q to {mode.amplitude:.1f}{bound}, "
        f"RMS motion {100 * mode.motion:.1f} % of size, edges change by {100 * mode.stretch:.0f} % (95th percentile)"
    )
    return Strip(pictures, caption)


def _latent_distance(kinematics: ObjectKinematics, q: Float64[np.ndarray, " r"]) -> float:
    inside = np.asarray(kinematics.prior_offset) + kinematics.reduction.unit * q
    return float(np.hypot(kinematics.prior_distance, np.linalg.norm(inside)))


def _lengths(points: Float64[np.ndarray, "n 3"], edges: np.ndarray) -> Float64[np.ndarray, " e"]:
    return np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=-1)


def _table(reports: list[ModeReport]) -> str:
    lines = [
        "| object | k_q | for 99 % | share of the first six | edges change, 95th percentile |",
        "|---|---|---|---|---|",
    ]
    for report in reports:
        shares = " ".join(f"{100 * mode.share:.0f}" for mode in report.modes)
        stretches = " ".join(f"{100 * mode.stretch:.0f} %" for mode in report.modes)
        lines.append(f"| {report.name} | {report.k_q} | {report.for_99} | {shares} | {stretches} |")
    return "\n".join(lines)
