"""Appearance of a mesh part, read from trimesh's visuals: colours, texture and shininess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

_PLAIN = (0.8, 0.8, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Appearance:
    """How a part looks; the fields are those of ``RenderPart``."""

    uv: Float[np.ndarray, "v 2"] | None = None
    colors: UInt8[np.ndarray, "v 4"] | None = None
    base_color: tuple[float, float, float, float] = _PLAIN
    metallic: float = 0.0
    roughness: float = 0.6
    texture: UInt8[np.ndarray, "h w c"] | None = None
    material: str = ""


class ImageStore:
    """Images already decoded, so that parts of one texture share one read-only array."""

    def __init__(self) -> None:
        """Start empty."""
        self._known: dict[tuple[int, str], tuple[Any, UInt8[np.ndarray, "h w c"]]] = {}

    def pixels(self, image: Any, *, alpha: bool) -> UInt8[np.ndarray, "h w c"] | None:
        """Return the pixels of a PIL image, first row at the top; ``None`` if absent or damaged."""
        if image is None:
            return None
        mode = "RGBA" if alpha and (image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info) else "RGB"
        key = (id(image), mode)
        if key not in self._known:
            try:
                array = np.array(image.convert(mode), np.uint8)
            except (OSError, ValueError, SyntaxError):
                return None
            array.setflags(write=False)
            # The image is kept beside its pixels because its id is only its own while it lives.
            self._known[key] = (image, array)
        return self._known[key][1]


def read_appearance(mesh: Any, images: ImageStore, *, linear_colors: bool) -> Appearance:
    """Read the appearance of a ``trimesh.Trimesh``.

    Args:
        mesh: the mesh.
        images: images of the same file decoded so far.
        linear_colors: whether its plain colours are linear light, as in glTF; they are then
            converted to sRGB.
    """
    visual = mesh.visual
    count = len(mesh.vertices)
    if visual is None or not getattr(visual, "defined", False):
        return Appearance()
    if visual.kind in ("vertex", "face"):
        rgba = np.asarray(visual.vertex_colors, np.uint8)
        return Appearance(colors=_displayed(rgba, linear=linear_colors), base_color=(1.0, 1.0, 1.0, 1.0))
    if visual.kind != "texture":
        return Appearance()
    uv = getattr(visual, "uv", None)
    uv = np.asarray(uv, np.float32) if uv is not None and np.shape(uv) == (count, 2) else None
    if uv is not None and not np.isfinite(uv).all():
        uv = np.nan_to_num(uv, posinf=0.0, neginf=0.0)
    colors = _attribute_colors(visual, count, linear=linear_colors)
    material = visual.material
    if hasattr(material, "baseColorFactor"):
        return _physical(material, uv, colors, images, linear=linear_colors)
    return _classic(material, uv, colors, images)


def _physical(
    material: Any,
    uv: Float[np.ndarray, "v 2"] | None,
    colors: UInt8[np.ndarray, "v 4"] | None,
    images: ImageStore,
    *,
    linear: bool,
) -> Appearance:
    factor = material.baseColorFactor
    color = np.ones(4) if factor is None else _unit_rgba(factor)
    if linear:
        color[:3] = np.clip(_to_srgb(color[:3]), 0.0, 1.0)
    opaque = str(getattr(material, "alphaMode", None) or "OPAQUE") == "OPAQUE"
    if opaque:
        color[3] = 1.0
    metallic = _number(material.metallicFactor, 1.0 if linear else 0.0)
    roughness = _number(material.roughnessFactor, 1.0)
    surface = images.pixels(getattr(material, "metallicRoughnessTexture", None), alpha=False)
    if surface is not None:
        # One number for each part: the image's means, roughness in green and metallic in blue.
        roughness *= float(surface[..., 1].mean()) / 255.0
        metallic *= float(surface[..., 2].mean()) / 255.0
    return Appearance(
        uv=uv,
        colors=colors,
        base_color=_four(color),
        metallic=metallic,
        roughness=roughness,
        texture=None if uv is None else images.pixels(material.baseColorTexture, alpha=not opaque),
        material=str(material.name or ""),
    )


def _classic(
    material: Any,
    uv: Float[np.ndarray, "v 2"] | None,
    colors: UInt8[np.ndarray, "v 4"] | None,
    images: ImageStore,
) -> Appearance:
    texture = None if uv is None else images.pixels(getattr(material, "image", None), alpha=True)
    diffuse = getattr(material, "diffuse", None)
    color = np.array(_PLAIN) if diffuse is None else _unit_rgba(diffuse)
    if texture is not None and not color[:3].any():
        # Many exporters write a black diffuse colour beside a texture that is meant to be seen.
        color[:3] = 1.0
    shininess = _number(getattr(material, "glossiness", None), 20.0)
    return Appearance(
        uv=uv,
        colors=colors,
        base_color=_four(color),
        metallic=0.0,
        roughness=float(np.clip((2.0 / (max(shininess, 0.0) + 2.0)) ** 0.25, 0.15, 1.0)),
        texture=texture,
        material=str(getattr(material, "name", None) or ""),
    )


def _attribute_colors(visual: Any, count: int, *, linear: bool) -> UInt8[np.ndarray, "v 4"] | None:
    raw = getattr(visual, "vertex_attributes", {}).get("color")
    if raw is None or len(raw) != count:
        return None
    values = np.asarray(raw)
    if values.dtype.kind in "ui":
        values = values / float(np.iinfo(values.dtype).max)
    rgba = np.ones((count, 4))
    rgba[:, : values.shape[1]] = np.clip(values, 0.0, 1.0)
    bytes_ = np.rint(rgba * 255.0).astype(np.uint8)
    # White everywhere says nothing, and vertex colours would hide the material's.
    return None if (bytes_ == 255).all() else _displayed(bytes_, linear=linear)


def _displayed(rgba: UInt8[np.ndarray, "v 4"], *, linear: bool) -> UInt8[np.ndarray, "v 4"]:
    if not linear:
        return rgba
    shown = rgba.copy()
    table = np.rint(_to_srgb(np.arange(256) / 255.0) * 255.0).astype(np.uint8)
    shown[:, :3] = table[rgba[:, :3]]
    return shown


def _unit_rgba(value: Any) -> np.ndarray:
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.dtype.kind in "ui":
        numbers = numbers / 255.0
    color = np.ones(4)
    color[: min(4, len(numbers))] = np.clip(np.nan_to_num(numbers[:4]), 0.0, 1.0)
    return color


def _to_srgb(linear: np.ndarray) -> np.ndarray:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


def _four(color: np.ndarray) -> tuple[float, float, float, float]:
    return float(color[0]), float(color[1]), float(color[2]), float(color[3])


def _number(value: Any, default: float) -> float:
    return float(value) if value is not None and np.isfinite(value) else default
