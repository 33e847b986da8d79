"""Playground, music and balance: seesaws, carousels, keyboards, scales, jumping jacks."""

from __future__ import annotations

import numpy as np

from engine.datasets.articulated.assembly import Assembly, Joint, X, Y, Z
from engine.datasets.articulated.profiles import (
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
from engine.datasets.shapes.primitives import Rng, icosphere, placed, rounded_box, turned


def seesaw(rng: Rng) -> Assembly:
    """A seesaw: a plank with seats and handles on a trestle."""
    a = Assembly(fixed=True)
    half, height = rng.uniform(0.9, 1.4), rng.uniform(0.35, 0.55)
    pivot = np.array([0, 0, height])
    legs = [limb((0, s * 0.2, height), (t * 0.25, s * 0.28, 0), 0.05) for s in (-1, 1) for t in (-1, 1)]
    base = a.add([*legs, limb(pivot - 0.22 * Y, pivot + 0.22 * Y, 0.06)])
    plank = [placed(cushion((2 * half, 0.28, 0.08), power=7, round_power=5), pivot + 0.075 * Z)]
    for s in (-1, 1):
        plank.append(placed(cushion((0.3, 0.34, 0.1), power=3), pivot + vec(s * (half - 0.2), 0, 0.14)))
        at = pivot + vec(s * (half - 0.5), 0, 0.08)
        plank.append(
            tube([at - 0.1 * Y, at + vec(0, -0.12, 0.26), at + vec(0, 0.12, 0.26), at + 0.1 * Y], 0.025, sections=8)
        )
    a.add(plank, base, Joint(Y, pivot, -0.9 * np.arcsin(height / (half + 0.1)), 0.9 * np.arcsin(height / (half + 0.1))))
    return a


def carousel(rng: Rng) -> Assembly:
    """A chair carousel: a turning canopy from which three to eight seats swing outwards."""
    a = Assembly(fixed=True)
    height, radius = rng.uniform(1.0, 1.4), rng.uniform(0.6, 0.9)
    base = a.add([lathe([(0, 0), (0.5, 0), (0.5, 0.06), (0.12, 0.12), (0.08, height), (0, height)], sections=20)])
    top = np.array([0, 0, height])
    roof = lathe([(0, 0.004), (radius, 0.004), (radius, 0.08), (0.15, 0.34), (0.1, 0.4), (0, 0.42)], sections=24)
    canopy = a.add([placed(roof, top)], base, Joint(Z, top, -1.1, 1.1))
    seats, drop = int(rng.integers(3, 9)), rng.uniform(0.4, 0.6) * height
    for t in 2 * np.pi * np.arange(seats) / seats:
        out, along = np.array([np.cos(t), np.sin(t), 0]), np.array([-np.sin(t), np.cos(t), 0])
        at = top + 0.86 * radius * out
        low = at - drop * Z
        group = [
            limb(at + 0.03 * Z, low, 0.02, sections=6),
            placed(turned(cushion((0.16, 0.16, 0.06), power=3), Z, float(t)), low),
            placed(
                turned(turned(cushion((0.16, 0.16, 0.04), power=3), Y, np.pi / 2), Z, float(t)),
                low - vec(0, 0, -0.07) - 0.07 * out,
            ),
        ]
        a.add(group, canopy, Joint(-along, at, 0.0, 0.9))
    return a


def piano(rng: Rng) -> Assembly:
    """A toy piano: a rounded case, six to eleven keys on hinges, and a lid."""
    a = Assembly(fixed=True)
    keys, key, length = int(rng.integers(6, 12)), 0.16, rng.uniform(0.45, 0.6)
    w = key * keys + 0.24
    case = [
        placed(rounded_box(np.array([w, 0.5, 0.5]), 0.05), (0, 0.25, 0.2)),
        placed(rounded_box(np.array([w, length, 0.12]), 0.03), (0, -0.5 * length + 0.02, 0.0)),
    ]
    case += [
        placed(
            upright(plate(superellipse(0.11, 0.34, 4, 16), length)), (s * (0.5 * w - 0.06), -0.5 * length + 0.02, 0.1)
        )
        for s in (-1, 1)
    ]
    base = a.add(case)
    back = np.array([0, 0.0, 0.145])
    for i in range(keys):
        x = key * (i - 0.5 * (keys - 1))
        lever = placed(
            rounded_box(np.array([key - 0.015, length + 0.02, 0.07]), 0.012), (x, -0.5 * length + 0.02, 0.145)
        )
        a.add(lever, base, Joint(X, back, 0.0, 0.085 / length))
    return a


def balance(rng: Rng) -> Assembly:
    """A balance: a beam on a column, and a pan hanging from either end."""
    a = Assembly(fixed=True)
    height, half = rng.uniform(0.9, 1.2), rng.uniform(0.55, 0.75)
    column = [
        (0, 0),
        (0.3, 0),
        (0.28, 0.05),
        (0.08, 0.1),
        (0.06, 0.4),
        (0.1, 0.45),
        (0.05, 0.5),
        (0.05, height),
        (0, height),
    ]
    base = a.add([lathe(column)])
    pivot = np.array([0, 0, height])
    share = np.linspace(-1, 1, 9)
    beam = [
        tube(np.column_stack((half * share, np.zeros(9), height + 0.06 * (1 - share**2))), 0.03, sections=8),
        limb(pivot - 0.08 * Y, pivot + 0.08 * Y, 0.05),
        limb(pivot + 0.05 * Z, pivot + vec(0, 0, 0.22), 0.025, sections=8),
    ]
    arm = a.add(beam, base, Joint(Y, pivot, -0.35, 0.35))
    drop, pan = rng.uniform(0.45, 0.6), rng.uniform(0.2, 0.28)
    for s in (-1, 1):
        end = pivot + s * half * X
        dish = vessel([(0.3 * pan, 0.0), (0.8 * pan, 0.03), (pan, 0.08)], wall=0.02, floor=0.02, sections=18)
        cords = [
            limb(end, end + vec(0.95 * pan * np.cos(t), 0.95 * pan * np.sin(t), -drop + 0.06), 0.012, sections=6)
            for t in (0.5, 2.6, 4.7)
        ]
        a.add(
            [placed(dish, end - drop * Z), *cords, placed(icosphere(subdivisions=1, radius=0.04), end)],
            arm,
            Joint(Y, end, -0.4, 0.4),
        )
    return a


def jumping_jack(rng: Rng) -> Assembly:
    """A flat wooden jumping jack: head, arms and legs cut from board, on pins in front of the trunk."""
    a = Assembly()
    thick = rng.uniform(0.06, 0.09)
    power = float(rng.uniform(2, 3.5))
    trunk = upright(plate(superellipse(0.55, 0.8, power, 24), thick))
    base = a.add([trunk, placed(upright(plate(superellipse(0.4, 0.44, 2, 20), thick)), (0, 0, 0.58))])
    for side in (-1, 1):
        for z, length, rest in ((0.26, 0.5, 0.9), (-0.28, 0.55, 0.25)):
            at = np.array([side * 0.19, thick, z])
            out = np.array([side * np.sin(rest), 0, -np.cos(rest)])
            bar = upright(plate(superellipse(0.17, length, 3, 18), 0.95 * thick))
            outer = turned(bar, Y, float(np.arctan2(out[0], out[2])))
            pin = limb(at - thick * 0.9 * Y, at + 0.6 * thick * Y, 0.03, sections=8)
            limits = (-0.8, 1.1) if z > 0 else (-0.2, 0.9)
            upper = a.add([placed(outer, at + 0.42 * length * out), pin], base, Joint(-side * Y, at, *limits))
            if rng.random() < 0.6:
                knee = at + 0.84 * length * out + thick * Y
                lower = [
                    placed(outer, knee + 0.42 * length * out),
                    limb(knee - thick * 1.4 * Y, knee + 0.5 * thick * Y, 0.03, sections=8),
                ]
                a.add(lower, upper, Joint(-side * Y, knee, -0.7, 0.7))
    return a
