"""Animals that are chains or carry fins, wings and arms; and the bare chain."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import lathe, limb, plate, tube, upright, vec
from engine.datasets.shapes.primitives import Rng, along, icosphere, placed, random_bar, random_lump, torus, turned
from engine.datasets.shapes.solids import metaballs


def chain(rng: Rng) -> Assembly:
    """A chain or string of beads: three to eleven links, straight, curved or hanging."""
    n = int(rng.integers(3, 12))
    length, width = 1.0, rng.uniform(0.2, 0.7)
    gap = rng.uniform(-0.05, 0.0)
    curve, turn_axis = rng.normal(0, 0.25), Z if rng.random() < 0.6 else Y
    plane_only = rng.random() < 0.35
    lump = rng.random() < 0.4
    proto = random_lump(rng, np.array([width, width, 1.0])) if lump else random_bar(rng, 1.0, width)
    taper = rng.uniform(0.85, 1.0)
    a, at, heading, parent = Assembly(fleshy=True), np.zeros(3), Rotation.identity(), -1
    hang = rng.random() < 0.2
    forward = -Z if hang else X
    for i in range(n):
        scale = length * taper**i
        direction = heading.apply(forward)
        end = at + direction * scale
        meshes = [
            along(proto.copy().apply_scale(taper**i), at, end),
            placed(icosphere(subdivisions=1, radius=0.12 * scale), at),
        ]
        if i == n - 1 and rng.random() < 0.5:
            meshes.append(placed(random_lump(rng, np.full(3, width * 1.4 * taper**i)), end))
        spread = rng.uniform(0.5, 0.9)
        first = heading.apply(turn_axis if not hang else Y)
        second = np.cross(direction, first)
        joints = [Joint(first, at, -spread, spread)]
        if not plane_only:
            joints.append(Joint(second / np.linalg.norm(second), at, -0.5 * spread, 0.5 * spread))
        parent = a.add(meshes, parent, *(joints if i else []))
        at, heading = end + gap * direction, heading * Rotation.from_rotvec((turn_axis if not hang else Y) * curve)
    return a


def iron_chain(rng: Rng) -> Assembly:
    """A chain of oval rings, each a quarter turn from the last, interlocked."""
    a, n = Assembly(), int(rng.integers(4, 11))
    wire, wide = rng.uniform(0.09, 0.13), rng.uniform(0.3, 0.38)
    ring = torus(wide, wire, major_sections=20, minor_sections=8)
    ring.vertices[:, 0] += np.sign(ring.vertices[:, 0]) * np.where(np.abs(ring.vertices[:, 0]) > 1e-6, 0.2, 0.0)
    half = wide + 0.2
    step = 2 * (half - wire)
    parent = -1
    for i in range(n):
        at = (step * i - 0.5 * step) * X
        joints = [Joint(Y, at, -0.5, 0.5), Joint(Z, at, -0.5, 0.5)] if i else []
        mesh = placed(turned(ring, X, 0.5 * np.pi * (i % 2)), step * i * X)
        parent = a.add(mesh, parent, *joints)
    return a


def snake(rng: Rng) -> Assembly:
    """A snake of eight to eighteen round segments with a head, in gentle waves."""
    a, n = Assembly(fleshy=True), int(rng.integers(8, 19))
    radius, step, wave = rng.uniform(0.1, 0.15), rng.uniform(0.24, 0.3), rng.uniform(0, 0.35)
    head = [limb((-0.02, 0, 0), (0.26, 0, 0.02), 1.05 * radius, 0.75 * radius, flat=1.35)]
    head += [
        placed(icosphere(subdivisions=1, radius=0.25 * radius), (0.16, s * 0.75 * radius, 0.75 * radius))
        for s in (-1, 1)
    ]
    parent, at, heading = a.add(head), np.zeros(3), np.pi
    for i in range(n):
        heading += wave * np.sin(0.8 * i)
        end = at + step * np.array([np.cos(heading), np.sin(heading), 0])
        first, last = (radius * min(1.0, 1.6 * (1 - (i + k) / (n + 0.6))) for k in (0, 1))
        parent = a.add(limb(at, end, first, last), parent, Joint(Z, at, -0.45, 0.45))
        at = end
    return a


def fish(rng: Rng) -> Assembly:
    """A fish of three to seven slices that swim sideways, with tail and side fins."""
    a, n = Assembly(fleshy=True), int(rng.integers(3, 8))
    length, tall, power = rng.uniform(1.4, 2.0), rng.uniform(0.35, 0.55), rng.uniform(0.45, 0.65)
    edges = np.concatenate(([0.0], np.linspace(0.25, 0.92, n)))

    def half(share: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        return 0.5 * tall * np.sin(np.pi * np.clip(share, 0.015, 1) ** 0.7) ** power + 0.03

    parent = -1
    for i in range(n):
        share = np.linspace(edges[i], edges[i + 1], 6)
        body = tube(
            np.column_stack((-length * share, np.zeros((6, 2)))), 0.97 * half(share), flat=0.55, sections=14, bulge=0.25
        )
        at = np.array([-length * edges[i], 0, 0])
        parent = a.add([body], parent, *([Joint(Z, at, -0.45, 0.45)] if i else []))
        if i == 0:
            eye = half(np.array([0.1]))[0]
            a.parts[0] += [
                placed(icosphere(subdivisions=1, radius=0.045), (-0.1 * length, s * 0.5 * eye, 0.25 * eye))
                for s in (-1, 1)
            ]
        middle = 0.5 * (edges[i] + edges[i + 1])
        if i == 1:
            top = half(np.array([middle]))[0]
            fin = upright(plate([(-0.14, -0.05), (0.16, -0.05), (-0.08, 0.2), (-0.2, 0.22)], 0.04))
            a.parts[parent].append(placed(fin, (-length * middle, 0, 0.9 * top)))
    tail = np.array([-0.92 * length, 0, 0])
    high = rng.uniform(0.2, 0.32)
    fin = plate(
        [(0.06, 0.04), (-0.1, 0.06), (-0.36, high), (-0.26, 0.0), (-0.36, -high), (-0.1, -0.06), (0.06, -0.04)], 0.05
    )
    a.add(placed(upright(fin), tail), parent, Joint(Z, tail, -0.6, 0.6))
    for s in (-1, 1):
        at = np.array([-0.13 * length, s * 0.48 * half(np.array([0.13]))[0], -0.08])
        fin = limb(at, at + vec(-0.2, s * 0.16, -0.06), 0.07, 0.03, flat=0.5)
        a.add(fin, 0, Joint(s * Z, at, -0.3, 0.4), Joint(X, at, -0.4, 0.4))
    return a


def caterpillar(rng: Rng) -> Assembly:
    """A caterpillar: five to ten balls in a row with stub feet, and feelers on the head."""
    a, n = Assembly(fleshy=True), int(rng.integers(5, 11))
    radius, squeeze = rng.uniform(0.22, 0.28), rng.uniform(0.72, 0.92)
    skull = [icosphere(subdivisions=2, radius=1.15 * radius)]
    skull += [limb((0.1, s * 0.1, radius), (0.18, s * 0.17, radius + 0.24), 0.03, 0.05, sections=8) for s in (-1, 1)]
    parent, x = a.add(skull), 0.0
    for i in range(n):
        step = 2 * radius * squeeze
        at = np.array([x - 0.5 * step, 0, 0])
        x -= step
        taper = 1 - 0.25 * max(0, i - n + 3) / 3
        ball = icosphere(subdivisions=2, radius=radius * taper)
        feet = [
            limb((x, s * 0.5 * radius, -0.6 * radius), (x, s * 0.6 * radius, -1.15 * radius), 0.06, sections=8)
            for s in (-1, 1)
        ]
        parent = a.add([placed(ball, (x, 0, 0)), *feet], parent, Joint(Y, at, -0.35, 0.35), Joint(Z, at, -0.35, 0.35))
    return a


def bird(rng: Rng) -> Assembly:
    """A bird with wings of two segments, a head on a neck, a tail and two legs."""
    a = Assembly(fleshy=True)
    length, girth = rng.uniform(0.5, 0.7), rng.uniform(0.16, 0.22)
    hull = metaballs(
        np.array([[-0.5 * length, 0, 0.02]]),
        np.array([[0.4 * length, 0, 0]]),
        np.array([[0.5 * girth, girth]]),
        blend=0.03,
        count=240,
    )
    body = a.add(hull)
    neck = np.array([0.42 * length, 0, 0.6 * girth])
    top = neck + vec(0.14, 0, 0.2)
    head = [
        limb(neck, top, 0.55 * girth, 0.45 * girth),
        placed(icosphere(subdivisions=2, radius=0.62 * girth), top),
        limb(top + vec(0.4 * girth, 0, 0), top + vec(1.5 * girth, 0, -0.2 * girth), 0.25 * girth, 0.06 * girth),
    ]
    a.add(head, body, Joint(Y, neck, -0.5, 0.5), Joint(Z, neck, -0.6, 0.6))
    span, chord = rng.uniform(0.45, 0.65), rng.uniform(0.26, 0.36)
    for s in (-1, 1):
        root = np.array([0.1, s * 0.75 * girth, 0.4 * girth])
        inner = np.array([[0.5 * chord, 0], [0.55 * chord, s * span], [-0.4 * chord, s * span], [-0.6 * chord, 0]])
        outer = np.array(
            [[0.55 * chord, 0], [0.3 * chord, s * 0.6 * span], [-0.35 * chord, s * span], [-0.4 * chord, 0]]
        )
        wings = [plate(o if s > 0 else o[::-1], 0.045) for o in (inner, outer)]
        hinge = root + s * span * Y
        upper = a.add(
            [placed(wings[0], root), limb(root - 0.08 * X - s * 0.05 * Y, root + 0.08 * X - s * 0.05 * Y, 0.06)],
            body,
            Joint(s * X, root, -0.6, 0.9),
        )
        bone = limb(hinge - 0.4 * chord * X, hinge + 0.5 * chord * X, 0.03, sections=8)
        a.add([placed(wings[1], hinge), bone], upper, Joint(s * X, hinge, -0.8, 0.5))
        hip = np.array([-0.05, s * 0.4 * girth, -0.7 * girth])
        foot = hip - vec(0, 0, 0.24)
        toes = [limb(foot, foot + vec(0.12, t * 0.06, -0.01), 0.022, sections=6) for t in (-1, 0, 1)]
        a.add([limb(hip, foot, 0.035, 0.025, sections=8), *toes], body, Joint(Y, hip, -0.7, 0.7))
    at = np.array([-0.5 * length - 0.3 * girth, 0, 0.03])
    fan = plate([(0.06, -0.05), (0.06, 0.05), (-0.34, 0.17), (-0.38, 0.0), (-0.34, -0.17)], 0.045)
    a.add(placed(fan, at), body, Joint(Y, at, -0.4, 0.4))
    return a


def turtle(rng: Rng) -> Assembly:
    """A turtle: a domed shell, a head on a neck, four flippers or feet, and a tail."""
    a = Assembly(fleshy=True)
    length, width, dome = rng.uniform(0.9, 1.2), rng.uniform(0.75, 0.95), rng.uniform(0.26, 0.42)
    angle = np.linspace(0, 0.5 * np.pi, 6)
    shell = lathe(
        [
            (0, -0.1),
            (0.4, -0.1),
            (0.5, -0.02),
            *zip(0.47 * np.cos(angle[:-1]), dome * np.sin(angle[:-1]), strict=True),
            (0, dome),
        ],
        sections=22,
    )
    shell.vertices = shell.vertices * (length, width, 1)
    body = a.add([shell])
    root = np.array([0.44 * length, 0, -0.02])
    crown = root + vec(0.22, 0, 0.1)
    neck = a.add(limb(root, crown, 0.08, 0.075), body, Joint(Z, root, -0.5, 0.5), Joint(Y, root, -0.4, 0.3))
    face = [limb(crown, crown + vec(0.14, 0, 0.0), 0.115, 0.09)]
    face += [placed(icosphere(subdivisions=1, radius=0.03), crown + vec(0.12, s * 0.08, 0.06)) for s in (-1, 1)]
    a.add(face, neck, Joint(Y, crown, -0.4, 0.4))
    swims = bool(rng.random() < 0.5)
    for x in (-1, 1):
        for s in (-1, 1):
            hip = np.array([x * 0.3 * length, s * 0.36 * width, -0.06])
            reach = 0.42 if swims and x > 0 else 0.26
            end = hip + reach * np.array([0.4 * x, s * 0.9, -0.15 if swims else -0.7])
            paddle = limb(hip, end, 0.09, 0.05, flat=0.6) if swims else limb(hip, end, 0.1, 0.085)
            a.add(paddle, body, Joint(Z, hip, -0.5, 0.5), Joint(s * X, hip, -0.3, 0.4))
    end = np.array([-0.47 * length, 0, -0.04])
    a.add(limb(end + 0.03 * X, end - 0.16 * X, 0.05, 0.02), body, Joint(Z, end, -0.6, 0.6))
    return a


def octopus(rng: Rng) -> Assembly:
    """An octopus: a round head and five to eight arms of two or three segments."""
    a = Assembly(fleshy=True)
    arms = int(rng.integers(5, 9))
    segments = 3 if arms < 7 else 2
    size, droop = rng.uniform(0.3, 0.4), rng.uniform(0.1, 0.7)
    skull = placed(
        icosphere(subdivisions=2).apply_scale(size * rng.uniform([0.9, 0.9, 1.1], [1.1, 1.1, 1.5])), (0, 0, 0.3 * size)
    )
    eyes = [
        placed(icosphere(subdivisions=1, radius=0.2 * size), (0.85 * size, s * 0.35 * size, 0.3 * size))
        for s in (-1, 1)
    ]
    head = a.add([skull, *eyes])
    for t in 2 * np.pi * (np.arange(arms) + 0.5) / arms:
        out, across = np.array([np.cos(t), np.sin(t), 0]), np.array([-np.sin(t), np.cos(t), 0])
        at, parent, radius = 0.7 * size * out - 0.35 * size * Z, head, 0.28 * size
        for j in range(segments):
            end = at + (0.8 / segments) * (out - droop * (1 - 0.7 * j) * Z)
            parent = a.add(limb(at, end, radius, 0.72 * radius), parent, Joint(across, at, -0.5, 0.5 if j else 0.35))
            at, radius = end, 0.72 * radius
    return a
