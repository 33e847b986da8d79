"""Write an object of the gallery: its GLB file and its thumbnail, from parts of one material each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from trimesh.visual.material import PBRMaterial

Y_UP = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)


@dataclass(frozen=True)
class Part:
    """Triangles of one material: a mesh, a colour (sRGB, 0 to 255), roughness, and smooth or hard edges.

    ``paint`` holds a colour of each vertex in place of the one colour.
    """

    mesh: trimesh.Trimesh
    color: tuple[int, int, int]
    roughness: float = 0.7
    metallic: float = 0.0
    smooth: bool = True
    paint: np.ndarray | None = None


def linear(colors: np.ndarray) -> np.ndarray:
    """Return sRGB colours (0 to 255) as linear ones with full opacity, which is what glTF holds."""
    rgb = np.rint(255 * (colors / 255) ** 2.2).astype(np.uint8)
    return np.column_stack((rgb, np.full(len(rgb), 255, np.uint8)))


def scene_of(parts: list[Part]) -> trimesh.Scene:
    """Return a glTF scene: one mesh per part, Y up."""
    scene = trimesh.Scene()
    for index, part in enumerate(parts):
        mesh = part.mesh.copy()
        normals = np.array(part.mesh.vertex_normals)
        material = PBRMaterial(
            name=f"part{index}",
            baseColorFactor=linear(np.array([part.color]))[0] if part.paint is None else [255] * 4,
            roughnessFactor=part.roughness,
            metallicFactor=part.metallic,
            doubleSided=True,
        )
        # Without normals in the file the program finds hard edges itself.
        given = {"vertex_normals": normals} if part.smooth else {}
        shown = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False, **given)
        shown.visual = trimesh.visual.TextureVisuals(material=material)
        if part.paint is not None:
            shown.visual.vertex_attributes["color"] = linear(part.paint)
        shown.apply_transform(Y_UP)
        scene.add_geometry(shown, geom_name=f"part{index}")
    return scene


def thumbnail(parts: list[Part], path: Path) -> None:
    """Render an object off-screen on the window's dark ground."""
    import pyvista as pv

    plotter = pv.Plotter(off_screen=True, window_size=(512, 512), lighting="three lights")
    plotter.set_background("#1b1e24")
    for part in parts:
        faces = np.column_stack((np.full(len(part.mesh.faces), 3), part.mesh.faces)).ravel()
        surface = pv.PolyData(np.array(part.mesh.vertices), faces)
        if part.smooth:
            surface.point_data.active_normals = np.array(part.mesh.vertex_normals)
        if part.paint is not None:
            surface.point_data["paint"] = np.rint(part.paint).astype(np.uint8)
        look = {"color": [c / 255 for c in part.color]} if part.paint is None else {"scalars": "paint", "rgb": True}
        plotter.add_mesh(
            surface,
            **look,
            smooth_shading=part.smooth,
            specular=0.4 * (1 - part.roughness),
            ambient=0.12,
        )
    bounds = np.array([p.mesh.bounds for p in parts])
    low, high = bounds[:, 0].min(0), bounds[:, 1].max(0)
    centre, size = 0.5 * (low + high), float(np.linalg.norm(high - low))
    plotter.camera_position = [tuple(centre + size * np.array([1.25, -1.36, 0.85])), tuple(centre), (0, 0, 1)]
    plotter.camera.view_angle = 30
    plotter.camera.zoom(1.0)
    plotter.enable_anti_aliasing("ssaa")
    image = plotter.screenshot(None, return_img=True)
    plotter.close()
    from PIL import Image

    Image.fromarray(image).resize((256, 256), Image.Resampling.LANCZOS).save(path, optimize=True)
