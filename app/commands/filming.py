"""Draws the pictures of a clip off screen: the whole motion in view, with pulls and pins marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from app.commands.parsing import CameraChoice
from engine.clips.clip import Clip
from engine.clips.video import even_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jaxtyping import Float, UInt8

    from app.render.cameras import OrbitCamera
    from app.render.offscreen import Overlays
    from engine.api import Film
    from engine.geometry.rest_shape import RestShape

# Enough to find how far the object comes; a swing between two of them stays in the air around the frame.
_LOOKS = 24
_ARROW_SHARE = 0.3


def film_of(*, size: tuple[int, int], camera: CameraChoice | OrbitCamera, marks: bool = True) -> Film:
    """Return how to draw clips at a size [pixels], each with all of its motion in view or with a camera that stays."""
    from engine.api import Film

    def draw(clip: Clip, times: Float[np.ndarray, " f"]) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        return _pictures(clip, times, even_size(size), camera, marks=marks)

    return Film(size, draw)


def _pictures(
    clip: Clip,
    times: Float[np.ndarray, " f"],
    size: tuple[int, int],
    choice: CameraChoice | OrbitCamera,
    *,
    marks: bool,
) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    from app.render.offscreen import OffscreenRenderer

    rest = drawn_shape(clip)
    overlay = _overlays(clip, rest) if marks else None
    first = clip.at(float(times[0]))
    camera = camera_over([clip], times, size, choice) if isinstance(choice, CameraChoice) else choice
    with OffscreenRenderer(rest, size=size, vertices=first, camera=camera, floor=clip.facts.floor) as renderer:
        for time in times:
            vertices = clip.at(float(time))
            yield renderer.image(vertices, None if overlay is None else overlay(float(time), vertices))


def drawn_shape(clip: Clip) -> RestShape:
    """Return the rest shape with the materials of its file, or a plain one where the file is gone or another."""
    from engine.geometry.load_report import MeshError
    from engine.geometry.mesh_reader import load_rest_shape
    from engine.geometry.rest_shape import UpAxis, rest_shape_from_arrays

    path = Path(clip.facts.mesh)
    for up in (None, *UpAxis) if clip.facts.mesh and path.is_file() else ():
        try:
            rest = load_rest_shape(path, up=up)
        except MeshError:
            break
        same = rest.vertices.shape == clip.rest_vertices.shape
        if same and np.allclose(rest.vertices, clip.rest_vertices, atol=1e-5):
            return rest
    return rest_shape_from_arrays(clip.rest_vertices, clip.rest_faces, name=clip.facts.name)


def camera_over(
    clips: Sequence[Clip], times: Float[np.ndarray, " f"], size: tuple[int, int], choice: CameraChoice
) -> OrbitCamera:
    """Return a camera that has the object in view at all times of all clips."""
    from app.render.cameras import OrbitCamera

    looks = [clip.at(float(time)) for clip in clips for time in times[:: max(1, len(times) // _LOOKS)]]
    low = np.min([look.min(0) for look in looks], axis=0).astype(float)
    high = np.max([look.max(0) for look in looks], axis=0).astype(float)
    camera = OrbitCamera()
    camera.azimuth, camera.elevation = np.radians(choice.azimuth), np.radians(choice.elevation)
    camera.frame(low, high, size[0] / size[1])
    camera.distance *= choice.distance
    return camera


def _overlays(clip: Clip, rest: RestShape) -> Callable[[float, Float[np.ndarray, "n 3"]], Overlays]:
    """Return what is marked at a time: the recorded hand and pins, or else the first timed force that acts."""
    from app.render.offscreen import Overlays
    from engine.runtime.condition_loads import place_conditions

    forces = [c for c in clip.facts.conditions if c.kind == "force"]
    placed = place_conditions(forces, rest, metres_per_unit=clip.metres_per_unit)
    reach = _ARROW_SHARE * float(np.linalg.norm(np.ptp(clip.vertices(0), axis=0)))
    inputs = clip.inputs

    def marks(time: float, vertices: Float[np.ndarray, "n 3"]) -> Overlays:
        # The inputs of a step are kept with its end.
        index = min(clip.place_of(time)[0] + 1, len(clip.times) - 1)
        pins = inputs.pins[index]
        pins = pins[np.isfinite(pins).all(1)]
        pull = None
        if inputs.face[index] >= 0:
            point = inputs.barycentric[index] @ vertices[clip.rest_faces[inputs.face[index]]]
            pull = (point, inputs.target[index])
        for item in placed if pull is None else ():
            if item.condition.active(time) and item.vector.any():
                point = np.asarray(item.point.barycentric) @ vertices[np.asarray(rest.faces)[item.point.face]]
                pull = (point, point + reach * item.vector / np.linalg.norm(item.vector))
                break
        return Overlays(pins=pins, pull=pull)

    return marks
