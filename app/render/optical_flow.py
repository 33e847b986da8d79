"""The exact optical flow of a moving mesh, without a picture and without a network.

Every pixel's sight line meets the surface at a face and barycentric weights; the flow there is where that very point
of the surface is seen in the next frame, less where it is seen now. What becomes hidden in the next frame has its flow
all the same, and the background, which does not move, has none.

Motion magnitude is that of WorldScore (haoyi-duan/WorldScore, benchmark/metrics/third_party/flow_metrics.py), which
NeuROK's second table reports: of each pair of consecutive frames the *median* length of the flow in pixels, then
the mean over the pairs. There the flow is estimated by a network (SEA-RAFT), here it is known. Since the median over
the whole picture is 0 as soon as half of it is background, the median over the pixels of the object is given beside it.
Both grow with the size of the picture and fall with the rate of the frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from app.render.cameras import View

# Pairs of triangles and pixels that are looked at together: some 100 MB.
_MOST_AT_ONCE = 500_000
# A triangle seen from its edge covers no pixel [pixels squared].
_LEAST_AREA = 1e-9


@dataclass(frozen=True, slots=True)
class Seen:
    """What each pixel sees of a mesh.

    Attributes:
        face: number of the triangle, -1 for the background, shape (h, w).
        barycentric: place on it, perspective taken into account, shape (h, w, 3); zero on the background.
    """

    face: Int[np.ndarray, "h w"]
    barycentric: Float[np.ndarray, "h w 3"]


@dataclass(frozen=True, slots=True)
class MotionMagnitude:
    """Mean over the pairs of frames of the median length of the flow [pixels].

    Attributes:
        picture: the median over all pixels, as WorldScore defines it.
        surface: the median over the pixels that see the object in the first frame of the pair.
    """

    picture: float
    surface: float


def rasterise(view: View, vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Seen:
    """Find the nearest triangle behind the centre of each pixel, from either side of it.

    Args:
        view: camera and size of the picture.
        vertices: world [m].
        faces: triangles; those with a corner behind the eye are not seen.
    """
    at, depth = view.project(vertices)[faces], view.depth(vertices)[faces]
    width, height = view.width, view.height
    # Pixel i has its centre at i + 0.5.
    low = np.clip(np.ceil(at.min(1) - 0.5), 0, (width, height)).astype(np.int64)
    high = np.clip(np.floor(at.max(1) - 0.5), -1, (width - 1, height - 1)).astype(np.int64)
    span = np.maximum(high - low + 1, 0)
    first, second = at[:, 1] - at[:, 0], at[:, 2] - at[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    count = np.where((depth.min(1) > 0.0) & (np.abs(area) > _LEAST_AREA), span.prod(1), 0)
    nearest = np.zeros(width * height)
    face = np.full(width * height, -1, np.int64)
    weights = np.zeros((width * height, 3))
    drawn = np.flatnonzero(count)
    for rows in _portions(drawn, count[drawn]):
        owner = np.repeat(rows, count[rows])
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count[rows]) - count[rows], count[rows])
        x = low[owner, 0] + within % span[owner, 0]
        y = low[owner, 1] + within // span[owner, 0]
        centre = np.stack((x, y), -1) + 0.5
        flat = _flat_weights(centre, at[owner], area[owner])
        inside = (flat >= 0.0).all(1)
        owner, flat, pixel = owner[inside], flat[inside], (y * width + x)[inside]
        # 1 / depth is linear in the picture, and what is linear on the triangle is so after division by depth.
        share = flat / depth[owner]
        inverse = share.sum(1)
        order = np.lexsort((inverse, pixel))
        last = order[np.flatnonzero(np.diff(pixel[order], append=-1))]
        last = last[inverse[last] > nearest[pixel[last]]]
        nearest[pixel[last]], face[pixel[last]] = inverse[last], owner[last]
        weights[pixel[last]] = share[last] / inverse[last, None]
    return Seen(face.reshape(height, width), weights.reshape(height, width, 3))


def optical_flow(
    view: View, faces: Int[np.ndarray, "m 3"], before: Float[np.ndarray, "n 3"], after: Float[np.ndarray, "n 3"]
) -> tuple[Float[np.ndarray, "h w 2"], Bool[np.ndarray, "h w"]]:
    """Return how far each point of the surface that is seen moves in the picture, and which pixels see the surface.

    Args:
        view: the camera, which stands still.
        faces: triangles.
        before: vertices of a frame, world [m].
        after: vertices of the next frame.

    Returns:
        The flow [pixels], x to the right and y downward, zero on the background; and where the object is in ``before``.
    """
    seen = rasterise(view, before, faces)
    mask = seen.face >= 0
    flow = np.zeros((*mask.shape, 2))
    corners, weights = faces[seen.face[mask]], seen.barycentric[mask]
    now, then = (np.einsum("pk,pkd->pd", weights, np.asarray(v, np.float64)[corners]) for v in (before, after))
    flow[mask] = view.project(then) - view.project(now)
    return flow, mask


def motion_magnitude(
    view: View, faces: Int[np.ndarray, "m 3"], frames: Iterable[Float[np.ndarray, "n 3"]]
) -> MotionMagnitude:
    """Return the motion magnitude of a sequence of vertices, world [m]; see the head of this module.

    A pair in which the object is out of the picture counts as no motion.

    Raises:
        ValueError: there are less than two frames.
    """
    picture: list[float] = []
    surface: list[float] = []
    for before, after in pairwise(frames):
        flow, mask = optical_flow(view, faces, before, after)
        length = np.linalg.norm(flow, axis=-1)
        picture.append(float(np.median(length)))
        surface.append(float(np.median(length[mask])) if mask.any() else 0.0)
    if not picture:
        raise ValueError("a motion needs at least two frames")
    return MotionMagnitude(float(np.mean(picture)), float(np.mean(surface)))


def _flat_weights(
    centre: Float[np.ndarray, "c 2"], corners: Float[np.ndarray, "c 3 2"], area: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "c 3"]:
    """Return barycentric weights in the plane of the picture; ``area`` is twice that of the triangle, with its sign."""
    x, y = np.moveaxis(corners - centre[:, None], -1, 0)
    second = x[:, 2] * y[:, 0] - y[:, 2] * x[:, 0]
    third = x[:, 0] * y[:, 1] - y[:, 0] * x[:, 1]
    first = x[:, 1] * y[:, 2] - y[:, 1] * x[:, 2]
    return np.stack((first, second, third), -1) / area[:, None]


def _portions(rows: Int[np.ndarray, " r"], counts: Int[np.ndarray, " r"]) -> list[Int[np.ndarray, " k"]]:
    """Split triangles so that each portion has few pixels to look at."""
    portion = np.cumsum(counts) // _MOST_AT_ONCE
    return np.split(rows, np.flatnonzero(np.diff(portion)) + 1)
