"""Books, cases and things to wear: glasses, watches, bracelets, headphones."""

from __future__ import annotations

import numpy as np

from engine.datasets.articulated.assembly import MAX_TURN, Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import arc, cushion, lathe, limb, loop, superellipse, tube, upright, vec
from engine.datasets.shapes.primitives import Rng, box, cylinder, placed, rounded_box, torus, turned


def clamshell(rng: Rng) -> Assembly:
    """Two slabs hinged along one edge: laptop, case, compact. Some have keys and a screen."""
    w, d = rng.uniform(0.8, 1.7), rng.uniform(0.6, 1.2)
    t0, t1 = rng.uniform(0.02, 0.14, 2)
    bevel = rng.uniform(0.1, 0.45) * min(t0, t1)
    a = Assembly(fixed=bool(rng.random() < 0.5))
    lower = [placed(rounded_box(np.array([w, d, t0]), bevel), (0, 0, -0.5 * t0 - 0.003))]
    upper = [placed(rounded_box(np.array([w * rng.uniform(0.9, 1), d, t1]), bevel), (0, 0, 0.5 * t1 + 0.003))]
    if rng.random() < 0.5:
        columns, rows = int(rng.integers(3, 9)), int(rng.integers(2, 4))
        for i in range(columns):
            for j in range(rows):
                at = (w * (0.8 * (i + 0.5) / columns - 0.4), d * (0.5 * j / rows), -0.005)
                lower.append(placed(box((0.6 * w / columns, 0.3 * d / rows, 0.012)), at))
    if rng.random() < 0.5:
        upper.append(placed(box((0.85 * w, 0.85 * d, 0.01)), (0, 0, 0.006)))
    base = a.add(lower)
    if rng.random() < 0.4:
        lower.append(
            turned(cylinder(0.6 * max(t0, t1), 0.5 * w, sections=12), Y, np.pi / 2).apply_translation((0, d / 2, 0))
        )
    a.add(upper, base, Joint(-X, np.array([0, 0.5 * d, 0.0]), 0.0, MAX_TURN * rng.uniform(0.7, 1.0)))
    return a


def book(rng: Rng) -> Assembly:
    """A board book: covers and two or three thick leaves, each hinged to the one below, so that none passes another."""
    a = Assembly()
    w, h = rng.uniform(0.6, 0.9), rng.uniform(0.8, 1.2)
    leaves, sheet = int(rng.integers(2, 4)), rng.uniform(0.06, 0.09)
    parent = a.add(rounded_box(np.array([w, h, 0.6 * sheet]), 0.1 * sheet))
    for i in range(leaves + 1):
        size = np.array([w, h, 0.6 * sheet]) if i == leaves else np.array([w - 0.04, h - 0.06, 0.8 * sheet])
        z = sheet * (i + 1)
        hinge = np.array([-0.5 * w, 0, z - 0.5 * sheet])
        leaf = placed(rounded_box(size, 0.15 * sheet), (-0.5 * w + 0.5 * size[0], 0, z))
        bead = limb(hinge - 0.47 * h * Y, hinge + 0.47 * h * Y, 0.32 * sheet, sections=8)
        parent = a.add([leaf, bead], parent, Joint(-Y, hinge, 0.0, min(MAX_TURN / (leaves + 1) + 0.3, 1.2)))
    return a


def glasses(rng: Rng) -> Assembly:
    """A pair of glasses: two rims, a bridge, and temples that fold inwards."""
    a = Assembly()
    wide, high, wire = rng.uniform(0.4, 0.52), rng.uniform(0.3, 0.46), rng.uniform(0.022, 0.04)
    power, apart = float(rng.uniform(2, 4)), rng.uniform(0.08, 0.16)
    oval = superellipse(wide, high, power, 26)
    half = 0.5 * (wide + apart)
    meshes = []
    for s in (-1, 1):
        rim = loop(np.column_stack((oval, np.zeros(26))), wire)
        lens = turned(cushion((wide, high, 0.02), power=power), X, np.pi / 2)
        edge = s * (half + 0.5 * wide)
        meshes += [
            placed(turned(rim, X, np.pi / 2), (s * half, 0, 0)),
            placed(lens, (s * half, 0, 0)),
            tube(
                [
                    (edge - s * 0.01, 0, 0.1 * high),
                    (edge + s * 0.05, 0, 0.16 * high),
                    (edge + s * 0.06, 0.05, 0.16 * high),
                ],
                wire,
                sections=8,
            ),
        ]
    meshes.append(
        tube(arc((0, 0, 0), (0.5 * apart + 0.02) * X, 0.1 * high * Z + 0.001 * Y, 0.0, np.pi, 7), wire, sections=8)
    )
    frame = a.add(meshes)
    length = rng.uniform(0.9, 1.2)
    for s in (-1, 1):
        at = np.array([s * (half + 0.5 * wide + 0.06), 0.06, 0.16 * high])
        path = [
            at,
            at + vec(0, 0.4 * length, 0),
            at + vec(0, 0.8 * length, 0),
            at + vec(0, 0.92 * length, -0.05),
            at + vec(0, length, -0.18),
        ]
        a.add(
            tube(path, [wire, 0.8 * wire, 0.8 * wire, wire, 1.2 * wire], sections=8), frame, Joint(s * Z, at, -0.1, 1.5)
        )
    return a


def watch(rng: Rng) -> Assembly:
    """A wrist watch lying open: a round case with crown, and a strap of links on either side."""
    a = Assembly()
    radius, links = rng.uniform(0.28, 0.36), int(rng.integers(3, 8))
    crown = placed(turned(cylinder(0.06, 0.1, sections=12), Y, np.pi / 2), (radius + 0.03, 0, 0))
    lugs = [limb((-0.2, s * radius, 0), (0.2, s * radius, 0), 0.05) for s in (-1, 1)]
    face = lathe(
        [
            (0, -0.08),
            (0.9 * radius, -0.08),
            (radius, -0.03),
            (radius, 0.05),
            (0.9 * radius, 0.09),
            (0.8 * radius, 0.07),
            (0, 0.07),
        ],
        sections=24,
    )
    post = limb((0, 0, 0), (0, 0, 0.19), 0.03, sections=8)
    case = a.add([face, crown, post, *lugs])
    length, power = rng.uniform(0.2, 0.26), float(rng.uniform(2.5, 6))
    for reach, height, towards in ((0.5 * radius, 0.125, Y), (0.75 * radius, 0.185, X)):
        hand = height * Z
        bar = limb(hand, hand + reach * towards, 0.022, 0.012, sections=6)
        a.add(bar, case, Joint(-Z, hand, -1.25, 1.25))
    for side in (-1, 1):
        parent, y = case, radius + 0.02
        for i in range(links):
            width = 0.38 * (1 - 0.25 * i / links)
            link = placed(cushion((width, length, 0.08), power=power), (0, side * (y + 0.5 * length), 0))
            parent = a.add(link, parent, Joint(-side * X, np.array([0, side * y, 0]), -0.15, 0.55))
            y += 0.97 * length
    return a


def bracelet(rng: Rng) -> Assembly:
    """A bangle or hinged bracelet: two to six curved segments in a ring, open at one place."""
    a = Assembly()
    n, radius = int(rng.integers(2, 7)), rng.uniform(0.5, 0.7)
    thick, flat = rng.uniform(0.05, 0.09), rng.uniform(1.0, 2.0)
    step = (2 * np.pi - 0.5) / n
    parent, order = -1, np.arange(n)
    for i in order:
        start = 0.25 + i * step
        piece = tube(arc((0, 0, 0), radius * X, radius * Y, start + 0.03, start + step - 0.03, 8), thick, sections=8)
        piece.vertices[:, 2] *= flat
        at = radius * np.array([np.cos(start), np.sin(start), 0])
        meshes = [piece]
        joints = []
        if i:
            meshes.append(limb(at - 0.8 * flat * thick * Z, at + 0.8 * flat * thick * Z, 0.6 * thick, sections=8))
            joints = [Joint(-Z, at, -0.1, min(0.8, 2.0 / n))]
        parent = a.add(meshes, parent, *joints)
    return a


def headphones(rng: Rng) -> Assembly:
    """Headphones: a head band, two yokes that fold, and cups that tilt in them."""
    a = Assembly()
    half, tall, rod = rng.uniform(0.5, 0.6), rng.uniform(0.5, 0.65), rng.uniform(0.04, 0.055)
    band = tube(arc((0, 0, 0), half * X, tall * Z, 0.0, np.pi, 18), rod, sections=10)
    band.vertices[:, 1] *= 2.2
    base = a.add([band])
    radius = rng.uniform(0.24, 0.32)
    for s in (-1, 1):
        at = np.array([s * half, 0, 0.0])
        centre = at - vec(0, 0, radius + 0.12)
        fork = tube(arc(centre, (radius + 0.05) * Y, (radius + 0.07) * Z, 0.0, np.pi, 12), 0.03, sections=8)
        yoke = a.add([fork, limb(at, centre + (radius + 0.07) * Z, 0.04)], base, Joint(s * Y, at, -0.15, 1.0))
        cup = lathe(
            [
                (0, -0.09),
                (0.7 * radius, -0.09),
                (radius, -0.05),
                (radius, 0.04),
                (0.85 * radius, 0.1),
                (0.5 * radius, 0.11),
                (0, 0.07),
            ],
            sections=20,
        )
        pads = [
            placed(turned(cup, Y, -s * np.pi / 2), centre),
            limb(centre - (radius + 0.05) * Y, centre + (radius + 0.05) * Y, 0.035),
        ]
        a.add(pads, yoke, Joint(Y, centre, -0.35, 0.35))
    return a


def padlock(rng: Rng) -> Assembly:
    """A padlock whose shackle swings out about one leg, with a key flap."""
    a = Assembly(fixed=bool(rng.random() < 0.3))
    w, h, t = rng.uniform(0.7, 0.9), rng.uniform(0.6, 0.8), rng.uniform(0.24, 0.32)
    body = upright(cushion((w, h, t), power=float(rng.uniform(2.5, 6)), round_power=4))
    base = a.add(
        [
            body,
            placed(torus(0.08, 0.025, major_sections=14, minor_sections=6), (0.27 * w, 0, 0.47 * h)),
            placed(torus(0.08, 0.025, major_sections=14, minor_sections=6), (-0.27 * w, 0, 0.47 * h)),
        ]
    )
    rise, leg = rng.uniform(0.2, 0.35), 0.27 * w
    top = 0.5 * h + rise
    bow = tube(
        np.concatenate(
            ([(leg, 0, 0.46 * h)], arc((0, 0, top), leg * X, leg * Z, 0.0, np.pi, 12), [(-leg, 0, 0.46 * h)])
        ),
        0.065,
    )
    a.add(bow, base, Joint(float(rng.choice([-1, 1])) * Z, np.array([-leg, 0, 0]), 0.0, rng.uniform(1.2, 2.4)))
    at = np.array([0, -0.5 * t, 0.0])
    flap = [
        placed(turned(cushion((0.16, 0.3, 0.05), power=2.2), X, np.pi / 2), at + vec(0, -0.1, -0.08)),
        limb(at, at - 0.1 * Y, 0.05),
    ]
    a.add(flap, base, Joint(Y, at, -1.2, 1.2))
    return a
