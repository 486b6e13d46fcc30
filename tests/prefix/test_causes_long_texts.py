"""Texts too long to be searched as a whole: the same changes are found, for less."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from coldturn.reference.prefix.causes import spans, texts
from coldturn.reference.prefix.causes.hunks import Texts, hunks
from coldturn.reference.prefix.model import Zone

_DATES = ["2026-01-01", "2026-05-07", "12:30:01", "09:11", "Monday"]
_WORDS = [*_DATES, "deadbeef01", "cafe1234", "run_ab12cd34", "word", "lorem", "x", "time", "12345"]


def changes(was: str, now: str) -> list[tuple[str, str, str]]:
    return [(change.kind, change.was, change.now) for change in spans.typed_changes(was, now)]


def test_long_texts_have_the_changes_of_a_search_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)  # noqa: S311 - cases, not secrets
    cases = []
    for _ in range(3000):
        was = dice.choices(_WORDS, k=dice.randint(1, 40))
        now = list(was)
        for _ in range(dice.randint(0, 3)):
            now[dice.randrange(len(now))] = dice.choice(_WORDS)
        cases.append((" ".join(was), " ".join(now)))
    whole = [changes(was, now) for was, now in cases]
    assert sum(map(bool, whole)) > 50
    monkeypatch.setattr(spans, "_LONG", 40)
    monkeypatch.setattr(spans, "_MARGIN", 30)
    assert [changes(was, now) for was, now in cases] == whole


def test_a_text_beside_a_short_one_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    find = spans._spans

    def counted(text: str) -> Iterator[tuple[spans.SpanKind, int, int]]:
        searched.append(len(text))
        return find(text)

    monkeypatch.setattr(spans, "_spans", counted)
    assert spans.typed_changes("lorem ipsum " * 100_000, "It is 12:30 now.") == ()
    assert searched == [16]


def test_no_rule_is_asked_about_a_line_of_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Texts(b"a " * 100 + b"12:30:01", b"a " * 100 + b"12:30:02", Zone.SYSTEM, frozenset())
    (hunk,) = hunks(found)
    assert texts.explain(hunk) is not None
    monkeypatch.setattr(texts, "LONGEST_EXAMINED", 100)
    assert texts.explain(hunk) is None
