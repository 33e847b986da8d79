"""``bench``: measure one step of one object on this machine."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from app.commands import options
from app.commands.gallery_choice import GALLERY
from app.commands.refusal import Refused, refusing

if TYPE_CHECKING:
    from engine.geometry.rest_shape import RestShape
    from engine.kinematics.object_kinematics import ObjectKinematics

bench = typer.Typer(help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)

_WARM_UP = 15


@bench.callback()
def _group() -> None:
    """Measure this machine."""


@bench.command()
@refusing
def step(
    mesh: Annotated[Path, typer.Option(help="Mesh file.")] = GALLERY / "plush_bear.glb",
    vertices: Annotated[int | None, typer.Option(min=12, help="Refine or thin the mesh to about this many.")] = None,
    k_q: Annotated[int | None, typer.Option("--k-q", min=0, help="Number of reduced coordinates.")] = None,
    steps: Annotated[int, typer.Option(min=5, help="Steps to measure.")] = 120,
    as_json: options.AsJson = False,
) -> None:
    """Measure step and decode of one object while it is being pulled; times are medians in milliseconds.

    \b
    Examples:
      main.py bench step --json
      main.py bench step --mesh chair.obj --vertices 10000
    """  # noqa: D301  (marks a block that keeps its lines)
    figures = measure(mesh, vertices=vertices, k_q=k_q, steps=steps)
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:<16} {value}")


def measure(mesh: Path, *, vertices: int | None = None, k_q: int | None = None, steps: int = 120) -> dict[str, Any]:
    """Return the figures of one object: ``step_ms``, ``decode_ms``, ``step_decode_ms`` (medians) and its sizes."""
    import torch

    from engine.dynamics.mechanics import Mechanics
    from engine.dynamics.state import Loads, StepStatus, SurfacePoint
    from engine.runtime.cores import use_spare_cores
    from engine.runtime.pacing import STEP
    from engine.scenes.material import MATERIALS, Anchor

    use_spare_cores()
    rest = rest_shape(mesh, vertices=vertices)
    kinematics = _kinematics(rest, k_q)
    mechanics = Mechanics(kinematics, material=MATERIALS["elastic"], anchor=Anchor.STANDING)
    state = mechanics.rest_state()
    top = int(np.asarray(rest.vertices)[np.asarray(rest.faces)].mean(1)[:, 2].argmax())
    grab = mechanics.begin_grab(state, SurfacePoint(top, (1 / 3, 1 / 3, 1 / 3)))
    origin = np.array(grab.target)
    times: list[tuple[float, float]] = []
    failed = 0
    for index in range(_WARM_UP + steps):
        swing = 0.15 * mechanics.size * np.sin(2.0 * np.pi * 0.7 * index * STEP) * np.array((1.0, 0.3, 0.2))
        held = type(grab)(grab.point, origin + swing, grab.stiffness, grab.damping, grab.force_cap, index * STEP)
        begun = time.perf_counter()
        state, report = mechanics.step(state, Loads(grab=held), STEP)
        stepped = time.perf_counter()
        mechanics.decode(state)
        times.append((stepped - begun, time.perf_counter() - stepped))
        failed += report.status in (StepStatus.NOT_CONVERGED, StepStatus.NOT_FINITE)
    measured = 1000.0 * np.array(times[_WARM_UP:])
    return {
        "mesh": rest.name,
        "vertices": len(rest.vertices),
        "k_q": kinematics.k_q,
        "handles": kinematics.handle_count,
        "threads": torch.get_num_threads(),
        "steps": steps,
        "failed_steps": failed,
        "step_ms": round(float(np.median(measured[:, 0])), 3),
        "decode_ms": round(float(np.median(measured[:, 1])), 3),
        "step_decode_ms": round(float(np.median(measured.sum(1))), 3),
    }


def rest_shape(mesh: Path, *, vertices: int | None = None) -> RestShape:
    """Return the rest shape of a file, refined or thinned to about a number of vertices."""
    from app.commands.resolution import with_vertices
    from engine.geometry.mesh_reader import load_rest_shape
    from engine.geometry.rest_shape import rest_shape_from_arrays

    rest = load_rest_shape(mesh)
    if vertices is None or vertices == len(rest.vertices):
        return rest
    points, faces = with_vertices(rest.vertices, rest.faces, count=vertices)
    return rest_shape_from_arrays(points, faces, name=rest.name)


def _kinematics(rest: RestShape, k_q: int | None) -> ObjectKinematics:
    """Return the object with its own number of coordinates, or with another one, for timing."""
    from engine.kinematics.object_kinematics import ObjectKinematics, prepare_object
    from engine.kinematics.reduction import ReductionKind
    from engine.model.checkpoint import load_checkpoint

    kinematics = prepare_object(rest)
    if k_q is None or k_q == kinematics.k_q:
        return kinematics
    if k_q > kinematics.k_q:
        kinematics = ObjectKinematics(rest, load_checkpoint(), reduction=ReductionKind.NONE)
    if k_q > kinematics.k_q:
        raise Refused(f"the network's latent has {kinematics.k_q} directions, so there are no {k_q} coordinates")
    _keep_directions(kinematics, k_q)
    return kinematics


def _keep_directions(kinematics: ObjectKinematics, count: int) -> None:
    """Drop all but the first directions. Only for timing, so it reaches into what is otherwise immutable."""
    old = kinematics.reduction
    kinematics.reduction = replace(old, basis=old.basis[:, :count], rms_motion=old.rms_motion[:count])
    kinematics.prior_offset = kinematics.prior_offset[:count]
    kinematics.decoder = kinematics.decoder.leading(count)
