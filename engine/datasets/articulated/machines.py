"""Machines: robot arms, excavators, cranes and winches."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import (
    arc,
    cushion,
    lathe,
    limb,
    plate,
    superellipse,
    tube,
    upright,
    vec,
)
from engine.datasets.shapes.primitives import (
    Rng,
    box,
    cylinder,
    icosphere,
    placed,
    rounded_box,
    turned,
)


def knuckle(at: Float[np.ndarray, "3"], radius: float, width: float) -> trimesh.Trimesh:
    """Return a round joint housing about Y."""
    return placed(
        turned(
            lathe([(0, -0.5 * width), (radius, -0.5 * width), (radius, 0.5 * width), (0, 0.5 * width)], sections=16),
            X,
            np.pi / 2,
        ),
        at,
    )


def robot_arm(rng: Rng) -> Assembly:
    """An industrial arm: turning base, shoulder, elbow, wrist and a two-finger gripper."""
    a = Assembly(fixed=True)
    base = a.add([lathe([(0, 0), (0.36, 0), (0.36, 0.08), (0.24, 0.12), (0.22, 0.26), (0, 0.26)], sections=20)])
    at = np.array([0, 0, 0.42])
    turret = [
        lathe([(0, 0.263), (0.22, 0.263), (0.2, 0.4), (0.12, 0.5), (0, 0.5)], sections=20),
        knuckle(at, 0.14, 0.34),
    ]
    link = a.add(turret, base, Joint(Z, 0.3 * Z, -1.2, 1.2))
    pitch, thick = rng.uniform(-0.4, 0.2), rng.uniform(0.09, 0.13)
    for length, low, high in ((rng.uniform(0.7, 1.0), -0.7, 0.8), (rng.uniform(0.55, 0.8), -0.8, 0.9)):
        end = at + length * np.array([np.sin(pitch), 0, np.cos(pitch)])
        arm = [limb(at, end, thick, 0.8 * thick, sections=12), knuckle(end, 1.05 * thick, 2.6 * thick)]
        link = a.add(arm, link, Joint(Y, at, low, high))
        at, pitch, thick = end, pitch + rng.uniform(0.7, 1.2), 0.8 * thick
    forward = np.array([np.sin(pitch), 0, np.cos(pitch)])
    palm = at + 0.3 * forward
    wrist = [limb(at, palm, 0.07), limb(palm - 0.1 * Y, palm + 0.1 * Y, 0.06)]
    link = a.add(wrist, link, Joint(Y, at, -0.8, 0.8), Joint(forward, at, -1.0, 1.0))
    for side in (-1, 1):
        root = palm + side * 0.1 * Y
        finger = tube(
            [root, root + 0.12 * forward + side * 0.05 * Y, root + 0.28 * forward - side * 0.03 * Y],
            [0.045, 0.04, 0.03],
            sections=8,
        )
        axis = np.cross(forward, side * Y)
        a.add(finger, link, Joint(axis, root, -0.15, 0.5))
    return a


def excavator(rng: Rng) -> Assembly:
    """An excavator: tracks, a turning cab, boom, stick and bucket."""
    a = Assembly(fixed=bool(rng.random() < 0.5))
    track = [placed(upright(plate(superellipse(1.5, 0.36, 5, 28), 0.26)), (0, s * 0.42, 0.18)) for s in (-1, 1)]
    base = a.add(
        [*track, placed(box((0.6, 0.7, 0.16)), (0, 0, 0.22)), placed(cylinder(0.26, 0.14, sections=18), (0, 0, 0.34))]
    )
    deck = [
        placed(cushion((1.15, 0.85, 0.24), power=5, round_power=6), (-0.12, 0, 0.53)),
        placed(cushion((0.45, 0.36, 0.5), power=6, round_power=6), (0.2, 0.22, 0.86)),
        placed(cushion((0.4, 0.8, 0.3), power=4), (-0.5, 0, 0.72)),
    ]
    cab = a.add(deck, base, Joint(Z, np.zeros(3), -1.2, 1.2))
    root = np.array([0.35, -0.12, 0.64])
    knee = root + vec(rng.uniform(0.35, 0.5), 0, rng.uniform(0.5, 0.7))
    end = knee + vec(rng.uniform(0.5, 0.7), 0, rng.uniform(-0.1, 0.2))
    boom = a.add(
        tube([root, 0.5 * (root + knee) + vec(0, 0, 0.06), knee, end], [0.1, 0.12, 0.1, 0.07]),
        cab,
        Joint(Y, root, -0.35, 0.5),
    )
    tip = end + vec(rng.uniform(-0.1, 0.15), 0, -rng.uniform(0.6, 0.8))
    stick = a.add([limb(end + 0.14 * (end - tip), tip, 0.08, 0.05)], boom, Joint(Y, end, -0.7, 0.5))
    side = np.array(
        [[-0.05, 0.05], [0.06, 0.05], [0.12, -0.14], [0.04, -0.3], [-0.2, -0.34], [-0.26, -0.28], [-0.06, -0.22]]
    )
    shape = plate(side if _area(side) > 0 else side[::-1], 0.36, layers=2)
    a.add([placed(upright(shape), tip), limb(tip - 0.1 * Y, tip + 0.1 * Y, 0.06)], stick, Joint(Y, tip, -0.6, 0.8))
    return a


def _area(outline: Float[np.ndarray, "k 2"]) -> float:
    x, y = outline.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def crane(rng: Rng) -> Assembly:
    """A harbour crane: a tower, a turning jib that luffs, a rope and a hook that swing."""
    a = Assembly(fixed=True)
    height, reach = rng.uniform(0.9, 1.4), rng.uniform(0.9, 1.3)
    foot = [lathe([(0, 0), (0.4, 0), (0.36, 0.08), (0.12, 0.14), (0.1, height), (0, height)], sections=16)]
    base = a.add(foot)
    top = np.array([0, 0, height])
    house = [placed(cushion((0.5, 0.3, 0.26), power=4), top + vec(-0.12, 0, 0.133))]
    cab = a.add(house, base, Joint(Z, top, -1.2, 1.2))
    root = top + vec(0.08, 0, 0.2)
    tip = root + reach * np.array([np.cos(0.5), 0, np.sin(0.5)])
    jib = a.add(
        [limb(root, tip, 0.07, 0.04), limb(root - 0.12 * Y, root + 0.12 * Y, 0.05)], cab, Joint(-Y, root, -0.45, 0.5)
    )
    low = tip - rng.uniform(0.5, 0.8) * Z
    rope = a.add(
        [limb(tip, low, 0.022, sections=8), limb(tip - 0.06 * Y, tip + 0.06 * Y, 0.05, sections=8)],
        jib,
        Joint(Y, tip, -0.6, 0.6),
    )
    hook = [
        tube(np.concatenate(([low], arc(low - 0.2 * Z, 0.11 * Z, 0.11 * X, 0.0, 4.2, 11))), 0.032, sections=8),
        placed(icosphere(subdivisions=1, radius=0.06), low),
    ]
    a.add(hook, rope, Joint(Y, low, -0.6, 0.6))
    return a


def crank(rng: Rng) -> Assembly:
    """A winch: a drum between two posts, turned by a crank whose grip turns on its own pin."""
    a = Assembly(fixed=True)
    half, height, drum = rng.uniform(0.35, 0.55), rng.uniform(0.5, 0.7), rng.uniform(0.12, 0.2)
    posts = [
        placed(
            turned(upright(plate(superellipse(0.3, height + 0.3, 3, 20), 0.07)), Z, np.pi / 2),
            (s * (half + 0.06), 0, 0.5 * height),
        )
        for s in (-1, 1)
    ]
    base = a.add([*posts, placed(rounded_box(np.array([2 * half + 0.5, 0.6, 0.08]), 0.02), (0, 0, -0.12))])
    axle = np.array([0, 0, height])
    throw = rng.uniform(0.25, 0.4)
    reel = lathe(
        [
            (0, -half),
            (drum + 0.1, -half),
            (drum + 0.1, -half + 0.05),
            (drum, -half + 0.06),
            (drum, half - 0.06),
            (drum + 0.1, half - 0.05),
            (drum + 0.1, half),
            (0, half),
        ],
        sections=20,
    )
    arm = half + 0.3
    shaft = limb((-half - 0.12, 0, height), (arm, 0, height), 0.045)
    turning = [
        placed(turned(reel, Y, np.pi / 2), axle),
        shaft,
        limb((arm, 0, height), (arm, 0, height + throw), 0.045),
        limb((arm, 0, height + throw), (arm + 0.3, 0, height + throw), 0.028),
    ]
    wheel = a.add(turning, base, Joint(X, axle, -1.25, 1.25))
    grip = turned(lathe([(0, -0.12), (0.05, -0.12), (0.07, 0.0), (0.05, 0.12), (0, 0.12)], sections=14), Y, np.pi / 2)
    at = np.array([arm + 0.2, 0, height + throw])
    a.add(placed(grip, at), wheel, Joint(X, at, -1.0, 1.0))
    return a
