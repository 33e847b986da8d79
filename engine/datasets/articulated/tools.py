"""Things to hold and squeeze: scissors, pliers, spanners, tongs, staplers, knives."""

from __future__ import annotations

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import (
    arc,
    cushion,
    lathe,
    limb,
    loop,
    plate,
    superellipse,
    tube,
    upright,
    vec,
)
from engine.datasets.shapes.primitives import Rng, along, box, cylinder, placed, rounded_box, torus, turned


def scissors(rng: Rng) -> Assembly:
    """Scissors: two crossed blades on a pivot, with handles."""
    a = Assembly()
    angle, length = rng.uniform(0.1, 0.5), rng.uniform(0.7, 1.2)
    thick = rng.uniform(0.05, 0.12)
    back = rng.uniform(0.5, 1.0)
    for side in (-1, 1):
        direction = np.array([np.cos(angle * side), np.sin(angle * side), 0])
        z = side * 0.5 * thick
        across = np.array([-direction[1], direction[0], 0])
        blade = np.stack(
            [
                -back * direction - 0.05 * across,
                0.1 * direction - 0.09 * across,
                length * direction,
                0.1 * direction + 0.09 * across,
                -back * direction + 0.05 * across,
            ]
        )[:, :2]
        meshes = [placed(plate(blade, 0.98 * thick), (0, 0, z))]
        if rng.random() < 0.8:
            oval = (
                superellipse(rng.uniform(0.4, 0.6), 0.36, 2, 20)
                @ Rotation.from_euler("z", angle * side).as_matrix()[:2, :2].T
            )
            grip = loop(np.column_stack((oval, np.zeros(20))), 0.05)
            meshes.append(
                placed(grip, -(back + 0.18) * direction - 0.09 * side * across * np.sign(angle) + vec(0, 0, z))
            )
        if side < 0:
            meshes.append(cylinder(0.05, 2.4 * thick, sections=12))
            a.add(meshes)
        else:
            a.add(meshes, 0, Joint(Z, np.zeros(3), -2 * angle + 0.05, rng.uniform(0.4, 0.9)))
    return a


def pliers(rng: Rng) -> Assembly:
    """Pliers: two jaws and two bowed grips crossed on a rivet."""
    a = Assembly()
    jaw, grip = rng.uniform(0.35, 0.7), rng.uniform(0.9, 1.3)
    open_by, thick = rng.uniform(0.1, 0.2), rng.uniform(0.05, 0.09)
    for side in (-1, 1):
        nose = np.array([[0.0, -0.14], [0.12, -0.15], [jaw, 0.0], [jaw, 0.09], [0.14, 0.14], [0.0, 0.16]])
        lobe = placed(
            plate(nose * [1, side] if side > 0 else (nose * [1, side])[::-1], thick), (0, 0, side * 0.5 * thick)
        )
        bow = tube(
            [
                (0.02, 0, side * 0.5 * thick),
                (-0.15, -side * 0.12, 0),
                (-0.4, -side * 0.22, 0),
                (-0.75 * grip, -side * 0.2, 0),
                (-grip, -side * 0.14, 0),
            ],
            [0.06, 0.07, 0.07, 0.08, 0.06],
            flat=0.8,
        )
        disc = placed(
            lathe([(0, -0.5 * thick), (0.17, -0.5 * thick), (0.17, 0.5 * thick), (0, 0.5 * thick)]),
            (0, 0, side * 0.5 * thick),
        )
        pose = Rotation.from_rotvec([0, 0, side * open_by]).as_matrix()
        group = [lobe, bow, disc]
        for mesh in group:
            mesh.vertices = mesh.vertices @ pose.T
        if side < 0:
            group.append(cylinder(0.05, 2.3 * thick, sections=12))
            a.add(group)
        else:
            a.add(group, 0, Joint(Z, np.zeros(3), -1.6 * open_by, rng.uniform(0.3, 0.6)))
    return a


def adjustable_spanner(rng: Rng) -> Assembly:
    """A spanner whose lower jaw slides along the head, moved by a worm that turns."""
    a = Assembly()
    length, thick, wide = rng.uniform(1.0, 1.5), rng.uniform(0.1, 0.16), rng.uniform(0.4, 0.5)
    head = np.array(
        [
            [-0.3, -0.12],
            [0.0, -0.2],
            [0.14, -0.2],
            [0.14, wide - 0.2],
            [0.3, wide - 0.14],
            [0.3, wide],
            [0.05, wide + 0.04],
            [-0.1, wide - 0.2],
            [-0.3, 0.12],
        ]
    )
    meshes = [plate(head, thick), limb((-0.2, 0, 0), (-length, 0, 0), 0.12, 0.09, flat=0.5)]
    meshes.append(placed(torus(0.09, 0.03, major_sections=16, minor_sections=8), (-length - 0.08, 0, 0)))
    base = a.add(meshes)
    at = rng.uniform(-0.16, 0.0)
    jaw = placed(plate([(0, -0.05), (0.16, -0.06), (0.17, 0.06), (0.0, 0.05)], 0.9 * thick), (0.142, at, 0))
    a.add(jaw, base, Joint(Y, np.zeros(3), -0.14 - at, wide - 0.22 - at, slides=True))
    worm = turned(lathe([(0, -0.07), (0.06, -0.07), (0.06, 0.07), (0, 0.07)], sections=14), X, np.pi / 2)
    knurl = [
        turned(box((0.02, 0.02, 0.14)), X, np.pi / 2).apply_translation((0.06 * np.cos(t), 0, 0.06 * np.sin(t)))
        for t in np.linspace(0, 2 * np.pi, 6, endpoint=False)
    ]
    centre = np.array([0.05, 0.0, 0.5 * thick + 0.03])
    a.add([placed(m, centre) for m in [worm, *knurl]], base, Joint(Y, centre, -1.2, 1.2))
    return a


def tongs(rng: Rng) -> Assembly:
    """Kitchen tongs: two arms joined at the end, with scalloped or round tips."""
    a = Assembly()
    length, spread = rng.uniform(1.2, 1.8), rng.uniform(0.14, 0.25)
    thick, wide = rng.uniform(0.025, 0.04), rng.uniform(2.0, 3.5)
    for side in (-1, 1):
        share = np.linspace(0, 1, 7)
        path = np.column_stack((length * share, side * spread * (np.sin(0.5 * np.pi * share) + 0.06), np.zeros(7)))
        arm = tube(path, np.linspace(1, 0.8, 7) * thick, flat=1.0)
        arm.vertices[:, 2] *= wide
        tip = placed(cushion((0.3, 0.05, 0.2), power=2.5), path[-1] + vec(0.1, 0, 0))
        meshes = [arm, tip]
        if side < 0:
            meshes.append(lathe([(0, -0.1), (0.07, -0.1), (0.07, 0.1), (0, 0.1)], sections=14))
            a.add(meshes)
        else:
            a.add(meshes, 0, Joint(Z, np.zeros(3), -1.8 * np.arctan(spread / length), rng.uniform(0.2, 0.7)))
    return a


def stapler(rng: Rng) -> Assembly:
    """A stapler: a base, a magazine and a rounded arm on one pin at the back."""
    a = Assembly()
    length, wide = rng.uniform(1.2, 1.6), rng.uniform(0.24, 0.34)
    high = rng.uniform(0.2, 0.3)
    foot = placed(cushion((length, 1.2 * wide, 0.1), power=5), (0.5 * length - 0.05, 0, 0))
    cheeks = [
        placed(upright(plate(superellipse(0.26, high + 0.14, 3), 0.04)), (0.06, s * 0.48 * wide, 0.5 * high))
        for s in (-1, 1)
    ]
    base = a.add([foot, *cheeks])
    pin = np.array([0.06, 0, 0.8 * high])
    tray = placed(rounded_box(np.array([length - 0.1, 0.7 * wide, 0.11]), 0.02), (0.5 * length - 0.02, 0, 0.8 * high))
    axle = limb(pin - 0.5 * wide * Y, pin + 0.5 * wide * Y, 0.04)
    magazine = a.add([tray, axle], base, Joint(-Y, pin, 0.0, 0.5))
    share = np.linspace(0, 1, 8)
    rise = 0.8 * high + 0.16 + 0.07 * np.sin(np.pi * share)
    arm = tube(
        np.column_stack((0.02 + (length - 0.06) * share, np.zeros(8), rise)),
        np.linspace(0.1, 0.12, 8),
        flat=1.2 * wide / 0.24,
    )
    lug = limb(pin, pin + 0.15 * Z, 0.08)
    a.add([arm, lug], magazine, Joint(-Y, pin, 0.0, rng.uniform(0.6, 1.1)))
    return a


def clothes_peg(rng: Rng) -> Assembly:
    """A clothes peg: two legs that touch at the jaw and turn about the spring."""
    a = Assembly()
    front, back, wide = rng.uniform(0.5, 0.7), rng.uniform(0.6, 0.9), rng.uniform(0.18, 0.26)
    gap, thick = rng.uniform(0.07, 0.1), rng.uniform(0.09, 0.13)
    for side in (-1, 1):
        outline = np.array(
            [
                [front, 0.004],
                [front, 0.5 * thick],
                [0.1, gap + thick],
                [-back, 2.0 * gap + thick],
                [-back, 2.0 * gap + 0.3 * thick],
                [-0.08, gap],
                [0.1, gap],
                [0.25, 0.02],
            ]
        )
        outline = outline[::side] * [1, side]
        leg = upright(plate(outline if side < 0 else outline[::-1], wide))
        meshes: list[trimesh.Trimesh] = [leg]
        coil = limb((0, -0.6 * wide, 0), (0, 0.6 * wide, 0), gap + 0.012, sections=14)
        if side < 0:
            a.add([leg, coil])
        else:
            a.add(meshes, 0, Joint(-Y, np.zeros(3), 0.0, rng.uniform(0.25, 0.35)))
    return a


def pocket_knife(rng: Rng) -> Assembly:
    """A pocket knife: a rounded handle with two to four blades and tools that fold out of it."""
    a = Assembly()
    length, wide = rng.uniform(1.0, 1.3), rng.uniform(0.24, 0.3)
    count = int(rng.integers(2, 5))
    layer = rng.uniform(0.06, 0.085)
    total = layer * (count + 1)
    scale = superellipse(length, wide, 4, 24)
    plates = [placed(plate(scale, 0.05, layers=1), (0, 0, s * (0.5 * total + 0.02))) for s in (-1, 1)]
    pins = [placed(cylinder(0.06, total + 0.08, sections=10), (s * (0.5 * length - 0.1), 0, 0)) for s in (-1, 1)]
    back = placed(box((0.8 * length, 0.05, total + 0.02)), (0, -0.4 * wide, 0))
    base = a.add([*plates, *pins, back])
    for i in range(count):
        end = 1 if i % 2 else -1
        z = layer * (i - 0.5 * (count - 1))
        reach, deep = rng.uniform(0.6, 0.85) * length, rng.uniform(0.12, 0.17)
        blade = np.array(
            [
                [-0.05, -0.5 * deep],
                [0.8 * reach, -0.45 * deep],
                [reach, 0.1 * deep],
                [0.7 * reach, 0.5 * deep],
                [-0.05, 0.5 * deep],
            ]
        )
        mesh = placed(plate(blade, 0.8 * layer), (0, 0.05, z))
        pivot = np.array([end * (0.5 * length - 0.1), 0.0, 0.0])
        if end > 0:
            mesh = turned(mesh, Y, np.pi)
            mesh = placed(mesh, (0, 0, 2 * z))
        a.add(placed(mesh, pivot), base, Joint(-end * Z, pivot, -rng.uniform(2.3, 2.6) + 0.55 * (i // 2), 0.0))
    return a


def nutcracker(rng: Rng) -> Assembly:
    """A lever press such as a garlic press or nutcracker: two round handles on one pin, and a cup."""
    a = Assembly()
    length, spread = rng.uniform(1.1, 1.5), rng.uniform(0.15, 0.3)
    for side in (-1, 1):
        grip = tube(
            [
                (0, 0, 0),
                (0.25 * length, side * 0.14, 0),
                (0.5 * length, side * (0.1 + 0.5 * spread), 0),
                (length, side * spread, 0),
            ],
            [0.06, 0.055, 0.065, 0.05],
        )
        meshes = [grip]
        if side < 0:
            cup = lathe([(0, -0.1), (0.16, -0.1), (0.16, 0.1), (0.12, 0.1), (0.12, -0.06), (0, -0.06)], sections=18)
            meshes += [
                placed(turned(cup, X, -np.pi / 2), (0.3 * length, -0.12, 0)),
                limb((0, 0, -0.12), (0, 0, 0.12), 0.07),
            ]
            a.add(meshes)
        else:
            punch = lathe([(0, -0.06), (0.09, -0.06), (0.09, 0.06), (0, 0.06)], sections=14)
            meshes.append(placed(turned(punch, X, np.pi / 2), (0.3 * length, 0.12, 0)))
            a.add(meshes, 0, Joint(Z, np.zeros(3), -0.5 * spread, rng.uniform(0.8, 1.5)))
    return a


def carabiner(rng: Rng) -> Assembly:
    """A snap hook: a bent bar with a gate that swings inwards."""
    a = Assembly()
    length, wide, thick = rng.uniform(0.9, 1.3), rng.uniform(0.45, 0.6), rng.uniform(0.05, 0.075)
    top, low = 0.5 * length - 0.5 * wide, -0.5 * length + 0.4 * wide
    body = np.concatenate(
        (
            arc((0, 0, top), 0.5 * wide * X, 0.5 * wide * Z, -0.3, np.pi, 9),
            arc((0, 0, low), -0.5 * wide * X, -0.4 * wide * Z, 0.0, np.pi + 0.1, 9),
        )
    )
    base = a.add(tube(body, thick))
    hinge = np.array([0.5 * wide, 0, low + 0.04])
    tip = body[0]
    gate = limb(hinge, tip - 0.03 * Z, 0.8 * thick)
    pin = limb(hinge - 1.2 * thick * Y, hinge + 1.2 * thick * Y, 0.5 * thick, sections=8)
    a.add([gate, pin], base, Joint(-Y, hinge, 0.0, rng.uniform(0.45, 0.7)))
    return a


def clamp(rng: Rng) -> Assembly:
    """A bar clamp: a jaw that slides along the bar, with a screw whose handle turns."""
    a = Assembly()
    length, reach = rng.uniform(1.1, 1.6), rng.uniform(0.35, 0.5)
    bar = placed(rounded_box(np.array([length, 0.1, 0.06]), 0.015), (0.5 * length, 0, 0))
    jaw = tube([(0.03, 0, 0), (0.0, -0.5 * reach, 0), (0.04, -reach, 0), (0.12, -reach, 0)], [0.08, 0.07, 0.06, 0.06])
    base = a.add([bar, jaw])
    at = rng.uniform(0.5, 0.7) * length
    slider = [
        placed(rounded_box(np.array([0.16, 0.2, 0.14]), 0.03), (at, 0, 0)),
        tube([(at, 0, 0), (at + 0.02, -0.5 * reach, 0), (at, -reach, 0)], [0.08, 0.07, 0.07]),
    ]
    low, high = 0.32 - at, length - at - 0.1
    moving = a.add(slider, base, Joint(X, np.zeros(3), low, high, slides=True))
    centre = np.array([at, -reach, 0])
    screw = [along(cylinder(0.035, 0.42, sections=10), centre - 0.14 * X, centre + 0.28 * X)]
    screw.append(
        placed(
            turned(lathe([(0, 0), (0.07, 0), (0.05, 0.05), (0, 0.05)], sections=12), Y, -np.pi / 2), centre - 0.1 * X
        )
    )
    screw.append(limb(centre + 0.26 * X - 0.15 * Z, centre + 0.26 * X + 0.15 * Z, 0.025, sections=8))
    a.add(screw, moving, Joint(X, centre, -1.25, 1.25))
    return a
