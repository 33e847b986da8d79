"""Which joint of one skeleton is which of another: by equal names, else by the names that the trades give people's."""

from __future__ import annotations

import re

# Names without side, digits or punctuation, the likeliest first.
_ROLES = {
    "hips": ("hips", "hip", "pelvis", "root"),
    "neck": ("neck", "lowerneck"),
    "head": ("head",),
    "clavicle": ("clavicle", "collar", "shoulder"),
    "upper arm": ("upperarm", "uparm", "arm", "shoulder"),
    "forearm": ("lowerarm", "loarm", "forearm", "elbow"),
    "hand": ("wrist", "hand"),
    "thigh": ("upperleg", "upleg", "thigh", "hip"),
    "shin": ("lowerleg", "loleg", "leg", "knee", "shin", "calf"),
    "foot": ("foot", "ankle"),
    "toes": ("toes", "toebase", "toe"),
}
_SIDED = tuple(_ROLES)[3:]
_TORSO = ("spine", "lowerback", "back", "abdomen", "torso", "chest", "upperback")


def counterparts(mine: list[str], theirs: list[str]) -> dict[int, int]:
    """Return, for joints of one skeleton, the numbers of their counterparts in another.

    Where at least half of the smaller skeleton has equal names in the other, names alone decide. Otherwise both are
    taken for people, and joints of the same role are matched; the joints of the torso by their place along it.

    Args:
        mine: names of one skeleton's joints, parents before children.
        theirs: those of the other.
    """
    plain = {_plain(name): k for k, name in reversed(list(enumerate(theirs)))}
    equal = {k: plain[_plain(name)] for k, name in enumerate(mine) if _plain(name) in plain}
    if 2 * len(equal) >= min(len(mine), len(theirs)):
        return equal
    ours, other = _roles(mine), _roles(theirs)
    pairs = {ours[role]: other[role] for role in ours if role in other}
    torso, rows = _torso(mine), _torso(theirs)
    for place, joint in enumerate(torso if rows else []):
        share = place / max(len(torso) - 1, 1)
        pairs[joint] = rows[round(share * (len(rows) - 1))]
    return pairs


def _plain(name: str) -> str:
    return re.sub(r"[\s._:-]", "", re.sub(r"^.*:", "", name).lower())


def _split(name: str) -> tuple[str, str]:
    """Return the side ("l", "r" or "") of a joint, and its name without side, digits and punctuation."""
    text = re.sub(r"^.*:", "", name).lower()
    side = ""
    if text.startswith("__"):
        # MakeHuman's spacers, which carry the name of the joint they lead to and do not turn.
        return "", ""
    if found := re.match(r"^(left|right)(.*)$", text):
        side, text = found[1][0], found[2]
    elif found := re.match(r"^(.*)[._-](l|r|left|right)$", text):
        side, text = found[2][0], found[1]
    return side, re.sub(r"[^a-z]", "", text)


def _roles(names: list[str]) -> dict[tuple[str, str], int]:
    """Return the joint of each role and side: of the likeliest name, the first from the root."""
    parts = [_split(name) for name in names]
    result: dict[tuple[str, str], int] = {}
    for side in ("l", "r", ""):
        taken = set[int]()
        for role in _SIDED if side else ("hips", "neck", "head"):
            # A shoulder is the upper arm of a skeleton that has no other.
            words = _ROLES[role]
            arms = any(own == (side, word) for own in parts for word in ("upperarm", "uparm", "arm"))
            if role == "clavicle" and not arms:
                words = words[:2]
            hits = (k for word in words for k, own in enumerate(parts) if own == (side, word) and k not in taken)
            joint = next(hits, None)
            if joint is not None:
                result[role, side] = joint
                taken.add(joint)
    return result


def _torso(names: list[str]) -> list[int]:
    return [k for k, name in enumerate(names) if _split(name)[0] == "" and _split(name)[1] in _TORSO]
