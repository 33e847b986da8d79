"""Pots, cans and taps: turned on a lathe, with lids, bails, pedals and spouts on hinges."""

from __future__ import annotations

import numpy as np
import trimesh

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
    vessel,
)
from engine.datasets.shapes.primitives import Rng, Vector, capsule, icosphere, placed, torus, turned


def _barrel(rng: Rng, radius: float, height: float) -> list[tuple[float, float]]:
    """Return (radius, height) pairs of a side wall that ends at ``radius``: straight, bulging, conical or waisted."""
    bulge, foot = rng.uniform(-0.12, 0.25) * radius, rng.uniform(0.7, 1.0) * radius
    z = np.linspace(0, 1, 7)
    return list(zip(foot + (radius - foot) * z + bulge * np.sin(np.pi * z), height * z, strict=True))


def _lid(rng: Rng, radius: float, z: float, *, knob: bool = True) -> list[trimesh.Trimesh]:
    """Return a round lid, flat to domed, with its underside at height ``z``, and mostly a knob."""
    dome, rim = rng.uniform(0.05, 0.5) * radius, 0.05 * radius + 0.01
    angle = np.linspace(0, 0.5 * np.pi, 6)
    top = list(zip(radius * np.cos(angle), z + rim + dome * np.sin(angle), strict=True))
    meshes = [lathe([(0, z), (radius, z), *top[:-1], (0, top[-1][1])])]
    if knob and rng.random() < 0.8:
        r, at = radius * rng.uniform(0.1, 0.2), top[-1][1] - 0.01
        meshes.append(
            lathe([(0, at), (0.6 * r, at), (0.5 * r, at + r), (r, at + 1.5 * r), (0, at + 2 * r)], sections=12)
        )
    return meshes


def _lug(width: float, radius: float, at: Vector) -> trimesh.Trimesh:
    """Return a hinge pin along X."""
    point = np.asarray(at)
    return limb(point - 0.5 * width * X, point + 0.5 * width * X, radius, sections=8)


def hinged_pot(rng: Rng) -> Assembly:
    """A pot, jar or tankard whose lid is hinged at the back, with two side handles or none."""
    radius, height = rng.uniform(0.35, 0.7), rng.uniform(0.4, 1.1)
    outer = _barrel(rng, radius, height)
    meshes = [vessel(outer, wall=0.05, floor=0.06), _lug(0.25, 0.035, (0, radius, height))]
    if rng.random() < 0.6:
        for side in (-1, 1):
            at = np.array([side * outer[4][0], 0, outer[4][1]])
            meshes.append(tube(arc(at, 0.12 * Y, 0.14 * side * X, -0.2, np.pi + 0.2), 0.03, sections=8))
    a = Assembly(fixed=bool(rng.random() < 0.5))
    base = a.add(meshes)
    lid = [*_lid(rng, radius, height + 0.006), _lug(0.1, 0.045, (0, radius, height + 0.02))]
    a.add(lid, base, Joint(-X, np.array([0, radius, height]), 0.0, rng.uniform(1.4, 2.2)))
    return a


def mug_with_lid(rng: Rng) -> Assembly:
    """A beer mug: a handle at the back, and over it the hinge of a lid with a thumb rest."""
    radius, height = rng.uniform(0.3, 0.45), rng.uniform(0.6, 1.0)
    outer = _barrel(rng, radius, height)
    wide = max(r for r, _ in outer)
    grip = arc((0, radius - 0.02, 0.52 * height), 0.36 * height * Z, (wide - radius + 0.3) * Y, 0.0, np.pi, 12)
    meshes = [
        vessel(outer, wall=0.045, floor=0.06),
        tube(grip, 0.05, sections=8),
        _lug(0.14, 0.04, (0, radius, height)),
    ]
    a = Assembly()
    base = a.add(meshes)
    thumb = limb((0, radius, height + 0.04), (0, radius + 0.08, height + 0.2), 0.035, 0.05)
    a.add(
        [*_lid(rng, radius, height + 0.006), thumb],
        base,
        Joint(-X, np.array([0, radius, height + 0.01]), 0.0, rng.uniform(1.0, 1.5)),
    )
    return a


def teapot(rng: Rng) -> Assembly:
    """A round teapot with spout and handle; its lid tips up on a hinge towards the handle."""
    wide, tall = rng.uniform(0.5, 0.7), rng.uniform(0.6, 0.9)
    angle = np.linspace(-1.2, 1.0, 10)
    body = [
        (0.0, 0.5 * tall * (1 + np.sin(-1.2))),
        *zip(wide * np.cos(angle), 0.5 * tall * (1 + np.sin(angle)), strict=True),
    ]
    mouth, top = body[-1]
    meshes = [lathe([*body, (0.0, top)], sections=24)]
    mid = 0.45 * tall
    spout = [
        (0, -0.8 * wide, mid - 0.1),
        (0, -1.2 * wide, mid),
        (0, -1.35 * wide, mid + 0.2),
        (0, -1.6 * wide, mid + 0.42),
    ]
    meshes.append(tube(spout, [0.14, 0.1, 0.075, 0.06]))
    meshes.append(
        tube(arc((0, 0.85 * wide, mid), 0.3 * tall * Z, 0.55 * wide * Y, 0.1, np.pi - 0.1, 12), 0.05, sections=8)
    )
    meshes.append(_lug(0.16, 0.03, (0, mouth, top)))
    a = Assembly()
    base = a.add(meshes)
    a.add(_lid(rng, mouth, top + 0.004), base, Joint(-X, np.array([0, mouth, top]), 0.0, rng.uniform(1.2, 1.9)))
    return a


def swing_top_bottle(rng: Rng) -> Assembly:
    """A bottle whose stopper hangs on a wire bail that swings about the neck."""
    radius, height, neck = rng.uniform(0.22, 0.32), rng.uniform(0.7, 1.1), rng.uniform(0.09, 0.13)
    top = height + rng.uniform(0.3, 0.5)
    wall = [
        (0, 0),
        (0.95 * radius, 0),
        (radius, 0.05),
        (radius, height - 0.15),
        (0.8 * radius, height),
        (1.1 * neck, height + 0.15),
        (neck, top - 0.05),
        (1.2 * neck, top - 0.03),
        (1.2 * neck, top),
        (0, top),
    ]
    pivot = top - 0.14
    pins = _lug(2 * neck + 0.08, 0.03, (0, 0, pivot))
    ring = placed(torus(neck + 0.01, 0.02, major_sections=16, minor_sections=6), (0, 0, pivot))
    a = Assembly()
    base = a.add([lathe(wall), pins, ring])
    reach = neck + 0.05
    stopper = lathe(
        [(0, top + 0.004), (neck, top + 0.004), (neck, top + 0.05), (0.6 * neck, top + 0.1), (0, top + 0.11)],
        sections=14,
    )
    wire = tube(
        [
            (-reach, 0, pivot),
            (-reach, 0, top + 0.02),
            (-0.6 * reach, 0, top + 0.09),
            (0, 0, top + 0.1),
            (0.6 * reach, 0, top + 0.09),
            (reach, 0, top + 0.02),
            (reach, 0, pivot),
        ],
        0.022,
        sections=6,
    )
    a.add([stopper, wire], base, Joint(X, np.array([0, 0, pivot]), 0.0, rng.uniform(1.1, 1.7)))
    return a


def pedal_bin(rng: Rng) -> Assembly:
    """A round bin whose lid opens backwards, with a pedal at the foot."""
    radius, height = rng.uniform(0.3, 0.5), rng.uniform(0.7, 1.3)
    outer = [(r * f, z) for r, f, z in ((radius, 1.04, 0.0), (radius, 1.04, 0.06), (radius, 0.9, 0.09))]
    outer += list(zip(np.linspace(0.9, 1.0, 5) * radius, np.linspace(0.12, height, 5), strict=True))
    a = Assembly(fixed=True)
    base = a.add([vessel(outer, wall=0.04, floor=0.1), _lug(0.3, 0.04, (0, radius, height))])
    lid = _lid(rng, 1.02 * radius, height + 0.006, knob=False)
    a.add(lid, base, Joint(-X, np.array([0, radius, height]), 0.0, rng.uniform(1.1, 1.6)))
    pedal = plate(superellipse(0.24, 0.3, 3), 0.04)
    hinge = np.array([0, -1.02 * radius, 0.07])
    a.add([placed(pedal, (0, -radius - 0.14, 0.07))], base, Joint(X, hinge, 0.0, 0.2))
    return a


def tap(rng: Rng) -> Assembly:
    """A tap: the spout swivels on the column, a lever on top or a handle on either side turns."""
    radius, height = rng.uniform(0.12, 0.18), rng.uniform(0.4, 0.7)
    column = [(0, 0), (2 * radius, 0), (2 * radius, 0.05), (1.1 * radius, 0.1), (radius, height), (0, height)]
    a = Assembly(fixed=True)
    sides = bool(rng.random() < 0.5)
    meshes = [lathe(column)]
    if sides:
        meshes.append(_lug(1.1, 0.09, (0, 0, 0.14)))
    base = a.add(meshes)
    reach, rise = rng.uniform(0.5, 0.8), rng.uniform(0.15, 0.6)
    start = np.array([0, 0, height + 0.08])
    path = np.concatenate(
        (
            start[None] - 0.02 * Z,
            arc(start + vec(0, -0.5 * reach, rise), 0.5 * reach * Y, 0.4 * reach * Z, 0.0, np.pi, 9),
            [start + vec(0, -reach, 0.6 * rise)],
        )
    )
    socket = lathe(
        [(0, height + 0.003), (1.15 * radius, height + 0.003), (1.15 * radius, height + 0.14), (0, height + 0.17)]
    )
    spout = a.add([socket, tube(path, 0.075)], base, Joint(Z, start, -1.2, 1.2))
    if sides:
        for side in (-1, 1):
            at = np.array([side * 0.6, 0, 0.14])
            hub = turned(lathe([(0, -0.1), (0.1, -0.1), (0.1, 0.1), (0, 0.1)], sections=14), Y, np.pi / 2)
            wings = limb(at - 0.2 * Z, at + 0.2 * Z, 0.045), limb(at - 0.2 * Y, at + 0.2 * Y, 0.045)
            a.add([placed(hub, at), *wings], base, Joint(side * X, at, -1.2, 1.2))
    else:
        at = np.array([0, 0.06, height + 0.12])
        lever = limb(at, at + np.array([0, 0.32, 0.22]), 0.05, 0.035, flat=1.6)
        a.add(lever, spout, Joint(X, at, -0.25, 0.7))
    return a


def valve_wheel(rng: Rng) -> Assembly:
    """A pipe with a valve whose hand wheel turns; sometimes two valves stand side by side."""
    count = int(rng.integers(1, 4))
    radius = rng.uniform(0.12, 0.2)
    half = 0.55 * count + 0.2
    meshes = [limb((-half, 0, 0), (half, 0, 0), radius, sections=14)]
    meshes += [
        placed(
            turned(lathe([(0, -0.05), (1.6 * radius, -0.05), (1.6 * radius, 0.05), (0, 0.05)]), Y, np.pi / 2),
            (s * half, 0, 0),
        )
        for s in (-1, 1)
    ]
    a = Assembly(fixed=True)
    centres = [1.1 * (i - 0.5 * (count - 1)) for i in range(count)]
    stem = rng.uniform(0.35, 0.6)
    for x in centres:
        bonnet = [
            (0, 0),
            (1.5 * radius, 0.0),
            (1.3 * radius, 0.2),
            (0.5 * radius, 0.3),
            (0.4 * radius, stem),
            (0, stem),
        ]
        meshes.append(placed(lathe(bonnet, sections=14), (x, 0, 0)))
    base = a.add(meshes)
    spokes, wheel = int(rng.integers(3, 6)), rng.uniform(0.3, 0.45)
    for x in centres:
        at = np.array([x, 0, stem])
        rim = [torus(wheel, 0.05, major_sections=24, minor_sections=8), icosphere(subdivisions=1, radius=0.1)]
        turns = 2 * np.pi * np.arange(spokes) / spokes
        rim += [limb((0, 0, 0), (wheel * np.cos(t), wheel * np.sin(t), 0), 0.03, sections=6) for t in turns]
        a.add([placed(m, at) for m in rim], base, Joint(Z, at, -1.25, 1.25))
    return a


def watering_can(rng: Rng) -> Assembly:
    """A can with a long spout and a bail handle that swings over the top."""
    radius, height = rng.uniform(0.35, 0.5), rng.uniform(0.5, 0.8)
    meshes = [vessel(_barrel(rng, radius, height), wall=0.04, floor=0.05)]
    rose = upright(cushion((0.26, 0.26, 0.1), power=2))
    tip = np.array([0, -radius - 0.6, height + 0.1])
    meshes += [tube([(0, -0.8 * radius, 0.15), 0.5 * (tip + vec(0, -0.8 * radius, 0.1)), tip], [0.09, 0.06, 0.05])]
    meshes += [placed(rose, tip), _lug(0.1, 0.045, (-radius, 0, height)), _lug(0.1, 0.045, (radius, 0, height))]
    a = Assembly()
    base = a.add(meshes)
    bail = tube(arc((0, 0, height), (radius + 0.03) * X, (radius + 0.15) * Z, 0.0, np.pi, 16), 0.035, sections=8)
    grip = capsule(height=0.2, radius=0.055, count=(8, 10))
    grip = placed(turned(placed(grip, -grip.bounds.mean(0)), Y, np.pi / 2), (0, 0, height + radius + 0.15))
    a.add([bail, grip], base, Joint(X, np.array([0, 0, height]), -1.25, 1.25))
    return a
