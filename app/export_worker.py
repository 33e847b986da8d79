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

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
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
    except Exception as problem:  # noqa: BLE001  (whatever it is, the window shall show it)
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
    from engine.clips.clip_file import read_clip  # noqa: PLC0415  (slow to import; the first news comes earlier)
    from engine.clips.video import write_video  # noqa: PLC0415

    _say("reading")
    clip = read_clip(Path(request.clip))
    count = frame_count(clip, request.fps)

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


def frame_count(clip: Clip, fps: int) -> int:
    """Return the number of pictures of a clip at a rate."""
    return max(1, int(float(clip.times[-1] - clip.times[0]) * fps + 1e-6) + 1)


def pictures(clip: Clip, request: VideoRequest) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    """Draw the pictures of a clip, one after another."""
    import numpy as np  # noqa: PLC0415

    from app.render.cameras import OrbitCamera  # noqa: PLC0415
    from app.render.offscreen import OffscreenRenderer  # noqa: PLC0415

    camera = None
    if request.camera is not None:
        x, y, z, distance, azimuth, elevation = request.camera
        camera = OrbitCamera(np.array((x, y, z)), distance, azimuth, elevation)
    rest = _rest_with_materials(clip, request.mesh)
    start = float(clip.times[0])
    size = (request.width, request.height)
    first = clip.at(start)
    with OffscreenRenderer(rest, size=size, vertices=first, camera=camera, floor=request.floor) as renderer:
        for index in range(frame_count(clip, request.fps)):
            yield renderer.image(clip.at(start + index / request.fps))


def _rest_with_materials(clip: Clip, mesh: str) -> RestShape:
    """Return the rest shape with the file's materials, or a plain one made from the clip alone."""
    from engine.geometry.mesh_reader import load_rest_shape  # noqa: PLC0415
    from engine.geometry.rest_shape import rest_shape_from_arrays  # noqa: PLC0415

    if mesh and Path(mesh).is_file():
        rest = load_rest_shape(Path(mesh))
        if rest.vertices.shape == clip.rest_vertices.shape:
            return rest
    return rest_shape_from_arrays(clip.rest_vertices, clip.rest_faces)


def _say(what: str, **details: object) -> None:
    sys.stdout.write(json.dumps({"what": what, **details}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
