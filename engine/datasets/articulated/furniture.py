"""Seats, doors and windows."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import cushion, lathe, limb, loop, plate, superellipse, tube, upright, vec
from engine.datasets.shapes.primitives import Rng, box, icosphere, placed, rounded_box, turned


def toilet(rng: Rng) -> Assembly:
    """A toilet with seat ring and lid on one hinge, the seat loose or not, and a cistern with a lever."""
    wide, deep, height = rng.uniform(0.42, 0.5), rng.uniform(0.52, 0.62), rng.uniform(0.42, 0.5)
    bowl = lathe(
        [
            (0, 0),
            (0.13, 0),
            (0.12, 0.15),
            (0.22, 0.75 * height),
            (0.25, height),
            (0.17, height),
            (0.1, 0.6 * height),
            (0, 0.55 * height),
        ],
        sections=24,
    )
    bowl.vertices = bowl.vertices * (2 * wide, 2 * deep, 1) * 0.95
    bowl.vertices[:, 2] /= 0.95
    back = 0.47 * deep + 0.03
    tank = placed(cushion((0.95 * wide, 0.24, 0.42), power=6, round_power=8), (0, back + 0.12, height + 0.16))
    meshes = [bowl, tank, placed(box((0.5 * wide, 0.3, 0.1)), (0, back - 0.02, height - 0.06))]
    pins = [
        limb((s * 0.1 - 0.05, back - 0.05, height + 0.02), (s * 0.1 + 0.05, back - 0.05, height + 0.02), 0.025)
        for s in (-1, 1)
    ]
    a = Assembly(fixed=True)
    base = a.add([*meshes, *pins])
    oval = superellipse(0.86 * wide, 0.84 * deep, 2.2, 28)
    seat = loop(np.column_stack((oval, np.full(28, height + 0.02))), 0.05)
    seat.vertices = (seat.vertices - vec(0, 0, height + 0.02)) * (1, 1, 0.4) + vec(0, -0.02, height + 0.022)
    hinge = np.array([0, back - 0.05, height + 0.02])
    lugs = [
        limb((s * 0.1, 0.4 * deep - 0.02, height + 0.022), (s * 0.1, back - 0.05, height + 0.02), 0.022)
        for s in (-1, 1)
    ]
    lifts = bool(rng.random() < 0.5)
    if lifts:
        under, limit = a.add([seat, *lugs], base, Joint(-X, hinge, 0.0, 1.25)), 0.25
    else:
        a.parts[base] += [seat, *lugs]
        under, limit = base, 1.5
    cover = placed(plate(1.1 * oval, 0.03), (0, -0.02, height + 0.06))
    strap = limb((0, 0.4 * deep, height + 0.06), (0, back - 0.05, height + 0.03), 0.025, flat=2.0)
    pin = limb((-0.06, back - 0.05, height + 0.02), (0.06, back - 0.05, height + 0.02), 0.022)
    # The seat lifts the cover, or stays down under it: neither passes through the other.
    a.add([cover, strap, pin], under, Joint(-X, hinge, 0.0, limit))
    if rng.random() < 0.6:
        at = np.array([0.32 * wide, back - 0.01, height + 0.28])
        a.add(limb(at, at + vec(-0.12, -0.02, 0), 0.022), base, Joint(-Y, at, -0.7, 0.0))
    return a


def office_chair(rng: Rng) -> Assembly:
    """A swivel chair: five castors, a turning seat, a tilting back and arm rests."""
    a = Assembly(fixed=True)
    height, width = rng.uniform(0.45, 0.6), rng.uniform(0.5, 0.65)
    legs = int(rng.integers(4, 7))
    meshes = [lathe([(0, 0.08), (0.07, 0.08), (0.06, 0.2), (0.035, 0.2), (0.035, height), (0, height)], sections=14)]
    for i in range(legs):
        t = 2 * np.pi * i / legs
        tip = np.array([0.36 * np.cos(t), 0.36 * np.sin(t), 0.08])
        meshes += [limb((0, 0, 0.13), tip, 0.04, 0.03), placed(icosphere(subdivisions=1, radius=0.05), tip - 0.04 * Z)]
    base = a.add(meshes)
    seat = [placed(cushion((width, width, 0.12), power=4), (0, 0, height + 0.06))]
    if rng.random() < 0.6:
        for s in (-1, 1):
            x = s * 0.5 * width
            seat.append(
                tube(
                    [
                        (x - s * 0.03, 0.1, height + 0.06),
                        (x + s * 0.04, 0.1, height + 0.06),
                        (x + s * 0.04, 0.08, height + 0.28),
                        (x + s * 0.04, -0.2, height + 0.28),
                    ],
                    0.025,
                    sections=8,
                )
            )
    turning = a.add(seat, base, Joint(Z, np.array([0, 0, height]), -1.3, 1.3))
    hinge = np.array([0, 0.46 * width, height + 0.06])
    tall = rng.uniform(0.5, 0.8)
    middle = hinge + vec(0, 0.1, 0.18 + 0.5 * tall)
    rest = turned(upright(cushion((0.9 * width, tall, 0.1), power=float(rng.uniform(2.2, 5)))), X, -0.08)
    a.add(
        [placed(rest, middle), tube([hinge, hinge + vec(0, 0.1, 0.02), middle + vec(0, 0.02, 0)], 0.03, sections=8)],
        turning,
        Joint(-X, hinge, -0.15, rng.uniform(0.3, 0.6)),
    )
    return a


def folding_chair(rng: Rng) -> Assembly:
    """A folding chair of bent tubes: crossed legs on pins, and a seat that tips up."""
    width, tall = rng.uniform(0.42, 0.55), rng.uniform(0.85, 1.0)
    tubes = rng.uniform(0.018, 0.026)
    lean, cross = rng.uniform(0.3, 0.42), 0.24
    a = Assembly()
    up = np.array([0, np.sin(lean), np.cos(lean)])
    pivot = np.array([0, 0, cross])
    length = tall / np.cos(lean)

    def bow(inset: float, direction: Float[np.ndarray, "3"], low: float, high: float) -> trimesh.Trimesh:
        x = 0.5 * width - inset
        path = [
            pivot + low * direction - x * X,
            pivot + 0.5 * high * direction - x * X,
            pivot + high * direction - x * X,
            pivot + high * direction + x * X,
            pivot + 0.5 * high * direction + x * X,
            pivot + low * direction + x * X,
        ]
        return tube(path, tubes, sections=8)

    back = placed(turned(upright(cushion((width, 0.2, 0.04), power=5)), X, -lean), pivot + (length - cross - 0.16) * up)
    frame = a.add(
        [
            bow(0.0, up, -cross / np.cos(lean), length - cross),
            back,
            *[limb(pivot + s * (0.5 * width) * X, pivot + s * (0.5 * width - 0.06) * X, 0.022) for s in (-1, 1)],
        ]
    )
    down = np.array([0, -np.sin(lean), np.cos(lean)])
    seat_at = 0.24
    a.add([bow(0.045, down, -cross / np.cos(lean), seat_at)], frame, Joint(X, pivot, -0.1, 2 * lean - 0.12))
    hinge = pivot + seat_at * up
    seat = cushion((width - 0.02, 0.4, 0.04), power=5)
    bar = limb(hinge - 0.5 * width * X, hinge + 0.5 * width * X, tubes)
    a.add([placed(seat, hinge + vec(0, -0.21, 0.03)), bar], frame, Joint(-X, hinge, 0.0, 0.9))
    return a


def door(rng: Rng) -> Assembly:
    """A door in its frame, hung on one side, with a lever handle or a knob that turns."""
    w, h, side = rng.uniform(0.7, 1.0), rng.uniform(1.7, 2.1), float(rng.choice([-1, 1]))
    post = rng.uniform(0.07, 0.12)
    a = Assembly(fixed=True)
    meshes = [placed(box((post, 0.16, h + post)), (s * 0.5 * (w + post), 0, 0.5 * post)) for s in (-1, 1)]
    meshes.append(placed(box((w + 0.02, 0.16, post)), (0, 0, 0.5 * (h + post))))
    meshes += [
        limb((side * (0.5 * w + 0.01), -0.05, z * h - 0.06), (side * (0.5 * w + 0.01), -0.05, z * h + 0.06), 0.025)
        for z in (-0.35, 0.35)
    ]
    base = a.add(meshes)
    leaf = [placed(rounded_box(np.array([w - 0.02, 0.05, h - 0.02]), 0.01), (0, -0.035, 0))]
    for z in (-0.24, 0.24) if rng.random() < 0.6 else ():
        leaf.append(placed(rounded_box(np.array([0.6 * w, 0.08, 0.36 * h]), 0.02), (0, -0.035, z * h)))
    hinge = np.array([side * 0.5 * w, -0.05, 0])
    swing = a.add(leaf, base, Joint(side * Z, hinge, 0.0, rng.uniform(1.3, 2.2)))
    at = np.array([-side * (0.5 * w - 0.08), -0.058, 0.0])
    if rng.random() < 0.7:
        grip = tube([at + 0.01 * Y, at - 0.06 * Y, at + vec(side * 0.16, -0.06, 0)], 0.018, sections=8)
        a.add(grip, swing, Joint(side * Y, at, 0.0, 0.8))
    else:
        knob = lathe([(0, 0), (0.03, 0), (0.02, 0.03), (0.045, 0.06), (0.03, 0.09), (0, 0.09)], sections=14)
        a.add(placed(turned(knob, X, np.pi / 2), at), swing, Joint(Y, at, -0.9, 0.9))
    return a


def window(rng: Rng) -> Assembly:
    """A sash window: one or two panes slide up and down in the frame."""
    w, h = rng.uniform(0.7, 1.2), rng.uniform(1.0, 1.6)
    bar = rng.uniform(0.05, 0.08)
    a = Assembly(fixed=True)
    meshes = [placed(box((0.1, 0.22, h + 0.2)), (s * (0.5 * w + 0.05), 0, 0)) for s in (-1, 1)]
    meshes += [placed(box((w + 0.02, 0.22, 0.1)), (0, 0, s * (0.5 * h + 0.05))) for s in (-1, 1)]
    meshes.append(placed(box((w + 0.35, 0.3, 0.05)), (0, -0.06, -0.5 * h - 0.12)))
    base = a.add(meshes)
    travel = 0.5 * h - 0.12
    for i in range(int(rng.integers(1, 3))):
        y, z = (-0.05, 0.045)[i], (-0.25, 0.25)[i] * h
        tall = 0.5 * h - 0.01
        sash = [placed(box((bar, 0.06, tall)), (s * (0.5 * w - 0.5 * bar - 0.003), y, z)) for s in (-1, 1)]
        sash += [placed(box((w - 0.02, 0.055, bar)), (0, y, z + s * (0.5 * tall - 0.5 * bar))) for s in (-1, 1)]
        sash.append(placed(box((w - 0.04, 0.015, tall - 0.04)), (0, y, z)))
        if i == 0:
            sash.append(placed(icosphere(subdivisions=1, radius=0.03), (0, y - 0.05, z - 0.5 * tall + 0.5 * bar)))
        a.add(sash, base, Joint((1.0, -1.0)[i] * Z, np.zeros(3), 0.0, travel, slides=True))
    return a


def porch_swing(rng: Rng) -> Assembly:
    """A round seat on two ropes under a bar on four legs: the swing of a playground."""
    width, height = rng.uniform(0.9, 1.4), rng.uniform(1.2, 1.6)
    a = Assembly(fixed=True)
    meshes = [limb((-0.5 * width - 0.1, 0, height), (0.5 * width + 0.1, 0, height), 0.04)]
    meshes += [
        limb((s * 0.5 * width, 0, height), (s * (0.5 * width + 0.08), t * 0.45, 0), 0.035)
        for s in (-1, 1)
        for t in (-1, 1)
    ]
    base = a.add(meshes)
    half, low = rng.uniform(0.18, 0.26), 0.3 * height
    count = 1 if width < 1.2 else 2
    for i in range(count):
        x = (i - 0.5 * (count - 1)) * 0.55
        lines = [limb((x + s * half, 0, low), (x + s * half, 0, height), 0.018, sections=6) for s in (-1, 1)]
        seat = placed(cushion((2 * half + 0.08, 0.24, 0.05), power=5), (x, 0, low))
        hooks = [
            limb((x + s * half - 0.03, 0, height), (x + s * half + 0.03, 0, height), 0.055, sections=8) for s in (-1, 1)
        ]
        a.add([*lines, seat, *hooks], base, Joint(X, np.array([0, 0, height]), -0.9, 0.9))
    return a
