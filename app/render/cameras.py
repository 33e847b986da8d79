"""Cameras as plain numbers: an orbiting camera and the view it gives of the world.

Frames: world is metres, Z up. Pixels are device pixels with the origin at the upper left, as Qt counts them.
Nothing here needs an OpenGL context, so picking and dragging can be tested with numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

VIEW_ANGLE_DEGREES = 30.0
_ELEVATION_LIMIT = np.radians(89.0)
# Share of the picture that a framed object fills.
_FILL = 0.84
_NEAR_FAR_RATIO = 2e-4
_WORLD_UP = np.array((0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class View:
    """A perspective camera and the size of its picture.

    Attributes:
        position: eye [m], world, shape (3,).
        right: unit vector to the right in the picture, shape (3,).
        up: unit vector upward in the picture, shape (3,).
        forward: unit vector into the picture, shape (3,).
        width: picture width [device pixels].
        height: picture height [device pixels].
        tangent: tangent of half the vertical view angle.
    """

    position: Float[np.ndarray, "3"]
    right: Float[np.ndarray, "3"]
    up: Float[np.ndarray, "3"]
    forward: Float[np.ndarray, "3"]
    width: int
    height: int
    tangent: float

    def ray(self, x: float, y: float) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Return origin [m] and unit direction of the sight line through pixel (x, y)."""
        scale = 2.0 * self.tangent / self.height
        sideways = (x - 0.5 * self.width) * scale
        upward = (0.5 * self.height - y) * scale
        direction = self.forward + sideways * self.right + upward * self.up
        return self.position, direction / np.linalg.norm(direction)

    def depth(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
        """Return distances [m] along the viewing direction."""
        return (np.asarray(points, np.float64) - self.position) @ self.forward

    def project(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 2"]:
        """Return the pixels of world points [m]; points behind the eye give no meaningful pixel."""
        offset = np.asarray(points, np.float64) - self.position
        depth = np.maximum(offset @ self.forward, 1e-12)
        scale = self.height / (2.0 * self.tangent * depth)
        x = 0.5 * self.width + (offset @ self.right) * scale
        y = 0.5 * self.height - (offset @ self.up) * scale
        return np.stack((x, y), axis=-1)

    def on_parallel_plane(self, x: float, y: float, through: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
        """Return the world point [m] under pixel (x, y) on the picture-parallel plane through a point [m]."""
        origin, direction = self.ray(x, y)
        depth = max(float(self.depth(through)), 1e-9)
        return origin + direction * (depth / float(direction @ self.forward))

    def metres_per_pixel(self, point: Float[np.ndarray, "3"]) -> float:
        """Return the world length [m] that one pixel covers at the depth of a point."""
        return 2.0 * self.tangent * max(float(self.depth(point)), 1e-9) / self.height


@dataclass(slots=True)
class OrbitCamera:
    """An eye that circles a focus with the horizon kept level.

    Attributes:
        focus: point looked at [m], world.
        distance: eye to focus [m].
        azimuth: angle of the eye around the vertical [rad].
        elevation: angle of the eye above the horizon [rad].
    """

    focus: Float[np.ndarray, "3"] = field(default_factory=lambda: np.array((0.0, 0.0, 0.4)))
    distance: float = 4.0
    azimuth: float = float(np.radians(-55.0))
    elevation: float = float(np.radians(16.0))

    def view(self, width: int, height: int) -> View:
        """Return the view for a picture of the given size [device pixels]."""
        ce, se = np.cos(self.elevation), np.sin(self.elevation)
        outward = np.array((ce * np.cos(self.azimuth), ce * np.sin(self.azimuth), se))
        right = np.array((-np.sin(self.azimuth), np.cos(self.azimuth), 0.0))
        return View(
            position=self.focus + self.distance * outward,
            right=right,
            up=np.cross(outward, right),
            forward=-outward,
            width=max(int(width), 1),
            height=max(int(height), 1),
            tangent=float(np.tan(np.radians(0.5 * VIEW_ANGLE_DEGREES))),
        )

    def orbit(self, right_pixels: float, down_pixels: float, height: int) -> None:
        """Turn with a pointer movement [device pixels]; one picture height is a half turn."""
        turn = np.pi / max(height, 1)
        self.azimuth = float((self.azimuth - right_pixels * turn) % (2.0 * np.pi))
        elevation = self.elevation + down_pixels * turn
        self.elevation = float(np.clip(elevation, -_ELEVATION_LIMIT, _ELEVATION_LIMIT))

    def pan(self, right_pixels: float, down_pixels: float, view: View) -> None:
        """Slide the focus so that it follows the pointer [device pixels]."""
        scale = view.metres_per_pixel(self.focus)
        self.focus = self.focus + scale * (down_pixels * view.up - right_pixels * view.right)

    def zoom(self, steps: float, smallest: float, largest: float) -> None:
        """Come closer by wheel steps (negative: go away), within distances [m]."""
        self.distance = float(np.clip(self.distance * 0.88**steps, smallest, largest))

    def frame(self, low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], aspect: float) -> None:
        """Look at a box [m] so that all of it is seen with some air around it."""
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        self.focus = 0.5 * (low + high)
        view = self.view(1, 1)
        offset = box_corners(low, high) - self.focus
        sideways = np.abs(offset @ view.right) / (_FILL * view.tangent * max(aspect, 0.1))
        upward = np.abs(offset @ view.up) / (_FILL * view.tangent)
        distance = float((np.maximum(sideways, upward) - offset @ view.forward).max())
        self.distance = max(distance, 1e-6)


def box_corners(low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"]) -> Float[np.ndarray, "8 3"]:
    """Return the corners of a box."""
    return np.array([(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def clipping_range(
    view: View, low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], floor_radius: float
) -> tuple[float, float]:
    """Return near and far distances [m] that hold the object's box and the floor around it.

    The object may fly far away or come up to the eye; the ratio of the two is bounded so that depth stays precise.
    """
    depth = view.depth(box_corners(low, high))
    far = max(1.05 * float(depth.max()), float(np.linalg.norm(view.position)) + floor_radius, 1e-3)
    near = max(0.5 * float(depth.min()), 0.0)
    near = min(near, 0.05 * far)
    return max(near, _NEAR_FAR_RATIO * far), far


def orthonormal_frame(direction: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Return a rotation whose third column is the given unit direction."""
    helper = _WORLD_UP if abs(direction[2]) < 0.9 else np.array((1.0, 0.0, 0.0))
    first = np.cross(helper, direction)
    first /= np.linalg.norm(first)
    return np.stack((first, np.cross(direction, first), direction), axis=1)
