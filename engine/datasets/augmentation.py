"""What is varied at random in a training pair, each with its own switch.

Two more are made when a dataset is built, as copies of objects: decimated and remeshed surfaces
(`engine.datasets.variants`); the switch here leaves the copies out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial.transform import Rotation

# A stretch turns the rotation R of a piece of the body into the polar factor of S R S^-1. That is right for bodies that
# may strain, and for those that move as one (R is the identity after the rigid fit). It is wrong for hinged parts,
# which would bend, and for cloth, which would stretch where it is folded; imported motions are mostly of such parts.
STRETCHABLE = frozenset({"elastic", "continuum", "rigid"})


@dataclass(frozen=True, slots=True)
class Augmentation:
    """What is varied. A share is a probability per object of a batch; a share of zero switches it off.

    Attributes:
        turned: turn about the up axis, by any angle.
        sideways: share turned to another up axis.
        tumbled: share turned to any direction.
        mirrored: share mirrored.
        any_rest: share that take any of their states as the rest shape; the others take the first.
        partial: share of the pairs, of objects with one joint at most, whose state is replaced by a part of its motion
            (`engine.datasets.partial_motion`): of the whole, a share between ``least_part`` and 0.6.
        least_part: see there.
        resampled: draw other samples of the surface each time.
        stretched: share of the objects of the kinds in `STRETCHABLE` that are stretched along three axes.
        stretch: largest factor, and smallest as its inverse, of an axis.
        noisy: share whose points and normals are shown to the encoders with noise; the target has none.
        position_noise: its standard deviation [unit frame], that is, in half sizes.
        normal_noise: its standard deviation per coordinate, before the normals are normalised again.
        dropped: share that lose a connected component, where they have several.
        copies: train on the decimated and remeshed copies too.
    """

    turned: bool = True
    sideways: float = 0.2
    tumbled: float = 0.2
    mirrored: float = 0.5
    any_rest: float = 1.0
    partial: float = 0.25
    least_part: float = 0.02
    resampled: bool = True
    stretched: float = 0.25
    stretch: float = 1.3
    noisy: float = 0.25
    position_noise: float = 0.004
    normal_noise: float = 0.08
    dropped: float = 0.03
    copies: bool = True

    @classmethod
    def none(cls) -> Augmentation:
        """Return the switches of training without augmentation: every object as it was made, from its first state."""
        return cls(
            turned=False,
            sideways=0.0,
            tumbled=0.0,
            mirrored=0.0,
            any_rest=0.0,
            partial=0.0,
            resampled=False,
            stretched=0.0,
            noisy=0.0,
            dropped=0.0,
            copies=False,
        )

    @classmethod
    def plain(cls) -> Augmentation:
        """Return random states and samples of objects as they were made: how a network is examined."""
        return replace(cls.none(), any_rest=1.0, resampled=True)

    @classmethod
    def turns(cls) -> Augmentation:
        """Return turns and mirror images, any rest shape and other samples, and nothing that alters the shape."""
        return cls(stretched=0.0, noisy=0.0, dropped=0.0)


def random_frames(count: int, augmentation: Augmentation, rng: np.random.Generator) -> Float[np.ndarray, "b 3 3"]:
    """Return random turns: mostly about Z, some to another up axis, some to any; some of them mirrored."""
    frames = np.tile(np.eye(3), (count, 1, 1))
    if augmentation.turned:
        frames = _turns(2, rng.uniform(0, 2 * np.pi, count))
    choice = rng.random(count)
    sideways = _turns(0, rng.choice([-0.5, 0.5], count) * np.pi)
    tumbled = Rotation.random(count, rng=rng).as_matrix()
    on_side = choice < augmentation.sideways
    frames[on_side] = frames[on_side] @ sideways[on_side]
    tumbles = ~on_side & (choice < augmentation.sideways + augmentation.tumbled)
    frames[tumbles] = tumbled[tumbles]
    mirrors = rng.random(count) < augmentation.mirrored
    frames[mirrors] = frames[mirrors] @ np.diag([1.0, -1.0, 1.0])
    return frames


def _turns(axis: int, angles: Float[np.ndarray, " b"]) -> Float[np.ndarray, "b 3 3"]:
    """Return turns about a coordinate axis."""
    return Rotation.from_rotvec(angles[:, None] * np.eye(3)[axis]).as_matrix()


def random_stretches(
    kinds: list[str], augmentation: Augmentation, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, " b"], Float[np.ndarray, "b 3 3"]]:
    """Return which objects are stretched, and symmetric stretches along the axes of a randomly yawed frame."""
    count = len(kinds)
    chosen = rng.random(count) < augmentation.stretched
    chosen &= np.array([kind in STRETCHABLE for kind in kinds], dtype=bool)
    widest = np.log(augmentation.stretch)
    factors = np.exp(rng.uniform(-widest, widest, (count, 3)))
    yaw = _turns(2, rng.uniform(0, 2 * np.pi, count))
    return chosen, np.einsum("bij,bj,bkj->bik", yaw, factors, yaw)


def random_parts(
    joints: Int[np.ndarray, " b"], each: int, augmentation: Augmentation, rng: np.random.Generator
) -> tuple[Bool[np.ndarray, " bf"], Float[np.ndarray, " bf"]]:
    """Return which of the pairs show a part of a motion alone, and which share of it; small shares as often as large.

    Args:
        joints: of each object.
        each: pairs of an object.
        augmentation: what is varied.
        rng: draws.
    """
    count = len(joints) * each
    chosen = (rng.random(count) < augmentation.partial) & np.repeat(joints <= 1, each)
    return chosen, np.exp(rng.uniform(np.log(augmentation.least_part), np.log(0.6), count))


def without_a_component(component: Int[np.ndarray, " n"], rng: np.random.Generator) -> Int[np.ndarray, " k"]:
    """Return which samples are left when a random component is dropped.

    At least half of the samples stay, so that what is left is still the object; where that cannot be, all of them.
    """
    names, counts = np.unique(component, return_counts=True)
    small = names[counts * 2 <= len(component)]
    if len(names) < 2 or not len(small):
        return np.arange(len(component))
    return np.flatnonzero(component != rng.choice(small))
