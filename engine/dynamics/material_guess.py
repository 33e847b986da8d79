"""A first guess of what an object is made of, from its own prior: does it stretch, or only move at joints?

Random states of the prior say of each edge between neighbouring surface samples how much it strains and turns. Where
parts turn or slide at joints, a few edges take all of that and the rest keep still; what is soft strains everywhere.
So the guess asks how still the stillest quarter of the edges is, beside the RMS of all. The limits come from 145
objects of the training, each of a kind that its maker knew: 48 with joints, 75 soft, 22 rigid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.dynamics.body import Shape
from engine.kinematics.object_kinematics import ObjectKinematics
from engine.scenes.material import MATERIALS, Material

# The stillest quarter of the edges, over the RMS of all: up to 0.155 with joints, from 0.215 where all is soft; the
# limit is the geometric mean of the two.
STILL_QUARTER = 0.25
JOINT_LIMIT = 0.18
# RMS strain and turn of the edges: from 0.049 in whatever moved in training; of nine rigid objects that the prior moves
# all the same, six stay below 0.032.
LEAST_STRAIN = 0.035


@dataclass(frozen=True, slots=True)
class MaterialGuess:
    """What an object is taken for until someone says otherwise.

    Attributes:
        material: one of the presets, its density as of a solid, or of a sheet for cloth.
        reason: one sentence for the user, with the figures that the guess rests on.
    """

    material: Material
    reason: str


def guess_material(kinematics: ObjectKinematics, shape: Shape) -> MaterialGuess:
    """Return the material of an object that nothing is known of: rigid, articulated, cloth or elastic.

    Nothing tells a hard lump from a soft one of the same form: what the prior bends is taken for soft. Nor does it tell
    a sheet from the surface of a solid with a hole, as scans have under their foot: either is taken for cloth.

    Args:
        kinematics: the object.
        shape: made of it by `describe_shape`.
    """
    if not kinematics.k_q:
        lead = float(kinematics.reduction.spectrum[0].clamp(min=0.0).sqrt()) / kinematics.rest.size
        return _guess("rigid", f"its strongest motion in the network's prior is {lead:.2%} of its size")
    freedom = shape.graph.freedom
    strain = float(np.sqrt(np.mean(freedom**2)))
    if strain < LEAST_STRAIN:
        return _guess(
            "rigid", f"the network's prior strains its surface by {strain:.1%} only, below {LEAST_STRAIN:.1%}"
        )
    still = float(np.quantile(freedom, STILL_QUARTER)) / strain
    if still < JOINT_LIMIT:
        return _guess(
            "articulated",
            f"it moves at joints; the stillest quarter of its surface strains by {still:.0%} of the average, "
            f"below {JOINT_LIMIT:.0%}",
        )
    name, form = ("elastic", "a closed surface") if kinematics.rest.solid else ("cloth", "an open surface")
    return _guess(
        name,
        f"{form} that bends all over; even its stillest quarter strains by {still:.0%} of the average, "
        f"{JOINT_LIMIT:.0%} or more",
    )


def _guess(name: str, why: str) -> MaterialGuess:
    return MaterialGuess(MATERIALS[name], f"Taken for {name}: {why}.")
