"""Toys on wheels and wings: cars, bicycles, trains and a shuttle."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import (
    cushion,
    lathe,
    limb,
    loft,
    plate,
    superellipse,
    tube,
    upright,
    vec,
)
from engine.datasets.shapes.primitives import Rng, cone, cylinder, icosphere, placed, torus, turned


def _wheel(rng: Rng, at: Float[np.ndarray, "3"], radius: float, width: float) -> list[trimesh.Trimesh]:
    """Return a wheel about Y: a disc with tyre and hub, or a rim with spokes."""
    if rng.random() < 0.6:
        half = 0.5 * width
        tyre = lathe(
            [
                (0, -0.6 * half),
                (0.55 * radius, -0.6 * half),
                (0.65 * radius, -half),
                (0.92 * radius, -half),
                (radius, 0.0),
                (0.92 * radius, half),
                (0.65 * radius, half),
                (0.55 * radius, 0.6 * half),
                (0, 0.6 * half),
            ],
            sections=18,
        )
        nuts = [
            placed(
                icosphere(subdivisions=0, radius=0.09 * radius),
                (0.3 * radius * np.cos(t), 0.3 * radius * np.sin(t), s * 0.6 * half),
            )
            for t in np.linspace(0, 2 * np.pi, 4, endpoint=False)
            for s in (-1, 1)
        ]
        meshes = [tyre, *nuts]
    else:
        spokes = int(rng.integers(4, 8))
        meshes = [
            torus(radius - 0.3 * width, 0.3 * width, major_sections=20, minor_sections=8),
            lathe(
                [(0, -0.5 * width), (0.2 * radius, -0.5 * width), (0.2 * radius, 0.5 * width), (0, 0.5 * width)],
                sections=12,
            ),
        ]
        meshes += [
            limb(
                (0, 0, 0),
                ((radius - 0.3 * width) * np.cos(t), (radius - 0.3 * width) * np.sin(t), 0),
                0.13 * width,
                sections=6,
            )
            for t in np.linspace(0, 2 * np.pi, spokes, endpoint=False)
        ]
    return [placed(turned(m, X, np.pi / 2), at) for m in meshes]


def toy_car(rng: Rng) -> Assembly:
    """A toy car: a smooth body, four wheels that roll, two doors, and a bonnet or boot."""
    a = Assembly()
    length, width, radius = rng.uniform(1.6, 2.1), rng.uniform(0.7, 0.9), rng.uniform(0.19, 0.25)
    body = placed(cushion((length, width, 0.36), power=5, round_power=4), (0, 0, radius + 0.16))
    cabin = placed(
        cushion((0.5 * length, 0.86 * width, 0.4), power=4, round_power=3), (-0.06 * length, 0, radius + 0.42)
    )
    axle = 0.31 * length
    shafts = [
        limb((s * axle, -0.5 * width - 0.08, radius), (s * axle, 0.5 * width + 0.08, radius), 0.05, sections=8)
        for s in (-1, 1)
    ]
    base = a.add([body, cabin, *shafts])
    state = rng.integers(2**31)
    for x in (-axle, axle):
        for side in (-1, 1):
            at = np.array([x, side * (0.5 * width + 0.11), radius])
            a.add(_wheel(np.random.default_rng(state), at, radius, 0.15), base, Joint(Y, at, -1.3, 1.3))
    z = radius + 0.2
    for side in (-1, 1):
        hinge = np.array([0.14 * length, side * (0.5 * width + 0.02), z])
        leaf = upright(plate(superellipse(0.27 * length, 0.3, 5, 20), 0.05))
        a.add(
            placed(leaf, hinge + vec(-0.13 * length, 0, 0.02)),
            base,
            Joint(-side * Z, hinge, 0.0, rng.uniform(0.8, 1.2)),
        )
    if rng.random() < 0.6:
        hinge = np.array([0.2 * length, 0, radius + 0.36])
        lid = plate(superellipse(0.25 * length, 0.75 * width, 4, 20), 0.05)
        a.add(placed(lid, hinge + vec(0.125 * length, 0, 0.0)), base, Joint(-Y, hinge, 0.0, 0.9))
    return a


def bicycle(rng: Rng) -> Assembly:
    """A bicycle: two wheels, the fork steers the front one, and cranks with pedals turn."""
    a = Assembly()
    radius, base_length, rod = rng.uniform(0.25, 0.31), rng.uniform(1.0, 1.2), 0.028
    rear, bottom = np.array([-0.42 * base_length, 0, radius]), np.array([0, 0, 1.0 * radius])
    seat, head = np.array([-0.14 * base_length, 0, radius + 0.5]), np.array([0.36 * base_length, 0, radius + 0.52])
    front = np.array([0.58 * base_length, 0, radius])
    column = (head - front) / np.linalg.norm(head - front)
    neck = head - 0.06 * column
    meshes = [limb(p, q, rod, sections=8) for p, q in ((bottom, seat), (bottom, neck), (seat, head - 0.03 * column))]
    meshes += [limb(p + s * 0.06 * Y, rear + s * 0.09 * Y, 0.018, sections=8) for p in (bottom, seat) for s in (-1, 1)]
    meshes += [
        limb(neck - 0.02 * column, head, 0.045, sections=10),
        limb(seat, seat + vec(-0.03, 0, 0.12), 0.02),
        limb(bottom - 0.08 * Y, bottom + 0.08 * Y, 0.045),
        limb(rear - 0.11 * Y, rear + 0.11 * Y, 0.025),
        limb(seat - 0.07 * Y, seat + 0.07 * Y, 0.03, sections=8),
        placed(cushion((0.26, 0.15, 0.07), power=2.2), seat + vec(-0.03, 0, 0.14)),
    ]
    frame = a.add(meshes)
    state = rng.integers(2**31)
    a.add(_wheel(np.random.default_rng(state), rear, radius, 0.08), frame, Joint(Y, rear, -1.3, 1.3))
    grip = head + 0.14 * column
    fork = [limb(grip, head - 0.2 * column, 0.03, sections=8), limb(front - 0.11 * Y, front + 0.11 * Y, 0.02)]
    fork += [limb(head - 0.2 * column + s * 0.07 * Y, front + s * 0.09 * Y, 0.02, sections=8) for s in (-1, 1)]
    fork.append(
        tube(
            [
                grip + vec(-0.1, -0.3, 0.04),
                grip + vec(0.04, -0.2, 0.05),
                grip,
                grip + vec(0.04, 0.2, 0.05),
                grip + vec(-0.1, 0.3, 0.04),
            ],
            0.024,
            sections=8,
        )
    )
    fork += [limb(head - 0.2 * column - 0.07 * Y, head - 0.2 * column + 0.07 * Y, 0.03, sections=8)]
    steering = a.add(fork, frame, Joint(column, head, -0.7, 0.7))
    a.add(_wheel(np.random.default_rng(state), front, radius, 0.08), steering, Joint(Y, front, -1.3, 1.3))
    arm = 0.17
    cranks = [limb(bottom - 0.13 * Y, bottom + 0.13 * Y, 0.028)]
    cranks += [limb(bottom + s * 0.12 * Y, bottom + vec(s * arm, s * 0.12, 0), 0.02, sections=8) for s in (-1, 1)]
    spider = a.add(cranks, frame, Joint(Y, bottom, -1.2, 1.2))
    for s in (-1, 1):
        at = bottom + vec(s * arm, s * 0.12, 0)
        pedal = placed(cushion((0.11, 0.1, 0.03), power=5), at + s * 0.06 * Y)
        a.add([pedal, limb(at, at + s * 0.1 * Y, 0.018, sections=6)], spider, Joint(Y, at, -0.8, 0.8))
    return a


def train(rng: Rng) -> Assembly:
    """A toy train: an engine and one to three wagons coupled in a chain, each on two pairs of wheels."""
    a = Assembly()
    radius, length, width = 0.13, rng.uniform(0.7, 0.9), rng.uniform(0.4, 0.5)
    wagons, gap = int(rng.integers(1, 4)), 0.2
    parent = -1
    for i in range(wagons + 1):
        x = -(length + gap) * i
        meshes = [placed(cushion((length, width, 0.12), power=8, round_power=6), (x, 0, radius + 0.1))]
        if i == 0:
            boiler = turned(cylinder(0.36 * width, 0.62 * length, sections=18), Y, np.pi / 2)
            funnel = lathe([(0, 0), (0.05, 0), (0.05, 0.14), (0.09, 0.22), (0, 0.22)], sections=14)
            meshes += [
                placed(boiler, (x + 0.14 * length, 0, radius + 0.3)),
                placed(
                    cushion((0.34 * length, width, 0.5), power=6, round_power=6), (x - 0.3 * length, 0, radius + 0.36)
                ),
                placed(funnel, (x + 0.34 * length, 0, radius + 0.42)),
            ]
        elif rng.random() < 0.5:
            tank = turned(cushion((0.4, 0.4, 0.86 * length), power=2, round_power=4), Y, np.pi / 2)
            meshes.append(placed(tank, (x, 0, radius + 0.3)))
        else:
            meshes.append(
                placed(cushion((0.9 * length, 0.9 * width, 0.34), power=6, round_power=5), (x, 0, radius + 0.28))
            )
        joints = []
        if i:
            hook = np.array([x + 0.5 * length + 0.5 * gap, 0, radius + 0.1])
            meshes += [
                limb((x + 0.45 * length, 0, radius + 0.1), hook, 0.035, sections=8),
                placed(icosphere(subdivisions=1, radius=0.05), hook),
            ]
            joints = [Joint(Z, hook, -0.5, 0.5)]
        if i < wagons:
            meshes.append(
                limb((x - 0.45 * length, 0, radius + 0.1), (x - 0.5 * length - 0.5 * gap, 0, radius + 0.1), 0.035)
            )
        ends = (-0.28 * length, 0.28 * length)
        parent = a.add(meshes, parent, *joints)
        for dx in ends:
            at = np.array([x + dx, 0, radius])
            pair = [limb(at - (0.5 * width + 0.05) * Y, at + (0.5 * width + 0.05) * Y, 0.045, sections=8)]
            for s in (-1, 1):
                disc = turned(
                    lathe([(0, -0.03), (radius, -0.03), (0.9 * radius, 0.03), (0, 0.03)], sections=16),
                    X,
                    -s * np.pi / 2,
                )
                pair.append(placed(disc, at + s * (0.5 * width + 0.06) * Y))
                pair.append(placed(icosphere(subdivisions=0, radius=0.03), at + vec(0.08, s * (0.5 * width + 0.09), 0)))
            a.add(pair, parent, Joint(Y, at, -1.3, 1.3))
    return a


def shuttle(rng: Rng) -> Assembly:
    """A space shuttle with two curved doors over its cargo bay and a rudder."""
    a = Assembly()
    length, radius = rng.uniform(1.6, 2.0), rng.uniform(0.22, 0.28)
    hull = turned(
        lathe(
            [
                (0, -0.5 * length),
                (0.8 * radius, -0.5 * length),
                (radius, -0.3 * length),
                (radius, 0.25 * length),
                (0.6 * radius, 0.42 * length),
                (0, 0.5 * length),
            ],
            sections=20,
        ),
        Y,
        np.pi / 2,
    )
    wing = plate(
        [
            (0.2 * length, 0),
            (-0.45 * length, 0.75),
            (-0.5 * length, 0.75),
            (-0.5 * length, -0.75),
            (-0.45 * length, -0.75),
        ],
        0.06,
    )
    nozzle = placed(turned(placed(cone(0.16, 0.3, sections=16), (0, 0, -0.1)), Y, np.pi / 2), (-0.52 * length, 0, 0))
    fin = upright(
        plate([(-0.45 * length, 0.1), (-0.2 * length, 0.1), (-0.4 * length, 0.6), (-0.45 * length, 0.6)], 0.05)
    )
    base = a.add([hull, placed(wing, (0, 0, -0.6 * radius)), nozzle, fin])
    span, share = 0.4 * length, np.linspace(0.0, 0.5 * np.pi - 0.02, 7)
    for side in (-1, 1):
        ring = [(side * np.sin(t), np.cos(t)) for t in share]
        section = np.array(
            [(r * (radius + 0.004) * np.array(c)) for r, row in ((1.0, ring), (1.08, ring[::-1])) for c in row]
        )
        ends = [
            np.column_stack((np.full(len(section), x), section))
            for x in (-0.2 * length, -0.2 * length + 0.5 * span, -0.2 * length + span)
        ]
        a.add(_hollow(np.stack(ends)), base, Joint(-side * X, np.array([0, side * 1.04 * radius, 0.02]), 0.0, 1.9))
    hinge = np.array([-0.45 * length, 0, 0])
    rudder = upright(
        plate([(-0.55 * length, 0.22), (-0.452 * length, 0.22), (-0.452 * length, 0.6), (-0.52 * length, 0.6)], 0.05)
    )
    a.add(rudder, base, Joint(Z, hinge, -0.5, 0.5))
    return a


def _hollow(rings: Float[np.ndarray, "k s 3"]) -> trimesh.Trimesh:
    """Return the closed surface through rings whose ends are not convex: their caps pair points off across the ring."""
    body = loft(rings)
    rows, count = rings.shape[:2]
    j = np.arange(count // 2 - 1)
    other = count - 1 - j
    caps = []
    for start, turn in ((0, 1), ((rows - 1) * count, -1)):
        quads = np.concatenate((np.column_stack((j, j + 1, other)), np.column_stack((j + 1, other - 1, other)))) + start
        caps.append(quads[:, ::turn])
    sides = body.faces[(body.faces < rows * count).all(1)]
    mesh = trimesh.Trimesh(rings.reshape(-1, 3), np.concatenate((sides, *caps)), process=False)
    mesh.fix_normals()
    return mesh
