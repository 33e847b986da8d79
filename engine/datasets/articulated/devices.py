"""Lamps, fans, sticks and switches on a base."""

from __future__ import annotations

import numpy as np

from engine.datasets.articulated.assembly import MAX_TURN, Assembly, Joint, X, Y, Z
from engine.datasets.articulated.machines import knuckle
from engine.datasets.articulated.profiles import (
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
from engine.datasets.shapes.primitives import (
    Rng,
    along,
    box,
    cone,
    cylinder,
    icosphere,
    placed,
    random_bar,
    random_lump,
    rounded_box,
    torus,
    turned,
)


def lamp(rng: Rng) -> Assembly:
    """A desk lamp, crane or robot arm: a foot, two to four arms and a head."""
    a = Assembly(fixed=True)
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
        arm = [along(random_bar(rng, 1.02 * length, rng.uniform(0.05, 0.14)), at, end)]
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


def angle_lamp(rng: Rng) -> Assembly:
    """A reading lamp of round rods: a turning foot, two arms with knuckles, and a bell shade with a bulb."""
    a = Assembly(fixed=True)
    base = a.add([lathe([(0, 0), (0.34, 0), (0.34, 0.04), (0.1, 0.09), (0.06, 0.16), (0, 0.16)], sections=24)])
    first, second, rod = rng.uniform(0.7, 1.0), rng.uniform(0.6, 0.9), rng.uniform(0.03, 0.045)
    lean, fold = rng.uniform(-0.5, -0.1), rng.uniform(0.7, 1.2)
    at = np.array([0, 0, 0.19])
    elbow = at + first * np.array([np.sin(lean), 0, np.cos(lean)])
    neck = elbow + second * np.array([np.sin(lean + fold), 0, np.cos(lean + fold)])
    lower = a.add(
        [limb(at, elbow, rod), knuckle(at, 0.075, 0.1)], base, Joint(Z, at, -1.2, 1.2), Joint(Y, at, -0.6, 0.9)
    )
    upper = a.add([limb(elbow, neck, rod), knuckle(elbow, 0.065, 0.12)], lower, Joint(Y, elbow, -0.7, 0.9))
    tall, wide, wall = rng.uniform(0.28, 0.4), rng.uniform(0.2, 0.3), 0.025
    shade = lathe(
        [
            (0, 0.02),
            (0.09, 0.0),
            (0.1, -0.3 * tall),
            (wide, -tall),
            (wide - wall, -tall),
            (0.1 - wall, -0.3 * tall - wall),
            (0, -0.2 * tall),
        ],
        sections=24,
    )
    bulb = placed(icosphere(subdivisions=2, radius=0.075), (0, 0, -0.4 * tall))
    pose = lean + fold - rng.uniform(1.3, 1.8)  # The shade keeps clear of the arm.
    socket = limb((0, 0, -0.05), (0, 0, -0.4 * tall), 0.04, sections=8)
    head = [placed(turned(m, Y, pose), neck) for m in (shade, bulb, socket)]
    a.add([*head, knuckle(neck, 0.06, 0.12)], upper, Joint(Y, neck, -0.7, 0.7))
    return a


def desk_fan(rng: Rng) -> Assembly:
    """A fan: the head swivels and tilts on its stand, blades turn in front of the motor, with a cage or none."""
    a = Assembly(fixed=True)
    height, radius = rng.uniform(0.5, 1.2), rng.uniform(0.3, 0.42)
    base = a.add([lathe([(0, 0), (0.3, 0), (0.28, 0.05), (0.05, 0.1), (0.04, height), (0, height)], sections=20)])
    at = np.array([0, 0, height])
    motor = placed(
        turned(
            lathe(
                [(0, -0.18), (0.07, -0.17), (0.11, -0.08), (0.12, 0.12), (0.03, 0.14), (0.03, 0.2), (0, 0.2)],
                sections=18,
            ),
            X,
            np.pi / 2,
        ),
        at + 0.1 * Z,
    )
    head = [motor, placed(icosphere(subdivisions=2, radius=0.065), at)]
    if rng.random() < 0.6:
        centre = at + vec(0, -0.2, 0.1)
        for y, scale in ((0.1, 1.0), (-0.12, 1.0), (-0.17, 0.45)):
            ring = turned(torus((radius + 0.06) * scale, 0.012, major_sections=28, minor_sections=6), X, np.pi / 2)
            head.append(placed(ring, centre + vec(0, y, 0)))
        for t in np.linspace(0, 2 * np.pi, 8, endpoint=False):
            out = np.array([np.cos(t), 0, np.sin(t)])
            rim = (radius + 0.06) * out
            head.append(
                tube(
                    [
                        centre + 0.12 * Y + 0.08 * out,
                        centre + 0.1 * Y + rim,
                        centre - 0.12 * Y + rim,
                        centre - 0.17 * Y + 0.45 * rim,
                    ],
                    0.01,
                    sections=6,
                )
            )
    tilting = a.add(head, base, Joint(Z, at, -0.9, 0.9), Joint(X, at, -0.4, 0.35))
    hub = at + vec(0, -0.2, 0.1)
    blades = [
        placed(turned(lathe([(0, -0.04), (0.06, -0.04), (0.05, 0.04), (0, 0.05)], sections=14), X, np.pi / 2), hub)
    ]
    count = int(rng.integers(3, 6))
    for i in range(count):
        blade = upright(plate(superellipse(0.55 * radius, radius - 0.08, 2.4, 16), 0.022))
        blade = turned(turned(placed(blade, (0, 0, 0.5 * radius)), Z, 0.4), Y, 2 * np.pi * i / count)
        blades.append(placed(blade, hub))
    a.add(blades, tilting, Joint(Y, hub, -1.3, 1.3))
    return a


def joystick(rng: Rng) -> Assembly:
    """A joystick: a stick in a ball on a rounded console, with a trigger and a throttle lever."""
    a = Assembly(fixed=True)
    base = a.add(
        [
            cushion((1.0, 1.2, 0.24), power=4),
            placed(lathe([(0.0, 0.08), (0.26, 0.08), (0.18, 0.2), (0, 0.2)]), (0, 0, 0)),
        ]
    )
    at = np.array([0, 0, 0.2])
    tall = rng.uniform(0.5, 0.8)
    grip = [icosphere(subdivisions=2, radius=0.14).apply_translation(at), limb(at, at + 0.5 * tall * Z, 0.05)]
    grip.append(
        tube(
            [
                at + 0.4 * tall * Z,
                at + vec(0.02, 0, 0.6 * tall),
                at + vec(-0.02, 0, 0.85 * tall),
                at + vec(-0.06, 0, tall),
            ],
            [0.09, 0.11, 0.1, 0.12],
        )
    )
    stick = a.add(grip, base, Joint(Y, at, -0.45, 0.45), Joint(X, at, -0.45, 0.45))
    top = at + vec(0.06, 0, 0.85 * tall)
    a.add(limb(top, top + vec(0.1, 0, -0.12), 0.035), stick, Joint(Y, top, -0.1, 0.15))
    if rng.random() < 0.7:
        root = np.array([0.25, 0.38, 0.1])
        a.add(
            [limb(root, root + 0.22 * Z, 0.04), placed(cushion((0.12, 0.16, 0.1), power=3), root + 0.24 * Z)],
            base,
            Joint(Y, root, -0.6, 0.6),
        )
    return a


def lever(rng: Rng) -> Assembly:
    """A switch, joystick or pendulum: a base and one or two moving handles."""
    a = Assembly(fixed=True)
    extents = rng.uniform(0.3, 1.0, 3)
    meshes = [random_lump(rng, extents), placed(box((0.8 * extents[0], 0.1, 0.12)), (0, 0, 0.4 * extents[2]))]
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
    a = Assembly(fixed=True)
    meshes = [placed(random_lump(rng, np.array([0.3, 0.3, rng.uniform(0.4, 1.0)])), (0, 0.3, -0.3))]
    meshes.append(placed(turned(cylinder(0.07, 0.55, sections=12), X, np.pi / 2), (0, 0.15, 0)))
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


def switch_panel(rng: Rng) -> Assembly:
    """A panel on a wall with rows of toggle switches and dials."""
    a = Assembly(fixed=True)
    rows, columns = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    w, h = 0.3 * columns + 0.1, 0.36 * rows + 0.1
    meshes = [turned(cushion((w, h, 0.1), power=8, round_power=6), X, np.pi / 2)]
    base = a.add(meshes)
    for row in range(rows):
        dials = rng.random() < 0.3
        for column in range(columns):
            at = np.array([0.3 * (column - 0.5 * (columns - 1)), -0.04, 0.36 * (row - 0.5 * (rows - 1))])
            if dials:
                knob = lathe([(0, 0), (0.1, 0), (0.08, 0.09), (0, 0.09)], sections=12)
                pointer = limb((0, 0, 0.09), (0, 0.08, 0.09), 0.02, sections=6)
                a.add([placed(turned(m, X, np.pi / 2), at) for m in (knob, pointer)], base, Joint(Y, at, -1.25, 1.25))
            else:
                nut = np.column_stack((superellipse(0.15, 0.15, 2, 12), np.zeros(12)))
                meshes.append(placed(turned(loop(nut, 0.03, sections=6), X, np.pi / 2), at - 0.012 * Y))
                tip = at + vec(0, -0.17, -0.09)
                a.add(limb(at, tip, 0.03, 0.045, sections=8), base, Joint(-X, at, 0.0, 0.95))
    return a
