"""The surface of a robot description's bodies: the meshes and primitives that are meant to be seen, welded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.imported.description_reader import Data, Model, mj
from engine.datasets.imported.refusal import ImportRefused
from engine.datasets.imported.thinning import MAX_VERTICES, Arrays, thinned
from engine.geometry.welding import first_of_equal, has_area, weld

# As integers: MuJoCo's enumerations equal NumPy's integers only from one side.
_PLANE, _HFIELD, _MESH = (int(getattr(mj.mjtGeom, f"mjGEOM_{name}")) for name in ("PLANE", "HFIELD", "MESH"))
_BOX, _CYLINDER, _CAPSULE = (int(getattr(mj.mjtGeom, f"mjGEOM_{name}")) for name in ("BOX", "CYLINDER", "CAPSULE"))
_SPHERE, _ELLIPSOID = (int(getattr(mj.mjtGeom, f"mjGEOM_{name}")) for name in ("SPHERE", "ELLIPSOID"))


@dataclass(frozen=True, slots=True)
class BodySurface:
    """The surface of one object.

    Attributes:
        local: vertices in the frames of their bodies [m], shape (n, 3).
        faces: triangles, shape (m, 3).
        body: body of each vertex, shape (n,).
    """

    local: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    body: Int[np.ndarray, " n"]

    def at(self, data: Data) -> Float[np.ndarray, "n 3"]:
        """Return the vertices in the world [m] for the body poses of ``data``."""
        turn, place = data.xmat.reshape(-1, 3, 3)[self.body], data.xpos[self.body]
        return np.einsum("nij,nj->ni", turn, self.local) + place


def _shown(model: Model, body: int) -> list[int]:
    """Return the geoms of a body that are meant to be seen, or those that are felt where none is."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    skipped = (_PLANE, _HFIELD)
    geoms = [g for g in range(first, first + count) if int(model.geom_type[g]) not in skipped]
    # Viewers show groups 0 to 2; by custom 3 and above hold what only collides.
    seen = [g for g in geoms if model.geom_group[g] <= 2 and model.geom_rgba[g, 3] > 0]
    touching = {g for g in seen if model.geom_contype[g] or model.geom_conaffinity[g]}
    if any(g not in touching and model.geom_group[g] in (1, 2) for g in seen):
        # Others draw in group 1 or 2 and collide in group 0.
        seen = [g for g in seen if g not in touching or model.geom_group[g] != 0]
    return seen or geoms


def surface_of_bodies(model: Model, data: Data, bodies: list[int], path: Path) -> BodySurface:
    """Return the geoms of the bodies, each welded, as one surface.

    Of the world's own geoms (body 0) those that are larger than all else are left out: rooms, not frames.

    Raises:
        ImportRefused: nothing of the bodies can be seen, or it has too many vertices even when thinned.
    """
    pieces: list[tuple[Arrays, int]] = []
    own = [g for body in bodies if body for g in _shown(model, body)]
    reach = model.geom_rbound[own][:, None]
    size = np.inf
    if own:
        size = float(np.ptp(np.concatenate((data.geom_xpos[own] - reach, data.geom_xpos[own] + reach)), axis=0).max())
    for body in bodies:
        for geom in _shown(model, body):
            if body == 0 and model.geom_rbound[geom] > size:
                continue
            if (arrays := _geom(model, geom)) is not None:
                pieces.append((arrays, body))
    if not pieces:
        raise ImportRefused(path, "none of its bodies has a mesh, box, sphere, capsule, cylinder or ellipsoid.")
    meshes = thinned([arrays for arrays, _ in pieces])
    counts = [len(vertices) for vertices, _ in meshes]
    if sum(counts) > MAX_VERTICES:
        raise ImportRefused(path, f"{sum(counts)} vertices remain after thinning; at most {MAX_VERTICES} are used.")
    offsets = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return BodySurface(
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([faces + o for (_, faces), o in zip(meshes, offsets, strict=True)]).astype(np.int32),
        np.repeat([body for _, body in pieces], counts),
    )


def _geom(model: Model, geom: int) -> Arrays | None:
    """Return the welded surface of one geom in the frame of its body."""
    size, kind = model.geom_size[geom], int(model.geom_type[geom])
    if kind == _MESH:
        mesh = int(model.geom_dataid[geom])
        v, f = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
        vertices = model.mesh_vert[v : v + model.mesh_vertnum[mesh]].astype(np.float64)
        faces = model.mesh_face[f : f + model.mesh_facenum[mesh]].astype(np.int64)
    else:
        solid = _primitive(kind, size)
        if solid is None:
            return None
        vertices, faces = np.asarray(solid.vertices, np.float64), np.asarray(solid.faces, np.int64)
    turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
    return _cleaned(turn.apply(vertices) + model.geom_pos[geom], faces)


def _primitive(kind: int, size: Float[np.ndarray, "3"]) -> trimesh.Trimesh | None:
    """Return a primitive centred on the origin, round ones along Z."""
    if kind == _BOX:
        return trimesh.creation.box(2.0 * size)
    if kind == _CYLINDER:
        return trimesh.creation.cylinder(float(size[0]), 2.0 * float(size[1]), sections=24)
    if kind == _CAPSULE:
        mesh = trimesh.creation.capsule(height=2.0 * float(size[1]), radius=float(size[0]), count=(12, 12))
        mesh.apply_translation(-mesh.bounds.mean(0))
        return mesh
    if kind in (_SPHERE, _ELLIPSOID):
        mesh = trimesh.creation.icosphere(subdivisions=2)
        mesh.apply_scale(size if kind == _ELLIPSOID else np.full(3, size[0]))
        return mesh
    return None


def _cleaned(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]) -> Arrays | None:
    """Weld vertices at one place and drop triangles without area, repeated ones and vertices that none uses."""
    extent = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    label, first = weld(vertices, 1e-6 * extent)
    points, corners = vertices[first], label[faces]
    corners = corners[has_area(points, corners, extent)]
    if not len(corners):
        return None
    corners = corners[first_of_equal(corners)]
    used, number = np.unique(corners, return_inverse=True)
    return points[used], number.reshape(-1, 3)
