"""A process of its own that turns a clip file into a video: decode, draw off screen, encode.

It reads one request from the command line, writes one JSON line for each piece of news, and stops when its standard
input closes: so it also ends, leaving no half-written file, when the window that started it has gone.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxtyping import UInt8

    from engine.clips.clip import Clip
    from engine.geometry.rest_shape import RestShape


@dataclass(frozen=True, slots=True)
class VideoRequest:
    """What to write.

    Attributes:
        clip: clip file to read.
        mesh: mesh file of the object, for its materials; empty when it is not to be had.
        target: video file to write.
        width: picture width [pixels], even.
        height: picture height [pixels], even.
        fps: pictures per second.
        camera: focus x, y, z [m], distance [m], azimuth [rad], elevation [rad], or None for the usual view.
        floor: whether to draw the floor.
    """

    clip: str
    mesh: str
    target: str
    width: int
    height: int
    fps: int
    camera: tuple[float, float, float, float, float, float] | None = None
    floor: bool = True

    def to_json(self) -> str:
        """Return the request as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> VideoRequest:
        """Read a request from text."""
        content = json.loads(text)
        camera = content.pop("camera")
        return VideoRequest(**content, camera=None if camera is None else tuple(camera))


def main() -> int:
    """Serve one request; the exit status is 0 when the file was written, 3 when it was cancelled."""
    request = VideoRequest.from_json(sys.argv[1])
    cancelled = threading.Event()

    def watch() -> None:
        # The end of the input means that nobody waits for the result any more.
        sys.stdin.read()
        cancelled.set()

    threading.Thread(target=watch, name="export-cancel", daemon=True).start()
    try:
        write(request, cancelled)
    except Exception as problem:
        # Whatever it is, the window shall show it.
        if cancelled.is_set():
            _say("cancelled")
            return 3
        _say("failed", reason=str(problem) or type(problem).__name__)
        return 1
    if cancelled.is_set():
        _say("cancelled")
        return 3
    _say("done")
    return 0


def write(request: VideoRequest, cancelled: threading.Event) -> None:
    """Write the video of a request."""
    # Slow to import; the first news comes earlier.
    from engine.clips.clip_file import read_clip
    from engine.clips.resample import frame_times
    from engine.clips.video import write_video

    _say("reading")
    clip = read_clip(Path(request.clip))
    count = len(frame_times(clip, fps=request.fps))

    def progress(done: int) -> None:
        _say("progress", done=done, of=count)

    write_video(
        pictures(clip, request),
        Path(request.target),
        fps=request.fps,
        size=(request.width, request.height),
        progress=progress,
        cancelled=cancelled.is_set,
    )


def pictures(clip: Clip, request: VideoRequest) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    """Draw the pictures of a clip, one after another."""
    from app.render.cameras import OrbitCamera
    from app.render.offscreen import OffscreenRenderer
    from engine.clips.resample import resampled

    camera = None
    if request.camera is not None:
        x, y, z, distance, azimuth, elevation = request.camera
        camera = OrbitCamera(np.array((x, y, z)), distance, azimuth, elevation)
    rest = _rest_with_materials(clip, request.mesh)
    size = (request.width, request.height)
    with OffscreenRenderer(rest, size=size, vertices=clip.vertices(0), camera=camera, floor=request.floor) as renderer:
        for vertices in resampled(clip, fps=request.fps):
            yield renderer.image(vertices)


def _rest_with_materials(clip: Clip, mesh: str) -> RestShape:
    """Return the rest shape with the file's materials, or a plain one made from the clip alone."""
    from engine.geometry.load_report import MeshError, UpAxis
    from engine.geometry.mesh_reader import load_rest_shape
    from engine.geometry.rest_shape import rest_shape_from_arrays

    for up in (None, *UpAxis) if mesh and Path(mesh).is_file() else ():
        try:
            rest = load_rest_shape(Path(mesh), up=up)
        except MeshError:
            break
        # The file may have changed since, or have been opened with its other axis up.
        if rest.vertices.shape == clip.rest_vertices.shape and np.allclose(
            rest.vertices, clip.rest_vertices, atol=1e-6
        ):
            return rest
    return rest_shape_from_arrays(clip.rest_vertices, clip.rest_faces)


def _say(what: str, **details: object) -> None:
    sys.stdout.write(json.dumps({"what": what, **details}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
