"""Animals and dolls as trees of round limbs, and hands."""

from __future__ import annotations

import numpy as np
import trimesh
from jaxtyping import Float

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import arc, cushion, limb, tube, vec
from engine.datasets.shapes.primitives import Rng, along, icosphere, placed, random_bar, random_lump
from engine.datasets.shapes.solids import metaballs


def creature(rng: Rng) -> Assembly:
    """A toy animal or insect: a body, a head and two to eight legs of one or two segments."""
    a = Assembly(fleshy=True)
    extents = rng.uniform([0.7, 0.35, 0.3], [1.5, 0.8, 0.7])
    body = a.add([random_lump(rng, extents), icosphere(subdivisions=2).apply_scale(0.48 * extents)])
    if rng.random() < 0.8:
        head_at = np.array([0.46 * extents[0], 0, 0.15 * extents[2]])
        skull = placed(random_lump(rng, np.full(3, 0.7 * extents[1])), head_at + np.array([0.3 * extents[1], 0, 0.1]))
        neck = limb(head_at - 0.1 * extents[0] * X, head_at + vec(0.3 * extents[1], 0, 0.1), 0.14 * extents[1])
        a.add([skull, neck], body, Joint(Y, head_at, -0.6, 0.6), Joint(Z, head_at, -0.6, 0.6))
    pairs = int(rng.integers(1, 5))
    length, width, splay = rng.uniform(0.3, 0.8), rng.uniform(0.07, 0.16), rng.uniform(0.0, 0.9)
    knees = bool(rng.random() < 0.5)
    swings = pairs < 4 or not knees
    proto = random_bar(rng, length, width)
    for i in range(pairs):
        x = extents[0] * (0.3 - 0.6 * i / max(pairs - 1, 1)) if pairs > 1 else 0.0
        for side in (-1, 1):
            at = np.array([x, side * 0.25 * extents[1], -0.16 * extents[2]])
            out = np.array([0, side * np.sin(splay), -np.cos(splay)])
            joints = [Joint(Y, at, -0.7, 0.7), Joint(X, at, -0.4, 0.4)]
            leg = a.add(along(proto, at, at + length * out), body, *(joints if swings else joints[:1]))
            if knees:
                knee = at + 0.96 * length * out
                a.add(along(proto, knee, knee - length * Z), leg, Joint(Y, knee, -0.8, 0.8))
    return a


def _eyes(at: Float[np.ndarray, "3"], apart: float, radius: float) -> list[trimesh.Trimesh]:
    return [placed(icosphere(subdivisions=1, radius=radius), at + s * apart * Y) for s in (-1, 1)]


def quadruped(rng: Rng) -> Assembly:
    """A dog, horse or lizard: trunk, neck and head, four legs of two segments, ears and a tail."""
    a = Assembly(fleshy=True)
    length, girth, leg = rng.uniform(0.8, 1.3), rng.uniform(0.17, 0.28), rng.uniform(0.3, 0.75)
    trunk = metaballs(
        np.array([[-0.5 * length, 0, 0], [0, 0, -0.02]]),
        np.array([[0, 0, -0.02], [0.5 * length, 0, 0.02]]),
        np.array([[girth, 0.9 * girth], [0.9 * girth, 1.1 * girth]]),
        blend=0.04,
        count=240,
    )
    body = a.add(trunk)
    shoulder = np.array([0.5 * length + 0.4 * girth, 0, 0.4 * girth])
    rise, reach = rng.uniform(0.1, 0.6), rng.uniform(0.12, 0.3)
    crown = shoulder + vec(reach, 0, rise)
    neck = a.add(
        limb(shoulder - vec(0.1, 0, 0.02), crown, 0.65 * girth, 0.5 * girth),
        body,
        Joint(Y, shoulder, -0.5, 0.5),
        Joint(Z, shoulder, -0.6, 0.6),
    )
    muzzle = crown + vec(rng.uniform(1.0, 1.8) * girth, 0, -0.4 * girth)
    ears = [
        limb(
            crown + vec(-0.1 * girth, s * 0.4 * girth, 0.3 * girth),
            crown + vec(-0.25 * girth, s * 0.6 * girth, 1.1 * girth),
            0.22 * girth,
            0.1 * girth,
            sections=8,
        )
        for s in (-1, 1)
    ]
    a.add(
        [
            limb(crown, muzzle, 0.65 * girth, 0.35 * girth),
            *ears,
            *_eyes(crown + vec(0.5 * girth, 0, 0.3 * girth), 0.4 * girth, 0.1 * girth),
        ],
        neck,
        Joint(Y, crown, -0.5, 0.5),
    )
    for x in (-0.48 * length, 0.48 * length):
        for s in (-1, 1):
            hip = np.array([x, s * 0.6 * girth, -0.3 * girth])
            knee = hip + vec(rng.uniform(-0.02, 0.02), s * 0.04, -0.35 * girth - 0.5 * leg)
            foot = knee - vec(0, 0, 0.5 * leg)
            upper = a.add(limb(hip, knee, 0.42 * girth, 0.26 * girth), body, Joint(Y, hip, -0.7, 0.7))
            a.add(
                [
                    limb(knee, foot, 0.25 * girth, 0.18 * girth),
                    limb(foot, foot + 0.3 * girth * X, 0.2 * girth, sections=8),
                ],
                upper,
                Joint(Y, knee, -0.8, 0.8) if x > 0 else Joint(Y, knee, -0.6, 0.9),
            )
    at, parent = np.array([-0.5 * length - 0.7 * girth, 0, 0.2 * girth]), body
    for i in range(int(rng.integers(1, 4))):
        end = at + vec(-0.22, 0, 0.1 - 0.1 * i)
        parent = a.add(
            limb(at, end, (0.24 - 0.05 * i) * girth, (0.19 - 0.05 * i) * girth, sections=8),
            parent,
            Joint(Z, at, -0.6, 0.6),
        )
        at = end
    return a


def doll(rng: Rng) -> Assembly:
    """A person: pelvis, chest, head, arms and legs of three segments each."""
    a = Assembly(fleshy=True)
    stout, shoulder = rng.uniform(0.8, 1.25), rng.uniform(0.19, 0.26)
    pelvis = a.add(limb((0, -0.07, 0), (0, 0.07, 0), 0.12 * stout))
    waist, top = np.array([0, 0, 0.1]), np.array([0, 0, 0.46])
    chest = [
        limb(waist, top - 0.1 * Z, 0.11 * stout, 0.14 * stout, sections=12),
        limb(top - vec(0, 0.14, 0.06), top + vec(0, 0.14, -0.06), 0.09 * stout),
    ]
    torso = a.add(chest, pelvis, Joint(Y, waist, -0.4, 0.7), Joint(Z, waist, -0.6, 0.6))
    skull = icosphere(subdivisions=2, radius=rng.uniform(0.12, 0.18))
    size = 0.5 * float(skull.extents[2])
    head = [
        placed(skull, top + vec(0.02, 0, 0.06 + size)),
        limb(top - 0.04 * Z, top + 0.1 * Z, 0.055),
        placed(icosphere(subdivisions=1, radius=0.025), top + vec(size + 0.02, 0, 0.05 + size)),
    ]
    a.add(head, torso, Joint(Y, top, -0.5, 0.5), Joint(Z, top, -0.9, 0.9))
    droop = rng.uniform(0.0, 1.3)
    for s in (-1, 1):
        out = np.array([0, s * np.cos(droop), -np.sin(droop)])
        at = top + vec(0, s * shoulder, -0.06)
        elbow, wrist = at + 0.28 * out, at + 0.52 * out
        upper = a.add(
            limb(at, elbow, 0.06 * stout, 0.05 * stout),
            torso,
            Joint(X, at, *((-0.5, 0.8) if s > 0 else (-0.8, 0.5))),
            Joint(Y, at, -0.9, 0.9),
        )
        lower = a.add(
            limb(elbow, wrist, 0.05 * stout, 0.038 * stout), upper, Joint(s * Z if droop < 0.6 else -Y, elbow, 0.0, 1.6)
        )
        a.add(limb(wrist, wrist + 0.12 * out, 0.05, 0.03, flat=0.7), lower, Joint(X, wrist, -0.6, 0.6))
        hip = np.array([0, s * 0.1, -0.05])
        knee, ankle = hip + vec(0, s * 0.03, -0.4), hip + vec(0, s * 0.04, -0.78)
        thigh = a.add(limb(hip, knee, 0.085 * stout, 0.06 * stout), pelvis, Joint(Y, hip, -1.2, 0.5))
        shin = a.add(limb(knee, ankle, 0.06 * stout, 0.045 * stout), thigh, Joint(Y, knee, -0.1, 1.5))
        a.add(limb(ankle - 0.02 * Z, ankle + vec(0.16, 0, -0.04), 0.05, 0.04), shin, Joint(Y, ankle, -0.4, 0.5))
    return a


def _leg(
    a: Assembly, body: int, points: list[Float[np.ndarray, "3"]], radii: list[float], joints: list[list[Joint]]
) -> None:
    """Add a leg of as many segments as there are steps between the points."""
    parent = body
    for i, own in enumerate(joints):
        parent = a.add(limb(points[i], points[i + 1], radii[i], radii[i + 1], sections=8), parent, *own)


def insect(rng: Rng) -> Assembly:
    """An ant or beetle: head, thorax and abdomen, six legs of two segments, feelers or mandibles."""
    a = Assembly(fleshy=True)
    size, waist = rng.uniform(0.16, 0.22), rng.uniform(0.28, 0.4)
    thorax = a.add(icosphere(subdivisions=2).apply_scale((1.6 * size, size, size)))
    back = np.array([-1.5 * size, 0, 0])
    gaster = icosphere(subdivisions=2).apply_scale(np.array([rng.uniform(1.6, 2.4), rng.uniform(1.1, 1.5), 1.2]) * size)
    gaster = placed(gaster, back - [0.5 * float(gaster.extents[0]) - 0.05, 0, -0.05])
    a.add([gaster, limb(back + 0.1 * X, back - 0.15 * X, 0.06)], thorax, Joint(Y, back, -0.4, 0.4))
    front = np.array([1.5 * size, 0, 0])
    head = [
        placed(icosphere(subdivisions=2, radius=0.9 * size), front + 0.8 * size * X),
        *_eyes(front + vec(1.1 * size, 0, 0.3 * size), 0.75 * size, 0.25 * size),
    ]
    skull = a.add(head, thorax, Joint(Z, front, -0.5, 0.5))
    tip = front + 1.6 * size * X
    for s in (-1, 1):
        root = tip + vec(-0.2 * size, s * 0.4 * size, 0.3 * size)
        feeler = tube(
            [root, root + vec(0.15, s * 0.12, 0.14), root + vec(0.35, s * 0.2, 0.1)], [0.035, 0.03, 0.025], sections=6
        )
        a.add(feeler, skull, Joint(Z, root, -0.4, 0.4))
    for i in range(3):
        for s in (-1, 1):
            hip = np.array([(1 - i) * 0.9 * size, s * 0.75 * size, -0.2 * size])
            slant = (1 - i) * 0.5
            knee = hip + waist * np.array([np.sin(slant), s * np.cos(slant), 0.5])
            foot = knee + vec(0.3 * np.sin(slant), s * 0.22, -0.55)
            _leg(
                a,
                thorax,
                [hip, knee, foot],
                [0.05, 0.04, 0.03],
                [[Joint(Z, hip, -0.4, 0.4)], [Joint(s * X, knee, -0.5, 0.4)]],
            )
    return a


def spider(rng: Rng) -> Assembly:
    """A spider: two round body parts and eight bent legs."""
    a = Assembly(fleshy=True)
    size, reach, rise = rng.uniform(0.2, 0.28), rng.uniform(0.45, 0.65), rng.uniform(0.2, 0.4)
    front = a.add(
        [
            icosphere(subdivisions=2).apply_scale((1.1 * size, size, 0.7 * size)),
            *_eyes(np.array([0.95 * size, 0, 0.3 * size]), 0.25 * size, 0.14 * size),
        ]
    )
    back = np.array([-0.95 * size, 0, 0.05])
    belly = placed(icosphere(subdivisions=2).apply_scale(size * rng.uniform([1.2, 0.95, 0.9], [1.7, 1.2, 1.2])), back)
    belly = placed(belly, (-0.47 * float(belly.extents[0]), 0, 0.14))
    a.add(belly, front, Joint(Y, back, -0.3, 0.4))
    for i in range(4):
        for s in (-1, 1):
            angle = 0.9 - 0.52 * i
            out = np.array([np.sin(angle), s * np.cos(angle), 0])
            hip = 0.8 * size * out
            knee, foot = hip + reach * out + rise * Z, hip + 1.9 * reach * out - (0.5 * size + 0.25) * Z
            swing = [Joint(Z, hip, -0.22, 0.22)]
            lift = [Joint(np.cross(out, Z), knee, -0.4, 0.5)]
            _leg(a, front, [hip, knee, foot], [0.05, 0.04, 0.022], [swing, lift])
    return a


def crab(rng: Rng) -> Assembly:
    """A crab: a flat shell, six legs, and two arms that end in pincers."""
    a = Assembly(fleshy=True)
    w, d, h = rng.uniform(0.9, 1.2), rng.uniform(0.6, 0.8), rng.uniform(0.26, 0.36)
    stalks = [limb((0.42 * d, s * 0.12, 0.05), (0.55 * d, s * 0.12, 0.24), 0.035, 0.05, sections=8) for s in (-1, 1)]
    shell = a.add([cushion((d, w, h), power=2.3, round_power=2.2), *stalks])
    for s in (-1, 1):
        for i in range(3):
            slant = 0.2 - 0.4 * i
            out = np.array([np.sin(slant), s * np.cos(slant), 0])
            hip = np.array([0.08 - 0.14 * i, s * 0.42 * w, -0.03])
            _leg(
                a,
                shell,
                [hip, hip + 0.32 * out + 0.14 * Z, hip + 0.62 * out - 0.3 * Z],
                [0.055, 0.045, 0.02],
                [[Joint(Z, hip, -0.25, 0.25)], [Joint(s * X, hip + 0.32 * out + 0.14 * Z, -0.4, 0.5)]],
            )
        root = np.array([0.36 * d, s * 0.34 * w, 0.0])
        elbow = root + vec(0.2, s * 0.25, 0.06)
        arm = a.add(limb(root, elbow, 0.07), shell, Joint(Z, root, -0.35, 0.35))
        palm = elbow + vec(0.22, -s * 0.08, 0.02)
        fist = a.add(
            [
                limb(elbow, palm, 0.07, 0.13),
                limb(palm + vec(0, s * 0.06, 0), palm + vec(0.3, -s * 0.02, 0), 0.075, 0.025),
            ],
            arm,
            Joint(s * Z, elbow, -0.3, 0.6),
        )
        hinge = palm + vec(0.06, -s * 0.08, 0)
        a.add(limb(hinge, hinge + vec(0.24, -s * 0.03, 0), 0.055, 0.02), fist, Joint(-s * Z, hinge, -0.1, 0.7))
    return a


def scorpion(rng: Rng) -> Assembly:
    """A scorpion: a flat trunk, six legs, two claws and a tail of five segments with a sting."""
    a = Assembly(fleshy=True)
    w = rng.uniform(0.3, 0.4)
    trunk = a.add([cushion((0.9, w, 0.2), power=2.6, round_power=2.2)])
    for s in (-1, 1):
        for i in range(3):
            hip = np.array([0.24 - 0.22 * i, s * 0.4 * w, -0.02])
            out = np.array([0.25 - 0.3 * i, s * 0.9, 0])
            path = [hip, hip + 0.25 * out + 0.1 * Z, hip + 0.5 * out - 0.2 * Z]
            a.add(tube(path, [0.04, 0.035, 0.02], sections=8), trunk, Joint(Z, hip, -0.35, 0.35))
        root = np.array([0.38, s * 0.36 * w, 0.02])
        elbow = root + vec(0.2, s * 0.26, 0.04)
        arm = a.add(limb(root, elbow, 0.05), trunk, Joint(Z, root, -0.35, 0.35))
        palm = elbow + vec(0.24, -s * 0.04, 0)
        fist = a.add(
            [limb(elbow, palm, 0.05, 0.09), limb(palm + vec(0, s * 0.05, 0), palm + vec(0.24, 0, 0), 0.05, 0.02)],
            arm,
            Joint(s * Z, elbow, -0.35, 0.6),
        )
        hinge = palm + vec(0.05, -s * 0.06, 0)
        a.add(limb(hinge, hinge + vec(0.18, -s * 0.02, 0), 0.038, 0.016), fist, Joint(-s * Z, hinge, -0.1, 0.7))
    at, parent, pitch = np.array([-0.42, 0, 0.0]), trunk, 0.2
    segments = 5
    for i in range(segments):
        step = 0.19 * np.array([-np.cos(pitch), 0, np.sin(pitch)])
        last = i == segments - 1
        parent = a.add(
            limb(at, at + step, 0.08 - 0.008 * i, 0.015 if last else 0.07 - 0.008 * i), parent, Joint(Y, at, -0.3, 0.35)
        )
        at, pitch = at + step, pitch + rng.uniform(0.4, 0.6)
    return a


def hand(rng: Rng) -> Assembly:
    """A hand: a flat palm on a fore-arm, four fingers of three phalanges and a thumb."""
    a = Assembly(fleshy=True)
    stout = rng.uniform(0.85, 1.15)
    arm = a.add(limb((0, 0, -0.75), (0, 0, -0.08), 0.15 * stout, 0.13 * stout, sections=12))
    palm_mesh = placed(cushion((0.62, 0.26, 0.7), power=3, round_power=3), (0, 0, 0.3))
    palm = a.add(
        [palm_mesh, limb((0, 0, -0.08), (0, 0, 0.2), 0.13 * stout, 0.12)],
        arm,
        Joint(X, np.array([0, 0, -0.08]), -0.6, 0.6),
        Joint(Y, np.array([0, 0, -0.08]), -0.3, 0.3),
    )
    for i, scale in enumerate((0.85, 1.0, 0.95, 0.75)):
        at = np.array([0.23 - 0.153 * i, 0, 0.6 - 0.04 * (i == 3) - 0.02 * (i == 0)])
        fan = np.array([0.12 - 0.08 * i, 0, 1.0])
        parent, radius = palm, 0.075 * stout * (0.9 if i == 3 else 1)
        for j, length in enumerate((0.3, 0.2, 0.16)):
            end = at + scale * length * fan
            parent = a.add(limb(at, end, radius, 0.9 * radius, sections=10), parent, Joint(X, at, -0.1, 1.0))
            at, radius = end, 0.9 * radius
            del j
    at, parent, radius = np.array([0.24, -0.02, 0.12]), palm, 0.09 * stout
    for length, step in ((0.22, (0.75, -0.3, 0.6)), (0.19, (0.5, -0.2, 0.85)), (0.15, (0.35, -0.1, 0.95))):
        end = at + length * np.asarray(step)
        axis = np.cross(step, (1.0, 0.0, 0.0))
        parent = a.add(
            limb(at, end, radius, 0.9 * radius, sections=10), parent, Joint(axis / np.linalg.norm(axis), at, -0.6, 0.2)
        )
        at, radius = end, 0.9 * radius
    return a


def gripper(rng: Rng) -> Assembly:
    """A palm with two to five fingers of one to three segments."""
    a = Assembly(fleshy=True)
    palm = a.add([random_lump(rng, np.array([0.8, 0.35, 0.7])), limb((-0.36, 0, 0.3), (0.36, 0, 0.3), 0.1)])
    fingers, segments = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    for i in range(fingers):
        at = np.array([0.8 * ((i + 0.5) / fingers - 0.5), 0, 0.36])
        parent, width = palm, 0.45 / fingers
        for j in range(segments):
            length = 0.45 * 0.85**j
            bar = along(random_bar(rng, 1.05 * length, width), at, at + length * Z)
            parent = a.add(bar, parent, Joint(X, at, -0.3, 1.0))
            at = at + length * Z
    return a


def grab(rng: Rng) -> Assembly:
    """A crane's grab: a cable, a hub and three to six bent fingers in a circle that close together."""
    a = Assembly()
    fingers, radius = int(rng.integers(3, 7)), rng.uniform(0.16, 0.24)
    hub = a.add([placed(icosphere(subdivisions=2, radius=radius), (0, 0, 0)), limb((0, 0, 0), (0, 0, 0.6), 0.06)])
    knuckle = bool(rng.random() < 0.5)
    for t in 2 * np.pi * np.arange(fingers) / fingers:
        out, across = np.array([np.cos(t), np.sin(t), 0]), np.array([-np.sin(t), np.cos(t), 0])
        at = 0.9 * radius * out - 0.1 * Z
        elbow = at + 0.35 * out - 0.2 * Z
        tip = elbow - 0.1 * out - 0.5 * Z
        if knuckle:
            upper = a.add(limb(at, elbow, 0.06), hub, Joint(across, at, -0.35, 0.3))
            a.add(limb(elbow, tip, 0.06, 0.025), upper, Joint(across, elbow, -0.3, 0.45))
        else:
            bend = arc(elbow, 0.0 * out, 0.0 * out, 0, 1, 1)
            a.add(tube([at, bend[0], tip], [0.06, 0.06, 0.025]), hub, Joint(across, at, -0.4, 0.4))
    return a
