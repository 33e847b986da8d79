"""A page on which people vote between two films at a time, without knowing what made them, and the count of the votes.

The page is one HTML file with the films inside; it needs no network and allows none. Each pair is asked twice, with the
sides exchanged, in an order drawn by the seed: a voter who always takes the left one says nothing. Which film is whose
is in a key file that is kept apart. Answers come back as JSON files.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from app.commands.refusal import Refused
from engine.clips.replacing import replacing

_TEMPLATE = Path(__file__).with_name("vote_page.html")
QUESTIONS = ("alignment", "realism")
_TIE = "no difference"
# Of a normal distribution, for 95 % intervals.
_DEVIATIONS = 1.96


@dataclass(frozen=True, slots=True)
class Pair:
    """Two films of the same trial.

    Attributes:
        trial: its name, for the key.
        words: what the voter is told.
        films: the two files.
        makers: what made each, for the key.
    """

    trial: str
    words: str
    films: tuple[Path, Path]
    makers: tuple[str, str]


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What a question of the page shows.

    Attributes:
        trial: its name.
        left, right: what made the films.
    """

    trial: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Preference:
    """How often one maker was preferred to another.

    Attributes:
        question: one of `QUESTIONS`.
        maker, other: the two.
        votes: for the first; ``against`` for the other; ``ties`` for neither.
        share: of the votes that chose.
        low, high: its 95 % interval (Wilson 1927), with each vote taken as independent.
    """

    question: str
    maker: str
    other: str
    votes: int
    against: int
    ties: int
    share: float
    low: float
    high: float


def write_vote_page(pairs: Sequence[Pair], page: Path, key: Path, *, seed: int) -> dict[str, KeyEntry]:
    """Write page and key.

    Args:
        pairs: what is compared.
        page: HTML file.
        key: JSON file that says what made which film; not for voters.
        seed: of order, sides and names.

    Returns:
        The key: what each question shows, by its number.
    """
    rng = np.random.default_rng(seed)
    paths = sorted({film for pair in pairs for film in pair.films})
    # Names that say nothing, and films in the order of those names.
    names = {path: f"f{number:04d}" for path, number in zip(paths, rng.permutation(len(paths)), strict=True)}
    asked = [(pair, first) for pair in pairs for first in (0, 1)]
    questions: list[dict[str, str]] = []
    entries: dict[str, KeyEntry] = {}
    for number, index in enumerate(rng.permutation(len(asked))):
        pair, first = asked[index]
        left, right = pair.films[first], pair.films[1 - first]
        identity = f"q{number:03d}"
        questions.append({"id": identity, "words": pair.words, "left": names[left], "right": names[right]})
        entries[identity] = KeyEntry(pair.trial, pair.makers[first], pair.makers[1 - first])
    films = {
        names[path]: base64.b64encode(path.read_bytes()).decode("ascii")
        for path in sorted(paths, key=lambda path: names[path])
    }
    name = hashlib.sha256(json.dumps([questions, films]).encode()).hexdigest()[:12]
    # "</" would end the script that holds the data.
    data = json.dumps({"page": name, "questions": questions, "films": films}).replace("</", "<\\/")
    with replacing(page) as part:
        part.write_text(_TEMPLATE.read_text(encoding="utf-8").replace("@DATA@", data), encoding="utf-8")
    content = {"page": name, "questions": {identity: asdict(entry) for identity, entry in entries.items()}}
    with replacing(key) as part:
        part.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return entries


def count_votes(key: Path, votes: Sequence[Path]) -> list[Preference]:
    """Return how often each maker was preferred to each other.

    Raises:
        Refused: a file cannot be read, or its answers are to another page.
    """
    content = _read(key)
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for path in votes:
        given = _read(path)
        if given.get("page") != content.get("page"):
            raise Refused(f"{path.name} answers another page than the one {key} is the key of")
        for identity, answers in cast("Mapping[str, Mapping[str, str]]", given.get("answers", {})).items():
            entry = content["questions"].get(identity)
            if entry is None:
                raise Refused(f"{path.name} answers question {identity}, which the page does not have")
            for question, side in answers.items():
                chosen = "" if side == _TIE else str(entry[side])
                maker, other = sorted((str(entry["left"]), str(entry["right"])))
                counts[question, maker, other, chosen] += 1
    result: list[Preference] = []
    for question in QUESTIONS:
        for maker, other in sorted({(maker, other) for asked, maker, other, _ in counts if asked == question}):
            votes_for, against, ties = (counts[question, maker, other, chosen] for chosen in (maker, other, ""))
            share, low, high = wilson_interval(votes_for, votes_for + against)
            result.append(Preference(question, maker, other, votes_for, against, ties, share, low, high))
    return result


def wilson_interval(successes: int, count: int) -> tuple[float, float, float]:
    """Return a share and its 95 % interval (Wilson 1927); of nothing, a half between 0 and 1."""
    if count == 0:
        return 0.5, 0.0, 1.0
    share, square = successes / count, _DEVIATIONS**2
    middle = (share + 0.5 * square / count) / (1.0 + square / count)
    reach = _DEVIATIONS * np.sqrt(share * (1.0 - share) / count + 0.25 * square / count**2) / (1.0 + square / count)
    return share, max(0.0, float(middle - reach)), min(1.0, float(middle + reach))


def _read(path: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise Refused(f"{path} cannot be read as votes or key: {problem}") from problem
    if not isinstance(content, dict):
        raise Refused(f"{path} should hold a JSON object")
    return cast("dict[str, Any]", content)
