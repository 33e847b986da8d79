"""Which objects are for training: by family and by object, never by frame."""

from __future__ import annotations

import hashlib

# Families that no training sees, about one in ten of each kind. The names are those of the generators; an imported
# pack is a family.
UNSEEN_FAMILIES = frozenset(
    {
        "articulated/crane",
        "articulated/excavator",
        "articulated/glasses",
        "articulated/oven",
        "articulated/pliers",
        "articulated/spider",
        "articulated/teapot",
        "articulated/turtle",
        "cloth/poncho",
        "cloth/trousers",
        "elastic/banana",
        "elastic/elephant",
        "elastic/heart",
        "elastic/quaternius_cyberpunk",
        "elastic/quaternius_mech",
        "imported/cyberpunk",
        "imported/mech",
        "rigid/mug",
        "rigid/pan",
        "rigid/quaternius_cyberpunk",
        "rigid/quaternius_mech",
    }
)

VALIDATION_SHARE = 0.04
TEST_SHARE = 0.06


def split_of(family: str, name: str) -> str:
    """Return the split of an object: the family's where the family is unseen, otherwise a stable draw.

    An object with a name of its own is drawn by it alone, so that an animated model and its still shape go together;
    the numbered objects of a generator are drawn by family and number.
    """
    if family in UNSEEN_FAMILIES:
        return "test_unseen"
    known_by = f"{family}:{name}" if name.isdigit() else name
    draw = int.from_bytes(hashlib.sha256(known_by.encode()).digest()[:8], "big") / 2**64
    if draw < VALIDATION_SHARE:
        return "validation"
    return "test_seen" if draw < VALIDATION_SHARE + TEST_SHARE else "train"
