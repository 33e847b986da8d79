"""Elastic bodies in MuJoCo: writing the model, stepping it and noticing when it went wrong.

Lengths are those of the caller (makers scale objects to a longest side of 1), masses kg, times s. MuJoCo's discrete
integrator is implicit in the elastic forces, so that a step may be far longer than the period of the stiffest element.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco as _mujoco
import numpy as np
from jaxtyping import Bool, Float, Int

# MuJoCo's classes and functions come from a binary module that has no types.
mujoco: Any = _mujoco

Force = Callable[[float, Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]], Float[np.ndarray, "n 3"]]
"""Forces [N] on the nodes, world frame, from the time [s], the positions and the velocities."""

WALL_LIMIT = 30.0
"""Seconds of wall time after which a simulation counts as stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a flexible body is made of.

    Attributes:
        young: Young's modulus [Pa].
        poisson: Poisson's ratio.
        damping: factor [s] that turns stiffness into damping (Rayleigh).
        thickness: of a sheet; solids have none.
        friction: Coulomb's coefficient in contacts.
    """

    young: float
    poisson: float = 0.3
    damping: float = 0.01
    thickness: float = 0.0
    friction: float = 0.6


def numbers(array: Float[np.ndarray, "*s"] | Int[np.ndarray, "*s"] | list[float]) -> str:
    """Return an array's entries, in order, as an attribute of the model file."""
    return " ".join(map(repr, np.asarray(array).ravel().tolist()))


def compile_model(xml: str) -> Any:
    """Compile a model file into MuJoCo's model.

    Raises:
        ValueError: MuJoCo refused it; the message is MuJoCo's.
    """
    # MuJoCo would otherwise write its warnings into a file of the working directory; `FlexBody.run` reads the counters.
    mujoco.set_mju_user_warning(_ignore)
    return mujoco.MjModel.from_xml_string(xml)


def _ignore(message: str) -> None:
    """Take a warning of MuJoCo, which counts it as well."""


class FlexBody:
    """One flexible body among rigid ones, ready to step."""

    def __init__(
        self,
        points: Float[np.ndarray, "n 3"],
        elements: Int[np.ndarray, "m k"],
        masses: Float[np.ndarray, " n"],
        material: Material,
        *,
        pinned: Int[np.ndarray, " p"] | None = None,
        grid: tuple[Int[np.ndarray, "3"], Int[np.ndarray, " n"]] | None = None,
        surroundings: str = "",
        step: float = 0.005,
        gravity: float = 9.81,
        radius: float = 0.002,
        tolerance: float = 1e-6,
        iterations: int = 200,
    ) -> None:
        """Compile the body.

        Args:
            points: nodes at rest, world frame.
            elements: tetrahedra (k = 4) of a solid or triangles (k = 3) of a sheet.
            masses: of each node [kg].
            material: what it is made of.
            pinned: nodes held to the world.
            grid: solids made of cubes: cubes along X, Y and Z of the whole lattice, and the lattice node (Z fastest) at
                each point. Cubes are then trilinear elements, which bend far better than tetrahedra; the tetrahedra
                only say which cubes are filled, and MuJoCo gives the nodes their masses.
            surroundings: bodies and geoms of the world, in MJCF; contacts are computed only where there are any.
            step: time step [s].
            gravity: acceleration along -Z.
            radius: of the elements in contacts.
            tolerance: where the conjugate gradients of a step stop, relative.
            iterations: and after how many at most. With 30, stiff and fine beams crept to rest over many periods.

        Raises:
            ValueError: MuJoCo refused the model.
        """
        touch = int(bool(surroundings))
        pins = np.zeros(0, dtype=int) if pinned is None else pinned
        held = f'<pin id="{numbers(pins if grid is None else grid[1][pins])}"/>' if len(pins) else ""
        cells = "" if grid is None else f'dof="trilinear" cellcount="{numbers(grid[0])}"'
        dimension, sheet = 3, ""
        if elements.shape[1] == 3:
            dimension, sheet = 2, f'thickness="{material.thickness:.9g}" elastic2d="both"'
        self.model: Any = compile_model(f"""<mujoco>
  <option timestep="{step:.9g}" integrator="discrete" solver="CG" iterations="{iterations}" tolerance="{tolerance:.9g}"
    gravity="0 0 {-gravity:.9g}"><flag autoreset="disable"/></option>
  <size memory="1G"/>
  <worldbody>{surroundings}
    <flexcomp name="body" type="direct" dim="{dimension}" mass="{float(masses.sum()):.9g}" radius="{radius:.9g}"
      point="{numbers(points)}" element="{numbers(elements)}" {cells}>
      <elasticity young="{material.young:.9g}" poisson="{material.poisson:.9g}" damping="{material.damping:.9g}"
        {sheet}/>
      <contact selfcollide="none" contype="{touch}" conaffinity="{touch}" solref="{max(0.02, 2.5 * step):.9g} 1"
        friction="{material.friction:.9g} 0.005 0.0001"/>
      {held}
    </flexcomp>
  </worldbody>
</mujoco>""")
        body = self.model.flex_vertbodyid if grid is None else self.model.flex_nodebodyid[grid[1]]
        self.free: Bool[np.ndarray, " n"] = self.model.body_dofnum[body] == 3
        self._dofs: Int[np.ndarray, "f 3"] = self.model.body_dofadr[body[self.free]][:, None] + np.arange(3)
        if grid is None:  # The compiler shares the mass out equally; what a node carries depends on its elements.
            loose = body[self.free]
            self.model.body_mass[loose] = masses[self.free]
            # Contacts are scaled by these; MuJoCo's own computation of them takes longer than many steps.
            self.model.body_invweight0[loose, 0] = 1.0 / masses[self.free]
            self.model.dof_invweight0[self._dofs] = 1.0 / masses[self.free, None]
        self.masses: Float[np.ndarray, " n"] = np.where(self.free, self.model.body_mass[body], 0.0)
        self.data: Any = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)

    @property
    def positions(self) -> Float[np.ndarray, "n 3"]:
        """Positions of the nodes now, world frame."""
        return self.data.flexvert_xpos.copy()

    def set_velocities(self, velocities: Float[np.ndarray, "n 3"]) -> None:
        """Give the nodes velocities; pinned nodes stay where they are."""
        self.data.qvel[self._dofs] = velocities[self.free]

    def run(
        self,
        steps: int,
        *,
        every: int = 1,
        force: Force | None = None,
        before_step: Callable[[float, Any], None] | None = None,
    ) -> Float[np.ndarray, "s n 3"]:
        """Step and return the node positions after each ``every`` steps.

        Args:
            steps: how many.
            every: distance of the snapshots in steps.
            force: forces on the nodes.
            before_step: moves the other bodies; takes the time and the simulation's data.

        Raises:
            ValueError: the body exploded, the solver found no solution in a tenth of the steps, or stepping took longer
                than `WALL_LIMIT`.
        """
        snapshots: list[Float[np.ndarray, "n 3"]] = []
        begin, failed = time.perf_counter(), int(self.data.warning[mujoco.mjtWarning.mjWARN_INERTIA].number)
        velocities = np.zeros((len(self.free), 3))
        for i in range(1, steps + 1):
            if force is not None:
                velocities[self.free] = self.data.qvel[self._dofs]
                self.data.qfrc_applied[self._dofs] = force(self.data.time, self.positions, velocities)[self.free]
            if before_step is not None:
                before_step(self.data.time, self.data)
            mujoco.mj_step(self.model, self.data)
            if i % every == 0:
                snapshots.append(self.positions)
                check_motion(snapshots[-1])
            if time.perf_counter() - begin > WALL_LIMIT:
                raise ValueError(f"{i} of {steps} steps took more than {WALL_LIMIT:g} s")
        failed = int(self.data.warning[mujoco.mjtWarning.mjWARN_INERTIA].number) - failed
        if failed > 0.1 * steps:
            raise ValueError(f"the solver did not converge in {failed} of {steps} steps: the body is too stiff")
        return np.array(snapshots).reshape(-1, len(self.free), 3)


def check_motion(positions: Float[np.ndarray, "n 3"], *, limit: float = 50.0) -> None:
    """Raise where an object of size 1 has flown apart.

    Raises:
        ValueError: a coordinate is no number, or farther from the origin than ``limit``.
    """
    if not np.isfinite(positions).all():
        raise ValueError("the simulation exploded: positions are not finite")
    if np.abs(positions).max() > limit:
        raise ValueError(f"the simulation exploded: a vertex is {np.abs(positions).max():.3g} away")
