"""Procedural articulated objects: boxes with lids, drawers, doors, chains, lamps, scissors, creatures and more.

Every family returns an `Assembly`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.articulated.assembly import MAX_TURN, Assembly, Joint, X, Y, Z
from engine.datasets.shapes.primitives import (
    Rng,
    along,
    box,
    cone,
    cylinder,
    icosphere,
    open_box,
    placed,
    random_bar,
    random_lump,
    rounded_box,
    torus,
    turned,
)


def lid_box(rng: Rng) -> Assembly:
    """A box, chest or pot with a hinged lid, sometimes with a knob."""
    w, d, h = rng.uniform(0.5, 1.6), rng.uniform(0.4, 1.2), rng.uniform(0.15, 1.0)
    wall, lid = rng.uniform(0.03, 0.08), rng.uniform(0.04, 0.25)
    a = Assembly()
    base = a.add(open_box(np.array([w, d, h]), wall) if rng.random() < 0.7 else box((w, d, h)))
    top = rounded_box(np.array([w, d, lid]), 0.3 * lid) if rng.random() < 0.5 else box((w, d, lid))
    meshes = [placed(top, (0, 0, 0.5 * (h + lid) + 0.004))]
    if rng.random() < 0.4:
        meshes.append(placed(icosphere(subdivisions=1, radius=0.06), (0, -0.5 * d - 0.03, 0.5 * (h + lid))))
    a.add(meshes, base, Joint(-X, np.array([0, 0.5 * d, 0.5 * h]), -0.0, rng.uniform(1.2, 2.4)))
    return a


def clamshell(rng: Rng) -> Assembly:
    """Two slabs hinged along one edge: laptop, book, case, compact. Some have keys and a screen."""
    w, d = rng.uniform(0.8, 1.7), rng.uniform(0.6, 1.2)
    t0, t1 = rng.uniform(0.02, 0.14, 2)
    bevel = rng.uniform(0.1, 0.45) * min(t0, t1)
    a = Assembly()
    lower = [placed(rounded_box(np.array([w, d, t0]), bevel), (0, 0, -0.5 * t0 - 0.003))]
    upper = [placed(rounded_box(np.array([w * rng.uniform(0.9, 1), d, t1]), bevel), (0, 0, 0.5 * t1 + 0.003))]
    if rng.random() < 0.5:
        columns, rows = int(rng.integers(3, 9)), int(rng.integers(2, 4))
        for i in range(columns):
            for j in range(rows):
                at = (w * (0.8 * (i + 0.5) / columns - 0.4), d * (0.5 * j / rows), 0.001)
                lower.append(placed(box((0.6 * w / columns, 0.3 * d / rows, 0.012)), at))
    if rng.random() < 0.5:
        upper.append(placed(box((0.85 * w, 0.85 * d, 0.01)), (0, 0, 0.002)))
    base = a.add(lower)
    if rng.random() < 0.4:
        lower.append(
            turned(cylinder(0.6 * max(t0, t1), 0.5 * w, sections=12), Y, np.pi / 2).apply_translation((0, d / 2, 0))
        )
    a.add(upper, base, Joint(-X, np.array([0, 0.5 * d, 0.0]), 0.0, MAX_TURN * rng.uniform(0.7, 1.0)))
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
        open_box(np.array([width * 0.94, depth * 0.9, height * 0.8]), 0.02), (0, 0.02 * depth, -0.05 * height)
    )
    front = placed(rounded_box(np.array([width, 0.05, height]), 0.012), (0, -0.5 * depth, 0))
    knob = icosphere(subdivisions=1, radius=0.04) if rng.random() < 0.5 else box((0.3 * width, 0.04, 0.03))
    return [tray, front, placed(knob, (0, -0.5 * depth - 0.06, 0))][int(rng.random() < 0.2) :]


def drawers(rng: Rng) -> Assembly:
    """A chest of one to five drawers."""
    n = int(rng.integers(1, 6))
    w, d, h = rng.uniform(0.5, 1.2), rng.uniform(0.4, 0.9), rng.uniform(0.25, 0.4) * (n + 0.4)
    a = Assembly()
    base = a.add(_shell(rng, w, d, h))
    each = (h - 0.12) / n
    for i in range(n):
        z = -0.5 * h + 0.06 + (i + 0.5) * each
        meshes = [placed(m, (0, 0, z)) for m in _drawer(rng, w - 0.14, d - 0.1, each * 0.92)]
        a.add(meshes, base, Joint(-Y, np.zeros(3), -0.02, d * rng.uniform(0.5, 0.85), slides=True))
    return a


def cupboard(rng: Rng) -> Assembly:
    """A cupboard with one or two doors, sometimes a drawer above."""
    w, d, h = rng.uniform(0.5, 1.3), rng.uniform(0.3, 0.8), rng.uniform(0.6, 1.5)
    a = Assembly()
    base = a.add(_shell(rng, w, d, h))
    n = int(rng.integers(1, 3))
    flip = 1.0 if rng.random() < 0.5 else -1.0
    for i in range(n):
        side = flip if n == 1 else (-1.0, 1.0)[i]
        width = w / n - 0.02
        centre = 0.0 if n == 1 else side * w / 4
        leaf = [placed(rounded_box(np.array([width, 0.05, h - 0.02]), 0.012), (centre, -0.5 * d - 0.03, 0))]
        leaf.append(placed(icosphere(subdivisions=1, radius=0.04), (centre - side * 0.4 * width, -0.5 * d - 0.09, 0)))
        hinge = np.array([centre + side * 0.5 * width, -0.5 * d - 0.03, 0.0])
        a.add(leaf, base, Joint(side * Z, hinge, -0.02, rng.uniform(1.2, 2.4)))
    if rng.random() < 0.3:
        tray = [placed(m, (0, 0, h / 2 + 0.2)) for m in _drawer(rng, w, d, 0.28)]
        a.add(tray, base, Joint(-Y, np.zeros(3), 0.0, 0.7 * d, slides=True))
    return a


def chain(rng: Rng) -> Assembly:
    """A chain, snake or string of beads: three to twelve links, straight, curved or hanging."""
    n = int(rng.integers(3, 13))
    length, width = 1.0, rng.uniform(0.2, 0.7)
    gap = rng.uniform(-0.05, 0.08)
    curve, turn_axis = rng.normal(0, 0.25), Z if rng.random() < 0.6 else Y
    plane_only = rng.random() < 0.35
    lump = rng.random() < 0.4
    proto = random_lump(rng, np.array([width, width, 0.95])) if lump else random_bar(rng, 0.95, width)
    taper = rng.uniform(0.85, 1.0)
    a, at, heading, parent = Assembly(), np.zeros(3), Rotation.identity(), -1
    hang = rng.random() < 0.2
    forward = -Z if hang else X
    for i in range(n):
        direction = heading.apply(forward)
        end = at + direction * length
        mesh = along(proto.copy().apply_scale(taper**i), at, end)
        meshes = [mesh]
        if i == n - 1 and rng.random() < 0.5:
            meshes = [placed(random_lump(rng, np.full(3, width * 1.4)), end)]
        spread = rng.uniform(0.5, 0.9)
        first = heading.apply(turn_axis if not hang else Y)
        second = np.cross(direction, first)
        joints = [Joint(first, at - 0.5 * gap * direction, -spread, spread)]
        if not plane_only:
            joints.append(
                Joint(second / np.linalg.norm(second), at - 0.5 * gap * direction, -0.5 * spread, 0.5 * spread)
            )
        parent = a.add(meshes, parent, *(joints if i else []))
        at, heading = end + gap * direction, heading * Rotation.from_rotvec((turn_axis if not hang else Y) * curve)
    return a


def lamp(rng: Rng) -> Assembly:
    """A desk lamp, crane or robot arm: a foot, two to four arms and a head."""
    a = Assembly()
    foot = cylinder(rng.uniform(0.3, 0.55), 0.08, sections=24) if rng.random() < 0.7 else box((0.7, 0.6, 0.1))
    meshes = [foot]
    at = np.array([0, 0, 0.06])
    if rng.random() < 0.5:
        meshes.append(placed(cylinder(0.08, 0.2, sections=12), (0, 0, 0.12)))
        at = np.array([0, 0, 0.22])
    parent = a.add(meshes)
    pitch = rng.uniform(-0.6, 0.3)
    for i in range(int(rng.integers(1, 4))):
        length = rng.uniform(0.5, 1.1)
        direction = np.array([np.sin(pitch), 0, np.cos(pitch)])
        end = at + length * direction
        arm = [along(random_bar(rng, 0.94 * length, rng.uniform(0.05, 0.14)), at, end)]
        if rng.random() < 0.5:
            arm.append(placed(turned(cylinder(0.09, 0.12, sections=12), X, np.pi / 2), at))
        joints = [Joint(Y, at, -0.9, 0.9)]
        if i == 0 and rng.random() < 0.5:
            joints.insert(0, Joint(Z, at, -1.2, 1.2))
        parent = a.add(arm, parent, *joints)
        at, pitch = end, pitch + rng.uniform(0.4, 1.6)
    direction = np.array([np.sin(pitch), 0, np.cos(pitch)])
    size = rng.uniform(0.25, 0.45)
    choice = rng.integers(3)
    if choice == 0:
        head = along(placed(cone(size * 0.7, size, sections=24), (0, 0, -size / 2)), at + size * direction, at)
    elif choice == 1:
        head = placed(icosphere(subdivisions=2, radius=0.5 * size), at + 0.4 * size * direction)
    else:
        head = along(random_lump(rng, np.array([size, size, size])), at, at + size * direction)
    a.add(head, parent, Joint(Y, at, -0.9, 0.9))
    return a


def scissors(rng: Rng) -> Assembly:
    """Scissors, pliers or tongs: two crossed levers on a pivot, with handles."""
    a = Assembly()
    angle, length = rng.uniform(0.1, 0.5), rng.uniform(0.7, 1.2)
    thick = rng.uniform(0.05, 0.12)
    back = rng.uniform(0.5, 1.0)
    for side in (-1, 1):
        direction = np.array([np.cos(angle * side), np.sin(angle * side), 0])
        z = side * 0.52 * thick
        blade = along(box((thick, 0.16, length + back)), -back * direction, length * direction)
        meshes = [placed(blade, (0, 0, z))]
        if rng.random() < 0.7:
            ring = torus(0.2, 0.05, major_sections=16, minor_sections=8)
            meshes.append(placed(ring, -(back + 0.18) * direction + np.array([0, 0, z])))
        if side < 0:
            if rng.random() < 0.5:
                meshes.append(cylinder(0.05, 3 * thick, sections=12))
            a.add(meshes)
        else:
            a.add(meshes, 0, Joint(Z, np.zeros(3), -2 * angle + 0.05, rng.uniform(0.4, 1.2)))
    return a


def creature(rng: Rng) -> Assembly:
    """A toy animal or insect: a body, a head and two to eight legs of one or two segments."""
    a = Assembly()
    extents = rng.uniform([0.7, 0.35, 0.3], [1.5, 0.8, 0.7])
    body = a.add(random_lump(rng, extents))
    if rng.random() < 0.8:
        head_at = np.array([0.5 * extents[0], 0, 0.3 * extents[2]])
        head = placed(random_lump(rng, np.full(3, 0.7 * extents[1])), head_at + np.array([0.3 * extents[1], 0, 0.1]))
        a.add(head, body, Joint(Y, head_at, -0.6, 0.6), Joint(Z, head_at, -0.6, 0.6))
    pairs = int(rng.integers(1, 5))
    length, width, splay = rng.uniform(0.3, 0.8), rng.uniform(0.07, 0.16), rng.uniform(0.0, 0.9)
    knees = rng.random() < 0.5
    proto = random_bar(rng, length, width)
    for i in range(pairs):
        x = extents[0] * (0.4 - 0.8 * i / max(pairs - 1, 1)) if pairs > 1 else 0.0
        for side in (-1, 1):
            at = np.array([x, side * 0.42 * extents[1], -0.3 * extents[2]])
            out = np.array([0, side * np.sin(splay), -np.cos(splay)])
            leg = a.add(along(proto, at, at + length * out), body, Joint(Y, at, -0.7, 0.7), Joint(X, at, -0.4, 0.4))
            if knees:
                knee = at + length * out
                a.add(along(proto, knee, knee - length * Z), leg, Joint(Y, knee, -0.8, 0.8))
    return a


def lever(rng: Rng) -> Assembly:
    """A switch, tap, joystick or pendulum: a base and one or two moving handles."""
    a = Assembly()
    extents = rng.uniform(0.3, 1.0, 3)
    meshes = [random_lump(rng, extents)]
    if rng.random() < 0.4:
        meshes.append(placed(box((1.4, 1.2, 0.08)), (0, 0, -0.5 * extents[2] - 0.04)))
    base = a.add(meshes)
    for side in [0.0] if rng.random() < 0.6 else [-1.0, 1.0]:
        at = np.array([side * 0.3 * extents[0], 0, 0.45 * extents[2]])
        lean = rng.normal(0, 0.4, 2)
        direction = np.array([lean[0], lean[1], 1.0]) / np.linalg.norm([lean[0], lean[1], 1.0])
        length = rng.uniform(0.4, 1.0)
        stick = [along(random_bar(rng, length, rng.uniform(0.06, 0.2)), at, at + length * direction)]
        if rng.random() < 0.6:
            stick.append(placed(random_lump(rng, np.full(3, rng.uniform(0.12, 0.3))), at + length * direction))
        joints = [Joint(Y, at, -0.8, 0.8)]
        if rng.random() < 0.4:
            joints.append(Joint(X, at, -0.6, 0.6))
        a.add(stick, base, *joints)
    return a


def rotor(rng: Rng) -> Assembly:
    """A fan, wheel, valve or knob turning on a base."""
    a = Assembly()
    meshes = [placed(random_lump(rng, np.array([0.3, 0.3, rng.uniform(0.4, 1.0)])), (0, 0.3, -0.5))]
    meshes.append(placed(turned(cylinder(0.07, 0.5, sections=12), X, np.pi / 2), (0, 0.15, 0)))
    base = a.add(meshes)
    blades = int(rng.integers(2, 6))
    turning = [turned(cylinder(0.15, 0.12, sections=16), X, np.pi / 2)]
    for i in range(blades):
        blade = placed(rounded_box(np.array([0.2, 0.04, 0.6]), 0.01), (0, 0, 0.4))
        turning.append(turned(blade, Y, 2 * np.pi * i / blades))
    if rng.random() < 0.4:
        turning.append(turned(torus(0.7, 0.06, major_sections=24, minor_sections=8), X, np.pi / 2))
    a.add(
        [placed(m, (0, -0.15, 0)) for m in turning],
        base,
        Joint(Y, np.array([0, -0.15, 0]), -MAX_TURN / 2, MAX_TURN / 2),
    )
    return a


def gripper(rng: Rng) -> Assembly:
    """A palm with two to five fingers of one to three segments."""
    a = Assembly()
    palm = a.add(random_lump(rng, np.array([0.8, 0.35, 0.7])))
    fingers, segments = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    for i in range(fingers):
        at = np.array([0.8 * ((i + 0.5) / fingers - 0.5), 0, 0.36])
        parent, width = palm, 0.5 / fingers + 0.04
        for j in range(segments):
            length = 0.45 * 0.85**j
            bar = along(random_bar(rng, 0.97 * length, width), at, at + length * Z)
            parent = a.add(bar, parent, Joint(X, at, -0.3, 1.0))
            at = at + length * Z
    return a


FAMILIES: dict[str, Callable[[Rng], Assembly]] = {
    f.__name__: f
    for f in (lid_box, clamshell, drawers, cupboard, chain, lamp, scissors, creature, lever, rotor, gripper)
}
