"""A voxel cage ready for MuJoCo, and what its softest modes say about how far a load will bend it.

Symbols: ``E`` Young's modulus; modes and compliances are for E = 1 Pa and density 1 kg per cubed unit of length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from engine.datasets.simulated.mujoco_model import FlexBody, Material
from engine.geometry.modes import VoxelCage, build_cage, eigenmodes

# Six tetrahedra around the diagonal of a cube, the corners counted as in `engine.geometry.modes.CORNERS`. All turn the
# same way, and the diagonals of neighbouring cubes meet.
TETRAHEDRA = np.array([[0, 3, 1, 7], [0, 2, 3, 7], [0, 6, 2, 7], [0, 4, 6, 7], [0, 5, 4, 7], [0, 1, 5, 7]])
MODES = 12


@dataclass(frozen=True, slots=True)
class Response:
    """How a cage answers forces, by its softest modes.

    Attributes:
        shapes: mode shapes, shape (k, c, 3), of unit length in the mass matrix divided by the mass.
        frequencies: angular frequencies for a mass of 1 kg and E = 1, shape (k,).
        mass: of the whole [kg].
        masses: of the nodes [kg], shape (c,).
    """

    shapes: Float[np.ndarray, "k c 3"]
    frequencies: Float[np.ndarray, " k"]
    mass: float
    masses: Float[np.ndarray, " c"]

    def displacement(self, forces: Float[np.ndarray, "c 3"]) -> Float[np.ndarray, "c 3"]:
        """Return the static displacement under forces [N] on the nodes, for E = 1."""
        amplitudes = np.einsum("kcd,cd->k", self.shapes, forces) / self.frequencies**2
        return np.einsum("k,kcd->cd", amplitudes, self.shapes)

    def swing(self, velocities: Float[np.ndarray, "c 3"]) -> Float[np.ndarray, "c 3"]:
        """Return the displacement that initial velocities [1/s] lead to when each mode is at its peak, for E = 1."""
        momenta = velocities * (self.masses / self.mass)[:, None]
        amplitudes = np.einsum("kcd,cd->k", self.shapes, momenta) / self.frequencies * np.sqrt(self.mass)
        return np.einsum("k,kcd->cd", amplitudes, self.shapes)

    def frequency(self) -> float:
        """Return the softest angular frequency [rad/s] for E = 1."""
        return float(self.frequencies[0]) / float(np.sqrt(self.mass))


class ElasticCage:
    """Cubes around a surface whose longest side is about 1, of density 1."""

    def __init__(
        self,
        vertices: Float[np.ndarray, "n 3"],
        faces: Int[np.ndarray, "m 3"],
        *,
        nodes: int = 420,
        finest: int = 17,
    ) -> None:
        """Wrap a surface in the finest cage of at most so many nodes and cubes a side, down to five cubes a side."""
        for resolution in range(finest, 4, -1):
            self.cage: VoxelCage = build_cage(vertices, faces, resolution=resolution)
            if len(self.cage.nodes) <= nodes:
                break
        self.tetrahedra: Int[np.ndarray, "t 4"] = self.cage.elements[:, TETRAHEDRA].reshape(-1, 4)
        low = self.cage.nodes.min(0)
        lattice = np.rint((self.cage.nodes - low) / self.cage.pitch).astype(int)
        cells = lattice.max(0)
        self.grid: tuple[Int[np.ndarray, "3"], Int[np.ndarray, " c"]] = (
            cells,
            np.asarray(np.ravel_multi_index(tuple(lattice.T), tuple(cells + 1))),
        )
        corners = np.bincount(self.cage.elements.ravel(), minlength=len(self.cage.nodes))
        self.masses: Float[np.ndarray, " c"] = corners * self.cage.pitch**3 / 8

    @property
    def nodes(self) -> Float[np.ndarray, "c 3"]:
        """Nodes at rest."""
        return self.cage.nodes

    def response(self, pinned: Int[np.ndarray, " p"] | None = None) -> Response:
        """Compute the softest modes, with some nodes held.

        Raises:
            ValueError: the cage falls into loose pieces.
        """
        fixed = np.zeros(len(self.nodes), dtype=bool)
        if pinned is not None:
            fixed[pinned] = True
        modes = eigenmodes(self.cage, count=MODES, fixed=fixed)
        return Response(modes.displacements, modes.frequencies, float(self.masses.sum()), self.masses)

    def body(
        self,
        material: Material,
        *,
        pinned: Int[np.ndarray, " p"] | None = None,
        surroundings: str = "",
        gravity: float = 9.81,
        step: float = 0.005,
        tolerance: float = 1e-6,
    ) -> FlexBody:
        """Compile the cage for MuJoCo; the options are those of `FlexBody`.

        Raises:
            ValueError: MuJoCo refused the model.
        """
        return FlexBody(
            self.nodes,
            self.tetrahedra,
            self.masses,
            material,
            grid=self.grid,
            pinned=pinned,
            surroundings=surroundings,
            gravity=gravity,
            step=step,
            tolerance=tolerance,
        )

    def upright(self, snapshots: Float[np.ndarray, "s c 3"]) -> Int[np.ndarray, " g"]:
        """Return the snapshots in which at most one in two hundred tetrahedra is turned inside out."""
        good: list[int] = []
        for i, x in enumerate(snapshots):
            a, b, c, d = (x[self.tetrahedra[:, k]] for k in range(4))
            if np.mean(np.einsum("td,td->t", np.cross(b - a, c - a), d - a) < 0) <= 0.005:
                good.append(i)
        return np.array(good, dtype=int)
