"""Build the gallery: nine objects as small GLB files, their thumbnails and the list that the window reads.

Run `make gallery`. Everything is made here, from distance fields and simple solids; nothing is downloaded.
Lengths in metres; written Y up, as glTF wants, although the shapes below are put together Z up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial import KDTree
from trimesh.creation import capsule, cone, cylinder, icosphere, torus

from engine.datasets.shapes.primitives import along, open_box, placed, rounded_box, turned
from engine.datasets.shapes.solids import metaballs
from gallery_files import Part, scene_of, thumbnail

OBJECTS = Path(__file__).parent / "objects"
X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class Entry:
    """One line of the gallery."""

    title: str
    description: str
    anchor: str
    material: str
    parts: Callable[[], list[Part]]


# -- soft bodies from distance fields ------------------------------------------------------------------------------


def blob(capsules: list[tuple], blend: float, resolution: int) -> trimesh.Trimesh:
    """Return the smooth union of capsules ``(a, b, ra, rb)`` as one closed surface."""
    starts, ends, radii = (np.array([c[i] for c in capsules], dtype=float) for i in (0, 1, slice(2, 4)))
    mesh = metaballs(starts, ends, radii, blend=2 * blend, resolution=resolution)
    trimesh.smoothing.filter_taubin(mesh, iterations=6)
    return mesh


def by_region(
    mesh: trimesh.Trimesh, label: np.ndarray, colors: list[tuple[int, int, int]], roughness: float
) -> list[Part]:
    """Cut one surface into parts by a label per face; vertices stay where they are, normals stay those of the whole."""
    parts: list[Part] = []
    normals = np.array(mesh.vertex_normals)
    for index, color in enumerate(colors):
        faces = mesh.faces[label == index]
        if len(faces):
            used, inverse = np.unique(faces, return_inverse=True)
            piece = trimesh.Trimesh(
                mesh.vertices[used], inverse.reshape(-1, 3), process=False, vertex_normals=normals[used]
            )
            parts.append(Part(piece, color, roughness))
    return parts


def painted(mesh: trimesh.Trimesh, share: np.ndarray, colors: list[tuple[int, int, int]], roughness: float) -> Part:
    """Colour one surface by the share of the second colour at each vertex; along triangles a border would be ragged."""
    t = np.clip(share, 0.0, 1.0)[:, None]
    t = t * t * (3 - 2 * t)
    return Part(mesh, colors[0], roughness, paint=(1 - t) * np.array(colors[0]) + t * np.array(colors[1]))


def within(points: np.ndarray, centre: tuple[float, ...], radii: tuple[float, ...], blend: float) -> np.ndarray:
    """Return how far inside an ellipsoid points are: 1 within, 0 outside, over a border of width ``blend`` [m]."""
    distance = (np.linalg.norm((points - np.array(centre)) / radii, axis=-1) - 1) * min(radii)
    return 0.5 - distance / blend


def plush_bear() -> list[Part]:
    """A sitting bear with a pale belly, snout and paws."""
    c = [
        ((0, 0, 0.30), (0, 0, 0.46), 0.26, 0.22),
        ((0.0, 0, 0.80), (0.0, 0, 0.82), 0.225, 0.215),
        ((0.17, 0, 0.755), (0.22, 0, 0.75), 0.10, 0.085),
    ]
    for s in (-1, 1):
        c.append(((0.0, s * 0.165, 0.985), (0.0, s * 0.175, 1.0), 0.075, 0.07))
        c.append(((0.05, s * 0.22, 0.53), (0.22, s * 0.40, 0.40), 0.095, 0.09))
        c.append(((0.10, s * 0.17, 0.13), (0.40, s * 0.23, 0.10), 0.125, 0.115))
    body = blob(c, 0.022, 54)
    v, blend = np.array(body.vertices), 0.024
    pale = [((0.26, 0, 0.36), (0.16, 0.15, 0.19)), ((0.24, 0, 0.75), (0.12, 0.12, 0.095))]
    for s in (-1, 1):
        pale += [((0.53, s * 0.25, 0.10), (0.095,) * 3), ((0.075, s * 0.175, 1.0), (0.052,) * 3)]
    share = np.max([within(v, centre, radii, blend) for centre, radii in pale], axis=0)
    parts = [painted(body, share, [(176, 124, 82), (236, 208, 170)], 0.95)]
    dark = (38, 30, 30)
    for s in (-1, 1):
        parts.append(Part(placed(icosphere(subdivisions=2, radius=0.026), (0.198, s * 0.083, 0.86)), dark, 0.25))
    nose = icosphere(subdivisions=2, radius=0.036).apply_scale((0.8, 1.2, 0.8))
    parts.append(Part(placed(nose, (0.305, 0, 0.785)), dark, 0.3))
    return parts


def gummy_ring() -> list[Part]:
    """A sweet: a slightly wobbly ring."""
    mesh = torus(0.34, 0.145, major_sections=64, minor_sections=28)
    angle = np.arctan2(mesh.vertices[:, 1], mesh.vertices[:, 0])
    mesh.vertices = mesh.vertices * (1 + 0.02 * np.cos(3 * angle) + 0.012 * np.sin(5 * angle))[:, None]
    return [painted(placed(mesh, (0, 0, 0.15)), 0.5 + 0.8 * np.cos(angle), [(232, 92, 74), (244, 170, 66)], 0.18)]


def octopus() -> list[Part]:
    """A round head that stands on eight long arms."""
    c = [((0, 0, 0.62), (0, 0, 0.80), 0.23, 0.22), ((0, 0, 0.46), (0, 0, 0.6), 0.16, 0.2)]
    for i in range(8):
        angle = 2 * np.pi * (i + 0.5) / 8
        at = np.array([0.10 * np.cos(angle), 0.10 * np.sin(angle), 0.46])
        heading, radius = angle, 0.095
        for j, (reach, height) in enumerate(((0.36, 0.36), (0.34, 0.12))):
            heading += 0.25 * (1 if i % 2 else -1) * (j > 0)
            end = np.array([at[0] + reach * np.cos(heading), at[1] + reach * np.sin(heading), height])
            c.append((at, end, radius, radius * 0.8))
            at, radius = end, radius * 0.8
    body = blob(c, 0.016, 66)
    share = np.minimum(0.4 - 2 * body.vertex_normals[:, 2], 10 * (0.5 - body.vertices[:, 2])) - 0.8
    parts = [painted(body, share, [(126, 92, 170), (224, 172, 196)], 0.45)]
    for s in (-1, 1):
        parts.append(
            Part(placed(icosphere(subdivisions=2, radius=0.055), (0.185, s * 0.10, 0.76)), (246, 244, 238), 0.3)
        )
        parts.append(Part(placed(icosphere(subdivisions=2, radius=0.03), (0.223, s * 0.108, 0.765)), (30, 26, 36), 0.2))
    return parts


# -- sheets, furniture and links -----------------------------------------------------------------------------------


def cloth_on_rail() -> list[Part]:
    """A striped cloth hanging in soft folds from a wooden rail."""
    n, w, h = 42, 1.0, 1.05
    u, v = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(0, 1, n), indexing="ij")
    depth = (0.012 + 0.03 * v) * np.sin(2 * np.pi * 3.5 * u + 0.4 * v)
    vertices = np.stack((w * u * (1 - 0.04 * v), depth, 1.2 - h * v), -1).reshape(-1, 3)
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = index[:-1, :-1].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate((np.stack((a, b, c), -1), np.stack((a, c, d), -1)))
    sheet = trimesh.Trimesh(vertices, faces, process=False)
    # Both triangles of a square have the colour of its row.
    band = np.tile(np.arange(n - 1) // 4 % 3, 2 * (n - 1))
    parts = by_region(sheet, (band == 1).astype(int), [(74, 120, 138), (232, 226, 208)], 0.95)
    rail = along(cylinder(0.022, 1.2, sections=20), -0.6 * X, 0.6 * X)
    parts.append(Part(placed(rail, (0, 0, 1.205)), (150, 106, 66), 0.6))
    for s in (-1, 1):
        parts.append(Part(placed(icosphere(subdivisions=2, radius=0.04), (s * 0.6, 0, 1.205)), (120, 82, 50), 0.6))
    return parts


def grid_box(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> trimesh.Trimesh:
    """Return a closed box whose faces are cut along the given coordinates, so that colours can follow the lines."""
    axes = [np.asarray(a, dtype=float) for a in (x, y, z)]
    quads: list[np.ndarray] = []
    for d in range(3):
        u, v = (d + 1) % 3, (d + 2) % 3
        for side in (0, -1):
            grid = np.zeros((len(axes[u]), len(axes[v]), 3))
            grid[..., d], grid[..., u], grid[..., v] = axes[d][side], axes[u][:, None], axes[v][None]
            corners = np.stack((grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]), 2).reshape(-1, 4, 3)
            quads.append(corners if side else corners[:, ::-1])
    corners = np.concatenate(quads)
    first = np.arange(len(corners))[:, None] * 4
    faces = np.concatenate((first + np.array([0, 1, 2]), first + np.array([0, 2, 3])))
    return trimesh.Trimesh(corners.reshape(-1, 3), faces, process=True)


def joined(*sources: tuple[trimesh.Trimesh, int]) -> tuple[trimesh.Trimesh, np.ndarray]:
    """Return the union of closed meshes as one surface, with the label of the source nearest to each of its faces."""
    union = trimesh.boolean.union([mesh for mesh, _ in sources], engine="manifold")
    centres = union.triangles_center
    samples = [trimesh.sample.sample_surface(mesh, 20000, seed=0)[0] for mesh, _ in sources]
    apart = np.stack([KDTree(points).query(centres)[0] for points in samples])
    return union, np.array([label for _, label in sources])[apart.argmin(0)]


def hard(parts: list[Part], *, metallic: dict[int, float] | None = None) -> list[Part]:
    """Return parts whose hard edges show: the program finds them where a file gives no normals."""
    shine = metallic or {}
    return [Part(p.mesh, p.color, p.roughness, shine.get(i, 0.0), False) for i, p in enumerate(parts)]


def laptop() -> list[Part]:
    """An open laptop: the lid stands at 110 degrees."""
    w, d, t, s = 1.0, 0.70, 0.034, 0.022
    key_x = np.concatenate([[-0.44 + 0.088 * i + 0.008, -0.44 + 0.088 * (i + 1) - 0.008] for i in range(10)])
    key_y = np.concatenate([[-0.09 + 0.082 * j + 0.008, -0.09 + 0.082 * (j + 1) - 0.008] for j in range(4)])
    x = np.unique(np.concatenate(([-w / 2, -0.45, -0.13, 0.13, 0.45, w / 2], key_x)))
    y = np.unique(np.concatenate(([-d / 2, -0.31, -0.15, -0.10, 0.246, d / 2], key_y)))
    base = grid_box(x, y, np.array([0.0, t]))
    c, top = base.triangles_center, base.face_normals[:, 2] > 0.5
    label = np.zeros(len(c), dtype=int)
    label[top & (np.abs(c[:, 0]) < 0.13) & (c[:, 1] > -0.31) & (c[:, 1] < -0.15)] = 1
    deck = top & (np.abs(c[:, 0]) < 0.45) & (c[:, 1] > -0.10) & (c[:, 1] < 0.246)
    label[deck] = 2
    inside = np.array([any(a < v < b for a, b in key_x.reshape(-1, 2)) for v in c[:, 0]])
    inside &= np.array([any(a < v < b for a, b in key_y.reshape(-1, 2)) for v in c[:, 1]])
    label[deck & inside] = 3
    silver, ink = (158, 164, 172), (34, 37, 44)
    parts = hard(by_region(base, label, [silver, (134, 140, 148), ink, (92, 97, 108)], 0.5), metallic={0: 0.2})

    hinge = np.array([0.0, 0.5 * d - 0.012, t + 0.004])
    lines_x = np.unique(np.concatenate((np.linspace(-0.46, 0.46, 12), [-w / 2, -0.25, 0.25, w / 2])))
    lines_y = np.unique(np.concatenate((np.linspace(-0.62, -0.04, 9), [-d + 0.006, -0.34, -0.31, 0.006])))
    lid = grid_box(lines_x, lines_y, np.array([0.0, s]))
    c, under = lid.triangles_center, lid.face_normals[:, 2] < -0.5
    label = np.zeros(len(c), dtype=int)
    label[under & (np.abs(c[:, 0]) < 0.46) & (c[:, 1] > -0.62) & (c[:, 1] < -0.04)] = 1
    label[under & (np.abs(c[:, 0]) < 0.25) & (c[:, 1] > -0.34) & (c[:, 1] < -0.31)] = 2
    lid = placed(turned(lid, -X, np.deg2rad(110)), hinge)
    return parts + hard(by_region(lid, label, [silver, (28, 38, 58), (108, 168, 222)], 0.35), metallic={0: 0.2})


def cabinet() -> list[Part]:
    """A small chest of three drawers, left a little open."""
    w, d, h, wall = 0.70, 0.48, 0.86, 0.03
    colors = [(138, 98, 66), (196, 158, 116), (206, 172, 102)]
    shell = placed(turned(open_box(np.array([w, h, d]), wall), X, np.pi / 2), (0, 0, h / 2 + 0.1))
    pieces = [(shell, 0), (placed(rounded_box(np.array([w + 0.06, d + 0.05, 0.04]), 0.012), (0, 0, h + 0.118)), 0)]
    for sx in (-1, 1):
        for sy in (-1, 1):
            pieces.append((placed(cylinder(0.026, 0.11, sections=16), (sx * 0.29, sy * 0.18, 0.055)), 0))
    parts = hard(by_region(*joined(*pieces), colors, 0.65))
    each = (h - 2 * wall) / 3
    for i, slide in enumerate((0.02, 0.11, 0.0)):
        z, y = 0.1 + wall + (i + 0.5) * each, -slide
        tray = placed(open_box(np.array([w - 0.10, d - 0.09, each * 0.72]), 0.016), (0, y + 0.012, z - 0.01))
        front = placed(rounded_box(np.array([w - 0.075, 0.06, each - 0.022]), 0.008), (0, y - d / 2 + 0.02, z))
        knob = placed(icosphere(subdivisions=2, radius=0.028), (0, y - d / 2 - 0.03, z))
        parts += hard(by_region(*joined((tray, 1), (front, 1), (knob, 2)), colors, 0.55))
    return parts


def desk_lamp() -> list[Part]:
    """A desk lamp: a round foot, two arms and a shade."""
    colors = [(46, 128, 132), (190, 194, 198), (252, 232, 178)]
    foot = placed(cylinder(0.24, 0.05, sections=48), (0, 0, 0.025))
    stem = placed(cylinder(0.045, 0.09, sections=24), (0, 0, 0.085))
    parts = hard(by_region(*joined((foot, 0), (stem, 1)), colors, 0.4))
    a, b, c = np.array([0, 0, 0.15]), np.array([-0.26, 0, 0.60]), np.array([0.26, 0, 0.92])
    for start, end, y in ((a, b, 0.0), (b, c, 0.0)):
        axis = (end - start) / np.linalg.norm(end - start)
        arm = capsule(height=float(np.linalg.norm(end - start)) - 0.13, radius=0.024, count=(20, 16))
        arm.apply_translation(-arm.bounds.mean(0))
        arm = along(arm, start + 0.02 * axis, end - 0.02 * axis)
        joint = placed(turned(cylinder(0.042, 0.07, sections=24), X, np.pi / 2), start + 0.02 * axis + [0, y, 0])
        parts += hard(by_region(*joined((arm, 0), (joint, 1)), colors, 0.4))
    direction = np.array([0.55, 0, -0.83]) / np.linalg.norm([0.55, 0, -0.83])
    shade = placed(cone(0.19, 0.26, sections=40), (0, 0, -0.26))
    shade.apply_transform(trimesh.geometry.align_vectors([0, 0, -1], direction))
    bulb = placed(icosphere(subdivisions=2, radius=0.075), c + 0.275 * direction)
    return parts + hard(by_region(*joined((placed(shade, c + 0.012 * direction), 0), (bulb, 2)), colors, 0.4))


def snake() -> list[Part]:
    """A wooden toy snake of eleven links, lying in a curve."""
    parts: list[Part] = []
    at, heading = np.array([0.0, 0.0, 0.085]), 0.5
    palette = [(214, 154, 84), (92, 142, 96)]
    for i in range(11):
        length, radius = (0.16, 0.085 - 0.0045 * abs(i - 3)) if i else (0.19, 0.095)
        direction = np.array([np.cos(heading), np.sin(heading), 0.0])
        end = at - length * direction
        link = along(icosphere(subdivisions=3).apply_scale((radius * 0.95, radius * 0.95, 0.53 * length)), at, end)
        if i == 0:
            side = np.array([-direction[1], direction[0], 0.0])
            middle = 0.5 * (at + end) + 0.045 * direction + np.array([0, 0, 0.066])
            eyes = [(placed(icosphere(subdivisions=2, radius=0.02), middle + s * 0.045 * side), 1) for s in (-1, 1)]
            parts += hard(by_region(*joined((link, 0), *eyes), [palette[1], (26, 26, 30)], 0.5))
        else:
            parts.append(Part(link, palette[i % 2], 0.55))
        at, heading = end, heading + 0.62 * np.sin(0.75 * i + 0.9)
    return parts


def crate() -> list[Part]:
    """A parcel with bevelled edges and a strip of tape."""
    mesh = rounded_box(np.array([0.62, 0.46, 0.40]), 0.018)
    for _ in range(3):
        mesh = mesh.subdivide()
    mesh.apply_translation((0, 0, 0.2))
    tape = (np.abs(mesh.triangles_center[:, 1]) < 0.05).astype(int)
    parts = by_region(mesh, tape, [(190, 148, 102), (226, 204, 164)], 0.85)
    return [Part(p.mesh, p.color, p.roughness, 0.0, False) for p in parts]


GALLERY: dict[str, Entry] = {
    "plush_bear": Entry("Plush bear", "A soft toy that wobbles when you pull it.", "standing", "elastic", plush_bear),
    "gummy_ring": Entry("Gummy ring", "A sweet that flops and bounces.", "free", "jelly", gummy_ring),
    "octopus": Entry("Octopus", "Eight arms that swing on their own.", "free", "jelly", octopus),
    "cloth_on_rail": Entry("Cloth on a rail", "A hanging cloth that swings.", "hanging", "cloth", cloth_on_rail),
    "laptop": Entry(
        "Laptop", "Its lid turns on the hinge and stays where you leave it.", "standing", "articulated", laptop
    ),
    "cabinet": Entry("Cabinet", "Three drawers that slide.", "standing", "articulated", cabinet),
    "desk_lamp": Entry("Desk lamp", "Two arms and a shade on joints.", "standing", "articulated", desk_lamp),
    "snake": Entry("Wooden snake", "A chain of eleven links.", "free", "articulated", snake),
    "box": Entry("Parcel", "A rigid box that tumbles.", "free", "rigid", crate),
}


def main() -> None:
    """Write every object, thumbnail and the list."""
    (OBJECTS / "thumbnails").mkdir(parents=True, exist_ok=True)
    listing: list[dict[str, str]] = []
    for name, entry in GALLERY.items():
        parts = entry.parts()
        data = scene_of(parts).export(file_type="glb")
        (OBJECTS / f"{name}.glb").write_bytes(bytes(data))
        thumbnail(parts, OBJECTS / "thumbnails" / f"{name}.png")
        listing.append(
            {
                "name": name,
                "title": entry.title,
                "file": f"{name}.glb",
                "thumbnail": f"thumbnails/{name}.png",
                "description": entry.description,
                "anchor": entry.anchor,
                "material": entry.material,
            }
        )
        print(f"{name}: {len(data) // 1024} KB, {sum(len(p.mesh.vertices) for p in parts)} vertices")
    (OBJECTS / "gallery.json").write_text(json.dumps(listing, indent=2) + "\n")


if __name__ == "__main__":
    main()
