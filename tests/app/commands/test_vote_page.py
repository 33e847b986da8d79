"""The page for a blind vote: balanced sides, names that say nothing, a key that resolves it, and the count."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from app.commands.refusal import Refused
from app.commands.vote_page import Pair, count_votes, wilson_interval, write_vote_page

TRIALS = tuple(f"bear_{number}" for number in range(6))


@pytest.fixture
def pairs(tmp_path: Path) -> list[Pair]:
    """Six trials with a film of each of two networks; the films are a few bytes that differ."""
    result: list[Pair] = []
    for trial in TRIALS:
        films = tuple(tmp_path / f"{trial}_{maker}.mp4" for maker in ("old", "new"))
        for film in films:
            film.write_bytes(f"the film {film.stem}".encode())
        result.append(Pair(trial, f"What is done: {trial}.", (films[0], films[1]), ("old", "new")))
    return result


def read_data(page: Path) -> dict[str, object]:
    """Return what the page's script is given."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_every_film_is_once_on_either_side_and_the_key_resolves_it(pairs: list[Pair], tmp_path: Path) -> None:
    """Each film stands once left and once right, and the key's makers are those of the films' bytes."""
    page, key = tmp_path / "vote.html", tmp_path / "key.json"
    write_vote_page(pairs, page, key, seed=3)
    data, entries = read_data(page), json.loads(key.read_text())["questions"]
    questions = data["questions"]
    assert isinstance(questions, list) and len(questions) == 2 * len(TRIALS)
    films = {name: base64.b64decode(text).decode() for name, text in dict(data["films"]).items()}  # type: ignore[call-overload]
    for side in ("left", "right"):
        assert Counter(question[side] for question in questions) == Counter(list(films))
    for question in questions:
        entry = entries[question["id"]]
        for side in ("left", "right"):
            assert films[question[side]] == f"the film {entry['trial']}_{entry[side]}"
        assert question["words"] == f"What is done: {entry['trial']}."


def test_the_page_tells_nothing_and_asks_no_network(pairs: list[Pair], tmp_path: Path) -> None:
    """Neither makers nor file names nor addresses are in the page, and its policy forbids all but its own films."""
    page = tmp_path / "vote.html"
    write_vote_page(pairs, page, tmp_path / "key.json", seed=3)
    text = page.read_text()
    assert "http:" not in text and "https:" not in text and "src=" not in text
    assert "default-src 'none'; media-src data:" in text
    assert not [word for word in ("_old", "_new", '"old"', '"new"', ".mp4") if word in text]


def test_seed_draws_order_and_names(pairs: list[Pair], tmp_path: Path) -> None:
    """The same seed gives the same page; another one another order of trials and sides."""
    pages = [tmp_path / f"{name}.html" for name in "abc"]
    key = tmp_path / "key.json"
    keys = [write_vote_page(pairs, page, key, seed=seed) for page, seed in zip(pages, (1, 1, 2), strict=True)]
    assert pages[0].read_bytes() == pages[1].read_bytes() != pages[2].read_bytes()
    assert keys[0] == keys[1] != keys[2]


def test_votes_are_counted_by_maker(pairs: list[Pair], tmp_path: Path) -> None:
    """A voter who always finds the new one more real, and one who always takes the left film, are told apart."""
    key = tmp_path / "key.json"
    entries = write_vote_page(pairs, tmp_path / "vote.html", key, seed=0)
    name = json.loads(key.read_text())["page"]
    sure = {i: {"realism": "left" if e.left == "new" else "right"} for i, e in entries.items()}
    lazy = {i: {"alignment": "left"} for i in entries}
    undecided = {"q000": {"realism": "no difference"}}
    files = []
    for number, answers in enumerate((sure, lazy, undecided)):
        files.append(tmp_path / f"votes_{number}.json")
        files[-1].write_text(json.dumps({"page": name, "answers": answers}))
    alignment, realism = count_votes(key, files)
    assert (realism.maker, realism.votes, realism.against, realism.ties) == ("new", 12, 0, 1)
    assert (alignment.votes, alignment.against, alignment.share) == (6, 6, 0.5)
    assert realism.low > 0.5 > alignment.low


def test_votes_on_another_page_are_refused(pairs: list[Pair], tmp_path: Path) -> None:
    """Answers name their page; those to another are not counted."""
    write_vote_page(pairs, tmp_path / "vote.html", tmp_path / "key.json", seed=0)
    other = tmp_path / "votes.json"
    other.write_text(json.dumps({"page": "another", "answers": {}}))
    with pytest.raises(Refused, match="another page"):
        count_votes(tmp_path / "key.json", [other])


def test_wilson_interval() -> None:
    """Nine of ten: 0.596 to 0.982 (a published table); none of none says nothing."""
    assert wilson_interval(9, 10) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)
    assert wilson_interval(0, 0) == (0.5, 0.0, 1.0)
