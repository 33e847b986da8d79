"""Contact sheets: many small pictures of objects under a soft light on white paper, with captions.

`Studio` draws one object at a time in a hidden window that all share; the page around the pictures is laid out with
Pillow, whose letters are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyvista as pv
from jaxtyping import Float, Int, UInt8
from PIL import Image, ImageDraw, ImageFont
from vtkmodules.vtkCommonCore import vtkUnsignedCharArray
from vtkmodules.vtkRenderingCore import vtkLight

from app.render.cameras import OrbitCamera, View, clipping_range
from app.render.floor import FloorShadow
from app.render.offscreen import _prefer_surface_without_display
from app.render.scene_actors import ObjectActor
from engine.geometry.rest_shape import RenderPart
from engine.geometry.shading import crease_normals

PAPER = (250, 250, 251)
INK = (38, 42, 52)
FAINT = (112, 118, 132)
_PANEL = (255, 255, 255)
_LINE = (226, 229, 235)
CELL = (176, 152)
_MARGIN = 28
_GAP = 14
_CAPTION = 24
# From what stays to what moves most.
_MOVED = np.array(((104, 132, 178), (112, 176, 176), (238, 206, 128), (226, 116, 86)), np.float64)
ELEVATION = 20.0
"""Angle of the eye above the horizon [degrees]."""
# Share of the picture that an object fills at most; shadows fade out in the rest.
_FILL = 0.84
_SHADOW = 0.55


@dataclass(frozen=True, slots=True)
class Figure:
    """One object as it is drawn.

    Attributes:
        faces: triangles, shape (m, 3).
        states: vertices of each state, Z up, any unit, shape (f, n, 3).
        colors: red, green and blue of the vertices in each state, shape (f, n, 3).
    """

    faces: Int[np.ndarray, "m 3"]
    states: Float[np.ndarray, "f n 3"]
    colors: UInt8[np.ndarray, "f n 3"]


def distance_colors(share: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape 3"]:
    """Return colours (sRGB) from blue, for what stayed (0), to red, for what moved by the whole of a distance (1)."""
    steps = np.linspace(0.0, 1.0, len(_MOVED))
    return np.stack([np.interp(share, steps, channel) for channel in _MOVED.T], -1).astype(np.uint8)


class Studio:
    """A hidden window of one size, in which one object after the other is drawn."""

    def __init__(self, size: tuple[int, int] = CELL) -> None:
        """Open it; the size is width and height of the pictures [pixels]."""
        _prefer_surface_without_display()
        self.size = size
        self._plotter = pv.Plotter(off_screen=True, window_size=list(size), lighting="none")
        window = self._plotter.render_window
        assert window is not None
        self._window = window
        self._window.SetMultiSamples(8)
        renderer = self._plotter.renderer
        renderer.SetBackground(*(channel / 255 for channel in _PANEL))
        renderer.AutomaticLightCreationOff()
        # The objects' own program lights them; VTK hands it normals only where at least one light is on.
        lamp = vtkLight()
        lamp.SetLightTypeToHeadlight()
        renderer.AddLight(lamp)
        renderer.SetUseOIT(False)
        self._read = vtkUnsignedCharArray()
        self._fade = _fading(size)
        # Showing looks at everything anew, so it is done while there is nothing.
        self._plotter.show(auto_close=False, interactive=False)

    def pictures(self, *figures: Figure, elevation: float = ELEVATION) -> list[UInt8[np.ndarray, "h w 3"]]:
        """Return a picture of each state, all from one place from which all states of all figures are in view.

        Args:
            figures: objects.
            elevation: angle of that place above the horizon [degrees].
        """
        floor = min(float(figure.states[..., 2].min()) for figure in figures)
        placed = [np.array(figure.states, np.float32) - np.array((0, 0, floor), np.float32) for figure in figures]
        points = np.concatenate([states.reshape(-1, 3) for states in placed])
        camera = camera_on(points, self.size[0] / self.size[1], elevation=elevation)
        view = camera.view(*self.size)
        low = np.min([states.min((0, 1)) for states in placed], axis=0).astype(float)
        high = np.max([states.max((0, 1)) for states in placed], axis=0).astype(float)
        size = max(float(np.linalg.norm(np.ptp(placed[0][0], axis=0))), 1e-6)
        eye = self._plotter.renderer.GetActiveCamera()
        eye.SetPosition(*view.position)
        eye.SetFocalPoint(*camera.focus)
        eye.SetViewUp(*view.up)
        eye.SetViewAngle(2.0 * np.degrees(np.arctan(view.tangent)))
        eye.SetClippingRange(*clipping_range(view, low, high, 2.0 * size))
        return [
            picture
            for figure, states in zip(figures, placed, strict=True)
            for picture in self._drawn(figure, states, view, size)
        ]

    def _drawn(
        self, figure: Figure, states: Float[np.ndarray, "f n 3"], view: View, size: float
    ) -> list[UInt8[np.ndarray, "h w 3"]]:
        part = _render_part(figure.faces, states[0])
        actor, shadow = ObjectActor([part], states[0]), FloorShadow(figure.faces, states[0], size)
        shadow.actor.GetProperty().SetOpacity(_SHADOW)
        renderer = self._plotter.renderer
        shadow.add_to(renderer)
        actor.add_to(renderer)
        actor.light(view)
        mesh = pv.wrap(actor.actors[0].GetMapper().GetInput())
        stored = np.asarray(mesh.point_data["colors"])
        result: list[UInt8[np.ndarray, "h w 3"]] = []
        try:
            for vertices, colors in zip(states, figure.colors, strict=True):
                stored[:, :3] = colors[part.sim_index]
                mesh.GetPointData().GetScalars().Modified()
                actor.update(vertices)
                shadow.update(vertices)
                result.append(self._picture())
        finally:
            actor.remove_from(renderer)
            shadow.remove_from(renderer)
        return result

    def _picture(self) -> UInt8[np.ndarray, "h w 3"]:
        self._window.Render()
        width, height = self.size
        # PyVista's way of reading a picture takes four times as long.
        self._window.GetPixelData(0, 0, width - 1, height - 1, 0, self._read, 0)
        picture = pv.convert_array(self._read).reshape(height, width, 3)[::-1]
        return (255.0 - (255.0 - picture) * self._fade).astype(np.uint8)

    def close(self) -> None:
        """Close the window and free its memory."""
        self._plotter.close()

    def __enter__(self) -> Studio:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def camera_on(points: Float[np.ndarray, "n 3"], aspect: float, *, elevation: float = ELEVATION) -> OrbitCamera:
    """Return a camera that has all points well in view, closer than their box would let it come.

    Args:
        points: Z up, shape (n, 3).
        aspect: width over height of the picture.
        elevation: angle of the camera above the horizon [degrees].
    """
    points = points[:: max(1, len(points) // 20000)].astype(np.float64)
    camera = OrbitCamera(elevation=float(np.radians(elevation)))
    camera.frame(points.min(0), points.max(0), aspect)
    for _ in range(4):
        view = camera.view(1000, 1000)
        offset = points - view.position
        depth = offset @ view.forward
        across = np.stack((offset @ view.right, offset @ view.up), -1) / depth[:, None]
        middle = 0.5 * (across.min(0) + across.max(0))
        reach = 0.5 * np.ptp(across, axis=0) / (view.tangent * _FILL * np.array((aspect, 1.0)))
        camera.focus = camera.focus + camera.distance * (middle[0] * view.right + middle[1] * view.up)
        camera.distance *= max(float(reach.max()), 0.05)
    return camera


def _fading(size: tuple[int, int]) -> Float[np.ndarray, "h w 1"]:
    """Return how much is left of a picture towards its edges, so that no shadow ends there in a line."""
    away = [np.minimum(np.arange(n) + 0.5, n - np.arange(n) - 0.5) for n in size]
    x, y = (np.clip(distance / (0.08 * n), 0.0, 1.0) for distance, n in zip(away, size, strict=True))
    return (y[:, None] * x)[..., None]


def _render_part(faces: Int[np.ndarray, "m 3"], rest: Float[np.ndarray, "n 3"]) -> RenderPart:
    corners, source, normals = crease_normals(
        rest.astype(np.float64), np.arange(len(rest)), faces.astype(np.int64), keep_seams=False
    )
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return RenderPart(
        vertices=np.ascontiguousarray(rest[source], np.float32),
        faces=corners.astype(np.int32),
        normals=(normals / np.maximum(length, 1e-12)).astype(np.float32),
        uv=None,
        colors=np.full((len(source), 4), 255, np.uint8),
        base_color=(1.0, 1.0, 1.0, 1.0),
        metallic=0.0,
        roughness=0.55,
        texture=None,
        sim_index=source.astype(np.int32),
    )


@dataclass(frozen=True, slots=True)
class Strip:
    """Pictures side by side with a caption under them; missing ones leave white."""

    pictures: Sequence[UInt8[np.ndarray, "h w 3"]]
    caption: str


def draw_page(
    strips: Sequence[Strip],
    *,
    columns: int,
    width: int,
    title: str,
    note: str = "",
) -> Image.Image:
    """Lay strips out in a grid under a title.

    Args:
        strips: row by row.
        columns: strips in a row.
        width: pictures in a strip.
        title: large, at the top.
        note: small, under the title.
    """
    return _laid_out(strips, columns=columns, width=width, title=title, note=note)[0]


def _laid_out(
    strips: Sequence[Strip], *, columns: int, width: int, title: str, note: str
) -> tuple[Image.Image, list[tuple[int, int]]]:
    """Return the page, and where on it the first picture of each strip lies [pixels]."""
    wide, high = width * CELL[0] + 2, CELL[1] + _CAPTION + 2
    top = draw_heading(title, note, 2 * _MARGIN + columns * (wide + _GAP) - _GAP)
    page = Image.new("RGB", (top.width, top.height + -(-len(strips) // columns) * (high + _GAP) + _GAP), PAPER)
    page.paste(top)
    pen = ImageDraw.Draw(page)
    places: list[tuple[int, int]] = []
    for index, strip in enumerate(strips):
        row, column = divmod(index, columns)
        x, y = _MARGIN + column * (wide + _GAP), top.height + row * (high + _GAP)
        places.append((x + 1, y + 1))
        pen.rounded_rectangle((x, y, x + wide - 1, y + high - 1), radius=6, fill=_PANEL, outline=_LINE)
        for number, picture in enumerate(strip.pictures[:width]):
            page.paste(Image.fromarray(picture), (x + 1 + number * CELL[0], y + 1))
        _write(pen, (x + 9, y + CELL[1]), strip.caption, 14, INK, wide - 18)
    return page, places


def draw_film(strips: Sequence[Strip], *, columns: int, title: str, note: str) -> list[Image.Image]:
    """Return a page for each moment: the pictures of each strip, of which all have as many, follow one another."""
    first, places = _laid_out(strips, columns=columns, width=1, title=title, note=note)
    pages: list[Image.Image] = []
    for moment in zip(*(strip.pictures for strip in strips), strict=True):
        page = first.copy()
        for picture, place in zip(moment, places, strict=True):
            page.paste(Image.fromarray(picture), place)
        pages.append(page)
    return pages


def draw_heading(title: str, note: str, width: int) -> Image.Image:
    """Return a title, and a note under it where there is one, on paper of a width [pixels]."""
    page = Image.new("RGB", (width, _MARGIN + 36 + (26 if note else 0)), PAPER)
    pen = ImageDraw.Draw(page)
    _write(pen, (_MARGIN, _MARGIN - 8), title, 26, INK, width - 2 * _MARGIN)
    if note:
        _write(pen, (_MARGIN, _MARGIN + 28), note, 15, FAINT, width - 2 * _MARGIN)
    return page


def stacked(pages: Sequence[Image.Image]) -> Image.Image:
    """Return pages under one another."""
    result = Image.new("RGB", (max(page.width for page in pages), sum(page.height for page in pages)), PAPER)
    y = 0
    for page in pages:
        result.paste(page, (0, y))
        y += page.height
    return result


def _write(
    pen: ImageDraw.ImageDraw, at: tuple[int, int], text: str, size: int, color: tuple[int, int, int], room: int
) -> None:
    """Write a line, smaller and then shorter where it would be wider than the room [pixels]."""
    font = ImageFont.load_default(size)
    while size > 11 and pen.textlength(text, font=font) > room:
        size -= 1
        font = ImageFont.load_default(size)
    shown = text
    while len(shown) > 1 and pen.textlength(shown, font=font) > room:
        text = text[:-1]
        shown = text + "..."
    pen.text(at, shown, fill=color, font=font)
