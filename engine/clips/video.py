"""Video files: H.264 in MP4, 4:2:0, exactly the asked rate, count and (even) size, checked by reading them back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.error import FFmpegError
from av.video.codeccontext import VideoCodecContext
from av.video.reformatter import ColorRange, Colorspace
from av.video.stream import VideoStream
from jaxtyping import UInt8

from engine.clips.clip import ClipError
from engine.clips.replacing import ExportCancelled, replacing

logger = logging.getLogger(__name__)

# The software encoder comes first: its result is the same on every machine.
ENCODERS = ("libx264", "libopenh264", "h264_videotoolbox", "h264_nvenc", "h264_qsv", "h264_mf")
_OPTIONS = {"libx264": {"crf": "18", "preset": "faster"}}
_BT709 = 1


@dataclass(frozen=True, slots=True)
class VideoReport:
    """What was written, as read back.

    Attributes:
        frames: number of pictures.
        size: width and height [pixels].
        fps: pictures per second.
        encoder: its name.
    """

    frames: int
    size: tuple[int, int]
    fps: Fraction
    encoder: str


def even_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return the size that a video of a wanted size has: 4:2:0 needs even numbers, so odd ones grow by one."""
    width, height = size
    return width + width % 2, height + height % 2


def write_video(
    frames: Iterable[UInt8[np.ndarray, "h w 3"]],
    path: Path,
    *,
    fps: int | float | Fraction,
    size: tuple[int, int],
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> VideoReport:
    """Encode pictures as they come; only a few are in memory at a time.

    Args:
        frames: pictures of ``size`` or of `even_size` of it, rows from the top.
        path: target; written beside it and renamed when it was read back well.
        fps: pictures per second.
        size: width and height [pixels].
        progress: called with the number of pictures taken in.
        cancelled: asked before each picture.

    Raises:
        ClipError: no encoder, a wrong picture, no picture, or a file that does not read back as asked.
        ExportCancelled: ``cancelled`` said so; nothing is left behind.
    """
    rate = Fraction(fps).limit_denominator(1001)
    if rate <= 0 or min(size) < 2:
        raise ClipError(f"a video needs a positive rate and at least 2 x 2 pixels; asked were {fps} and {size}")
    encoder = find_encoder(size)
    count = 0
    with replacing(path) as part:
        try:
            with av.open(str(part), "w", format="mp4", options={"movflags": "+faststart"}) as film:
                stream = film.add_stream(encoder, rate=rate, options=_OPTIONS.get(encoder, {}))
                assert isinstance(stream, VideoStream)
                _configure(stream.codec_context, size, rate)
                for picture in _checked(frames, size, cancelled):
                    film.mux(stream.encode(_encodable(picture, count, rate)))
                    count += 1
                    if progress is not None:
                        progress(count)
                film.mux(stream.encode(None))
        except FFmpegError as problem:
            raise ClipError(f"{path.name} could not be encoded: {problem.strerror or problem}.") from problem
        if count == 0:
            raise ClipError(f"{path.name} was not written: there was no picture.")
        try:
            report = _read_back(part, encoder)
        except (FFmpegError, IndexError) as problem:
            raise ClipError(f"{path.name} did not read back as a video; is the disk full?") from problem
        if (report.frames, report.size, report.fps) != (count, even_size(size), rate):
            raise ClipError(
                f"{path.name} should have {count} pictures of {even_size(size)} at {rate}/s; read back it has "
                f"{report.frames} of {report.size} at {report.fps}/s."
            )
    return report


def find_encoder(size: tuple[int, int]) -> str:
    """Return the first encoder that really opens at this size: being listed is no proof.

    Raises:
        ClipError: none does.
    """
    for name in ENCODERS:
        if probe_encoder(name, size):
            return name
    raise ClipError(
        f"no H.264 encoder opens at {even_size(size)} pixels; install PyAV with libx264, or choose a smaller size"
    )


def probe_encoder(name: str, size: tuple[int, int]) -> bool:
    """Return whether an encoder opens and takes a picture at a size [pixels]."""
    width, height = even_size(size)
    try:
        context = av.CodecContext.create(name, "w")
        assert isinstance(context, VideoCodecContext)
        _configure(context, size, Fraction(30))
        context.options = _OPTIONS.get(name, {})
        picture = np.zeros((height, width, 3), np.uint8)
        context.encode(_encodable(picture, 0, Fraction(30)))
        context.encode(None)
    except (FFmpegError, ValueError, AssertionError) as problem:
        logger.debug("encoder %s: %s", name, problem)
        return False
    return True


def _configure(context: VideoCodecContext, size: tuple[int, int], rate: Fraction) -> None:
    context.width, context.height = even_size(size)
    context.pix_fmt = "yuv420p"
    context.framerate = rate
    context.time_base = 1 / rate
    context.thread_count = 1 if size[0] * size[1] < 320 * 240 else 2
    # Said in the file, so that players show the colours of the window.
    context.colorspace = context.color_primaries = context.color_trc = _BT709
    context.color_range = ColorRange.MPEG


def _checked(
    frames: Iterable[UInt8[np.ndarray, "h w 3"]], size: tuple[int, int], cancelled: Callable[[], bool] | None
) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
    """Yield the pictures at the even size; an odd row or column is doubled at the edge."""
    width, height = even_size(size)
    asked = cancelled or (lambda: False)
    source = iter(frames)
    try:
        while not asked():
            try:
                picture = next(source)
            except StopIteration:
                return
            if picture.shape not in ((height, width, 3), (size[1], size[0], 3)) or picture.dtype != np.uint8:
                raise ClipError(
                    f"pictures should be 8-bit RGB of {size[0]} x {size[1]}; one is {picture.dtype}{picture.shape}"
                )
            missing = (height - picture.shape[0], width - picture.shape[1])
            yield np.pad(picture, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge") if any(missing) else picture
        raise ExportCancelled
    finally:
        # A renderer behind the pictures has a window to close.
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _encodable(picture: UInt8[np.ndarray, "h w 3"], index: int, rate: Fraction) -> av.VideoFrame:
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    frame = frame.reformat(
        format="yuv420p",
        dst_colorspace=Colorspace.ITU709,
        src_color_range=ColorRange.JPEG,
        dst_color_range=ColorRange.MPEG,
    )
    frame.pts, frame.time_base = index, 1 / rate
    return frame


def _read_back(path: Path, encoder: str) -> VideoReport:
    """Open the file as a player would: count its pictures and decode the first."""
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        first = next(film.decode(stream), None)
        if first is None:
            raise IndexError("no picture")
        film.seek(0)
        count = sum(1 for packet in film.demux(stream) if packet.size)
        return VideoReport(count, (first.width, first.height), Fraction(stream.average_rate or 0), encoder)
