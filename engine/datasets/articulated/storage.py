"""Boxes with lids, drawers, cupboards, chests of tools and kitchen machines with doors."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import lathe, limb, loop, superellipse, tube, upright, vec
from engine.datasets.shapes.primitives import (
    Rng,
    box,
    cylinder,
    icosphere,
    open_box,
    placed,
    rounded_box,
    turned,
)


def lid_box(rng: Rng) -> Assembly:
    """A box, chest or pot with a hinged lid, sometimes with a knob."""
    w, d, h = rng.uniform(0.5, 1.6), rng.uniform(0.4, 1.2), rng.uniform(0.15, 1.0)
    wall, lid = rng.uniform(0.03, 0.08), rng.uniform(0.04, 0.25)
    a = Assembly(fixed=True)
    base = a.add(open_box(np.array([w, d, h]), wall) if rng.random() < 0.7 else box((w, d, h)))
    top = rounded_box(np.array([w, d, lid]), 0.3 * lid) if rng.random() < 0.5 else box((w, d, lid))
    meshes = [placed(top, (0, 0, 0.5 * (h + lid) + 0.004))]
    if rng.random() < 0.4:
        meshes.append(placed(icosphere(subdivisions=1, radius=0.06), (0, -0.5 * d - 0.03, 0.5 * (h + lid))))
    a.add(meshes, base, Joint(-X, np.array([0, 0.5 * d, 0.5 * h]), 0.0, rng.uniform(1.2, 2.4)))
    return a


def _shell(rng: Rng, w: float, d: float, h: float) -> list[trimesh.Trimesh]:
    wall = rng.uniform(0.03, 0.07)
    shell = [turned(open_box(np.array([w, h, d]), wall), X, np.pi / 2)]
    if rng.random() < 0.4:
        for sx in (-1, 1):
            for sy in (-1, 1):
                leg = box((0.08, 0.08, 0.2)) if rng.random() < 0.5 else cylinder(0.04, 0.2, sections=10)
                shell.append(placed(leg, (sx * (w / 2 - 0.06), sy * (d / 2 - 0.06), -h / 2 - 0.1)))
    if rng.random() < 0.4:
        shell.append(placed(rounded_box(np.array([w * 1.06, d * 1.06, 0.06]), 0.02), (0, 0, h / 2 + 0.03)))
    return shell


def _drawer(rng: Rng, width: float, depth: float, height: float) -> list[trimesh.Trimesh]:
    tray = placed(
        open_box(np.array([width * 0.94, depth * 0.9, height * 0.8]), 0.02), (0, -0.02 * depth, -0.05 * height)
    )
    front = placed(rounded_box(np.array([width, 0.05, height]), 0.012), (0, -0.5 * depth, 0))
    knob = icosphere(subdivisions=1, radius=0.04) if rng.random() < 0.5 else box((0.3 * width, 0.04, 0.03))
    return [tray, front, placed(knob, (0, -0.5 * depth - 0.04, 0))]


def drawers(rng: Rng) -> Assembly:
    """A chest of one to five drawers on runners."""
    n = int(rng.integers(1, 6))
    w, d, h = rng.uniform(0.5, 1.2), rng.uniform(0.4, 0.9), rng.uniform(0.25, 0.4) * (n + 0.4)
    a = Assembly(fixed=True)
    meshes = _shell(rng, w, d, h)
    base = a.add(meshes)
    each = (h - 0.12) / n
    for i in range(n):
        z = -0.5 * h + 0.06 + (i + 0.5) * each
        tray = [placed(m, (0, 0, z)) for m in _drawer(rng, w - 0.14, d - 0.1, each * 0.92)]
        a.add(tray, base, Joint(-Y, np.zeros(3), -0.02, d * rng.uniform(0.5, 0.7), slides=True))
        low = z - 0.45 * each * 0.92
        runner = 0.5 * (w - 0.14)
        meshes += [placed(box((0.14, d - 0.2, 0.03)), (s * runner, 0.06, low - 0.018)) for s in (-1, 1)]
    return a


def cupboard(rng: Rng) -> Assembly:
    """A cupboard with one or two doors, sometimes a drawer in a case above."""
    w, d, h = rng.uniform(0.5, 1.3), rng.uniform(0.3, 0.8), rng.uniform(0.6, 1.5)
    a = Assembly(fixed=True)
    meshes = _shell(rng, w, d, h)
    base = a.add(meshes)
    n = int(rng.integers(1, 3))
    flip = 1.0 if rng.random() < 0.5 else -1.0
    for i in range(n):
        side = flip if n == 1 else (-1.0, 1.0)[i]
        width = w / n - 0.02
        centre = 0.0 if n == 1 else side * w / 4
        leaf = [placed(rounded_box(np.array([width, 0.05, h - 0.02]), 0.012), (centre, -0.5 * d - 0.03, 0))]
        leaf.append(placed(icosphere(subdivisions=1, radius=0.04), (centre - side * 0.4 * width, -0.5 * d - 0.08, 0)))
        hinge = np.array([centre + side * 0.5 * width, -0.5 * d - 0.03, 0.0])
        a.add(leaf, base, Joint(side * Z, hinge, 0.0, rng.uniform(1.2, 2.4)))
    if rng.random() < 0.3:
        rise = h / 2 + 0.22
        meshes.append(placed(turned(open_box(np.array([w, 0.38, d]), 0.03), X, np.pi / 2), (0, 0, rise)))
        tray = [placed(m, (0, 0, rise)) for m in _drawer(rng, w - 0.08, d - 0.04, 0.28)]
        meshes += [placed(box((0.1, d - 0.1, 0.03)), (s * 0.5 * (w - 0.1), 0.04, rise - 0.144)) for s in (-1, 1)]
        a.add(tray, base, Joint(-Y, np.zeros(3), 0.0, 0.6 * d, slides=True))
    return a


def toolbox(rng: Rng) -> Assembly:
    """A tool chest with two lids that open to either side of a carrying handle."""
    w, d, h = rng.uniform(0.9, 1.5), rng.uniform(0.5, 0.8), rng.uniform(0.3, 0.5)
    thick = rng.uniform(0.05, 0.1)
    a = Assembly(fixed=bool(rng.random() < 0.5))
    meshes = [open_box(np.array([w, d, h]), 0.04)]
    bridge = np.array([0, 0, 0.5 * h])
    meshes.append(placed(box((w - 0.02, 0.06, h)), (0, 0, 0.02)))
    rise = rng.uniform(0.2, 0.35)
    meshes.append(
        tube(
            [
                bridge + vec(-0.25 * w, 0, 0),
                bridge + vec(-0.22 * w, 0, rise),
                bridge + vec(0.22 * w, 0, rise),
                bridge + vec(0.25 * w, 0, 0),
            ],
            0.035,
            sections=8,
        )
    )
    base = a.add(meshes)
    for side in (-1, 1):
        lid = placed(
            rounded_box(np.array([w, 0.5 * d - 0.05, thick]), 0.3 * thick),
            (0, side * (0.25 * d + 0.025), 0.5 * (h + thick) + 0.004),
        )
        hinge = np.array([0, side * 0.5 * d, 0.5 * h])
        a.add(lid, base, Joint(-side * X, hinge, 0.0, rng.uniform(1.5, 2.4)))
    return a


def fridge(rng: Rng) -> Assembly:
    """A refrigerator with one door above the other, hung on the same side, with bar handles."""
    w, d, h = rng.uniform(0.6, 0.8), rng.uniform(0.5, 0.7), rng.uniform(1.3, 1.9)
    share, side = rng.uniform(0.3, 0.65), float(rng.choice([-1, 1]))
    a = Assembly(fixed=True)
    split = 0.5 * h - share * h
    shelf = placed(box((w - 0.02, d - 0.04, 0.06)), (0, 0, split))
    base = a.add([turned(open_box(np.array([w, h, d]), 0.05), X, np.pi / 2), shelf])
    for low, high in ((-0.5 * h, split - 0.005), (split + 0.005, 0.5 * h)):
        middle, tall, front = 0.5 * (low + high), high - low, -0.5 * d - 0.045
        leaf = placed(rounded_box(np.array([w, 0.08, tall]), 0.02), (0, front, middle))
        x = -side * 0.42 * w
        grip = [
            (x, front - 0.02, middle - 0.2 * tall),
            (x, front - 0.09, middle - 0.18 * tall),
            (x, front - 0.09, middle + 0.18 * tall),
            (x, front - 0.02, middle + 0.2 * tall),
        ]
        hinge = np.array([side * 0.5 * w, -0.5 * d - 0.01, 0])
        a.add([leaf, tube(grip, 0.02, sections=8)], base, Joint(side * Z, hinge, 0.0, rng.uniform(1.4, 2.3)))
    return a


def _dial(at: Float[np.ndarray, "3"], radius: float) -> list[trimesh.Trimesh]:
    """Return a knob that sticks out along -Y, with a ridge that shows how it turns."""
    knob = lathe([(0, 0.0), (radius, 0.0), (0.8 * radius, 0.9 * radius), (0, 0.9 * radius)], sections=14)
    ridge = placed(rounded_box(np.array([0.35 * radius, 1.7 * radius, 0.5 * radius]), 0.05 * radius), (0, 0, radius))
    return [placed(turned(m, X, np.pi / 2), at) for m in (knob, ridge)]


def microwave(rng: Rng) -> Assembly:
    """A microwave oven: a door hung on the left, and one or two dials on the panel."""
    w, d, h = rng.uniform(0.9, 1.2), rng.uniform(0.5, 0.8), rng.uniform(0.45, 0.65)
    panel, front = 0.26 * w, -0.5 * d
    a = Assembly(fixed=True)
    inner = w - panel
    case = placed(turned(open_box(np.array([inner, h, d]), 0.05), X, np.pi / 2), (-0.5 * panel, 0, 0))
    base = a.add([case, placed(box((panel, d, h)), (0.5 * inner, 0, 0))])
    leaf = placed(rounded_box(np.array([inner - 0.01, 0.06, h]), 0.015), (-0.5 * panel, front - 0.034, 0))
    x = 0.5 * w - panel - 0.06
    grip = limb((x, front - 0.09, -0.3 * h), (x, front - 0.09, 0.3 * h), 0.03)
    a.add([leaf, grip], base, Joint(-Z, np.array([-0.5 * w, front - 0.01, 0]), 0.0, rng.uniform(1.3, 2.0)))
    for i in range(int(rng.integers(1, 3))):
        at = np.array([0.5 * w - 0.5 * panel, front - 0.002, 0.22 * h - 0.4 * h * i])
        a.add(_dial(at, 0.3 * panel), base, Joint(-Y, at, -1.25, 1.25))
    return a


def oven(rng: Rng) -> Assembly:
    """A kitchen stove: the door drops down on its lower edge, dials above, round plates on top."""
    w, d, h = rng.uniform(0.7, 1.0), rng.uniform(0.6, 0.8), rng.uniform(0.9, 1.1)
    strip, front = 0.2, -0.5 * d
    a = Assembly(fixed=True)
    meshes = [placed(turned(open_box(np.array([w, h - strip, d]), 0.05), X, np.pi / 2), (0, 0, -0.5 * strip))]
    meshes.append(placed(box((w, d, strip)), (0, 0, 0.5 * h - 0.5 * strip)))
    for sx in (-1, 1):
        for sy in (-1, 1):
            ring = lathe([(0, 0), (0.17 * w, 0), (0.17 * w, 0.03), (0, 0.03)], sections=18)
            meshes.append(placed(ring, (sx * 0.24 * w, sy * 0.24 * d, 0.5 * h - 0.002)))
    base = a.add(meshes)
    tall = h - strip - 0.08
    low = -0.5 * h + 0.06
    leaf = placed(rounded_box(np.array([w - 0.04, 0.06, tall]), 0.015), (0, front - 0.034, low + 0.5 * tall))
    y, z = front - 0.1, low + 0.88 * tall
    bar = tube(
        [(-0.36 * w, y + 0.05, z), (-0.34 * w, y, z), (0.34 * w, y, z), (0.36 * w, y + 0.05, z)], 0.022, sections=8
    )
    a.add([leaf, bar], base, Joint(X, np.array([0, front - 0.034, low]), 0.0, rng.uniform(1.2, 1.57)))
    dials = int(rng.integers(2, 6))
    for i in range(dials):
        at = np.array([w * ((i + 0.5) / dials - 0.5) * 0.9, front - 0.002, 0.5 * h - 0.5 * strip])
        a.add(_dial(at, min(0.06, 0.3 * w / dials)), base, Joint(-Y, at, -1.25, 1.25))
    return a


def washing_machine(rng: Rng) -> Assembly:
    """A washing machine: a drum behind a round porthole on a hinge, and a dial."""
    w, d, h = rng.uniform(0.7, 0.9), rng.uniform(0.5, 0.8), rng.uniform(0.9, 1.1)
    radius, front, side = 0.32 * w, -0.5 * d, float(rng.choice([-1, 1]))
    a = Assembly(fixed=True)
    eye = np.array([0, front, -0.06 * h])
    rim = lathe([(radius, -0.02), (radius, 0.03), (1.2 * radius, 0.03), (1.25 * radius, -0.02)], sections=24)
    lug = limb(eye + vec(side * 1.2 * radius, -0.03, -0.12), eye + vec(side * 1.2 * radius, -0.03, 0.12), 0.03)
    base = a.add([rounded_box(np.array([w, d, h]), 0.04), placed(turned(rim, X, np.pi / 2), eye), lug])
    glass = lathe(
        [
            (0, 0),
            (0.8 * radius, 0.0),
            (radius, 0.03),
            (radius, 0.06),
            (0.8 * radius, 0.06),
            (0.5 * radius, 0.1),
            (0, 0.12),
        ],
        sections=24,
    )
    frame = upright(loop(np.column_stack((superellipse(2.1 * radius, 2.1 * radius, 2), np.zeros(24))), 0.035))
    porthole = [placed(turned(glass, X, np.pi / 2), eye - 0.035 * Y), placed(frame, eye - 0.07 * Y)]
    arm = limb(eye + vec(side * 0.9 * radius, -0.06, 0), eye + vec(side * 1.2 * radius, -0.035, 0), 0.03)
    a.add([*porthole, arm], base, Joint(side * Z, eye + vec(side * 1.2 * radius, -0.03, 0), 0.0, rng.uniform(1.3, 2.2)))
    at = np.array([float(rng.choice([-0.28, 0.28])) * w, front - 0.002, 0.4 * h])
    a.add(_dial(at, 0.05), base, Joint(-Y, at, -1.25, 1.25))
    return a
