"""States of an object for a picture: laid onto the rest shape, a few chosen, put in order, joined by in-betweens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from engine.datasets.sampling import SampledMotion
from engine.geometry.rigid_fit import rigid_fit

# Largest distance of a sample from its place in the rest shape [half extents] at which a motion counts as rigid.
_RIGID = 0.01
_FEATURES = 256


def aligned_states(
    motion: SampledMotion, values: Float[np.ndarray, "f n 3"], *, keep_turns: bool | None = None
) -> Float[np.ndarray, "f n 3"]:
    """Carry states onto the rest shape by the rigid motion that fits their samples best.

    What the world holds stays where it is: its held part lies on itself already. What only turns as a whole keeps its
    turns, or nothing would be left to see.

    Args:
        motion: whose samples are fitted.
        values: positions in the frames of ``motion.points``, shape (f, n, 3).
        keep_turns: whether to keep the turns of the whole; None decides as above.

    Returns:
        Positions in the frame of the rest shape, in its half extents.
    """
    result = values.astype(np.float32)
    if motion.record.fixed:
        return result + (motion.origins - motion.origins[0])[:, None].astype(np.float32)
    if keep_turns is None:
        keep_turns = is_rigid(motion)
    rest = motion.points[0].astype(np.float64)
    weights = np.ones(len(rest))
    for i in range(1, 1 if keep_turns else len(result)):
        rotation, shift = rigid_fit(motion.points[i].astype(np.float64), rest, weights)
        result[i] = result[i] @ rotation.T + shift
    return result


def is_rigid(motion: SampledMotion) -> bool:
    """Return whether all states are the rest shape, moved and turned as a whole."""
    if motion.record.fixed:
        return False
    moved = aligned_states(motion, motion.points, keep_turns=False)
    return bool(np.abs(moved - moved[0]).max() < _RIGID)


def _distances(states: Float[np.ndarray, "f n 3"]) -> Float[np.ndarray, "f f"]:
    step = max(1, states.shape[1] // _FEATURES)
    features = states[:, ::step].reshape(len(states), -1).astype(np.float64)
    squares = (features**2).sum(1)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * features @ features.T, 0.0))


def spread_states(states: Float[np.ndarray, "f n 3"], count: int) -> list[int]:
    """Return the rest state and those that are farthest from it and from one another, in this order."""
    distance = _distances(states)
    chosen = [0]
    while len(chosen) < min(count, len(states)):
        nearest = distance[:, chosen].min(1)
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return chosen


def walk_states(states: Float[np.ndarray, "f n 3"]) -> list[int]:
    """Return an order of all states from the rest state on, each followed by the nearest that is left."""
    distance = _distances(states)
    order = [0]
    left = list(range(1, len(states)))
    while left:
        order.append(min(left, key=lambda i: float(distance[order[-1], i])))
        left.remove(order[-1])
    return order


def walk_between(
    states: Float[np.ndarray, "f n 3"], group: Int[np.ndarray, " n"], *, pictures: int
) -> Float[np.ndarray, "p n 3"]:
    """Return a closed walk through the states that rests shortly at each, shape (pictures, n, 3)."""
    legs = len(states)
    bounds = np.linspace(0, pictures, legs + 1).round().astype(int)
    result = np.zeros((pictures, *states.shape[1:]), np.float32)
    for i in range(legs):
        count = bounds[i + 1] - bounds[i]
        share = np.arange(count) / max(count, 1)
        eased = share * share * (3.0 - 2.0 * share)
        result[bounds[i] : bounds[i + 1]] = in_between(states[i], states[(i + 1) % legs], group, eased)
    return result


def in_between(
    first: Float[np.ndarray, "n 3"],
    second: Float[np.ndarray, "n 3"],
    group: Int[np.ndarray, " n"],
    shares: Float[np.ndarray, " s"],
) -> Float[np.ndarray, "s n 3"]:
    """Interpolate between two states: each group along the screw motion that fits it best, the rest linearly.

    Straight lines alone would shrink a lid that turns by a right angle. Both ends are met exactly.

    Args:
        first: positions of the one state.
        second: positions of the other.
        group: piece that each vertex belongs to, 0..g-1.
        shares: 0 for the first state to 1 for the second.
    """
    start, end = first.astype(np.float64), second.astype(np.float64)
    count = int(group.max()) + 1
    turns, shifts = np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3))
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        turns[group[rows[0]]], shifts[group[rows[0]]] = rigid_fit(start[rows], end[rows], np.ones(len(rows)))
    residual = np.einsum("nji,nj->ni", turns[group], end - shifts[group]) - start
    vectors = Rotation.from_matrix(turns).as_rotvec()
    velocity = np.linalg.solve(_left_jacobian(vectors), shifts[..., None])[..., 0]
    result = np.zeros((len(shares), *start.shape), np.float32)
    for i, share in enumerate(shares):
        turn = Rotation.from_rotvec(share * vectors).as_matrix()
        shift = np.einsum("gij,gj->gi", _left_jacobian(share * vectors), share * velocity)
        result[i] = np.einsum("nij,nj->ni", turn[group], start + share * residual) + shift[group]
    return result


def _left_jacobian(vectors: Float[np.ndarray, "g 3"]) -> Float[np.ndarray, "g 3 3"]:
    """Return the matrices that turn the velocity of a screw into its translation (left Jacobian of SO(3))."""
    angle = np.linalg.norm(vectors, axis=-1)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(small, 1.0 / 6.0, (safe - np.sin(safe)) / safe**3)
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    cross = np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(-1, 3, 3)
    return np.eye(3) + first[:, None, None] * cross + second[:, None, None] * cross @ cross
