"""Dates as people write them: both values are dates, and nothing else differs."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Surface
from prefix.bodies import PADDING, request
from prefix.surfaces import SURFACES


def broken(was: str, now: str, surface: Surface = Surface.MESSAGES) -> Break:
    sides = (request(surface, system=f"{PADDING}{text}\n{PADDING}") for text in (was, now))
    found = compare(*sides).first
    assert found is not None
    return found


DATES = [
    ("Heute ist Mittwoch, der 25. November 2026", "Heute ist Donnerstag, der 26. November 2026"),
    ("Stand: 1. März 2026", "Stand: 2. März 2026"),
    ("Nous sommes le mercredi 25 novembre 2026.", "Nous sommes le jeudi 26 novembre 2026."),
    ("Le 31 août 2026", "Le 1er septembre 2026"),
    ("Hoy es miércoles, 25 de noviembre de 2026", "Hoy es jueves, 26 de noviembre de 2026"),
    ("Hoy: 31 de diciembre del 2026", "Hoy: 1 de enero del 2027"),
    ("今天是2026年11月25日", "今天是2026年11月26日"),
    ("今天是2026年11月25日,星期三。", "今天是2026年11月26日,星期四。"),
    ("本日は2026年11月25日(水曜日)です", "本日は2026年11月26日(木曜日)です"),
    ("11月25日", "11月26日"),
    ("오늘은 2026년 11월 25일 수요일", "오늘은 2026년 11월 26일 목요일"),
    ("It is November 2026.", "It is December 2026."),
    ("Wir haben Februar 2026.", "Wir haben März 2026."),
    ("En noviembre de 2026", "En diciembre de 2026"),
    ("现在是2026年11月", "现在是2026年12月"),
]


@pytest.mark.parametrize(("was", "now"), DATES)
def test_a_date_in_words_of_another_language(was: str, now: str) -> None:
    found = broken(was, now)
    assert (found.cause, found.kinds, found.confidence.value) == ("date_rollover", ("date",), "observed")


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("was", "now"), DATES[::4])
def test_on_every_format(surface: Surface, was: str, now: str) -> None:
    assert broken(was, now, surface).cause == "date_rollover"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Mars 12 is a planet.", "Mars 13 is a planet."),
        ("Heute ist Mittwoch, der 25. November 2026", "Heute ist Feiertag, der 26. November 2026"),
        ("第25章", "第26章"),
        ("共25日元", "共26日元"),
        ("月25", "月26"),
        ("November 2026 report", "November 20267 report"),
        ("abril 12345", "abril 12346"),
    ],
)
def test_what_only_looks_like_one(was: str, now: str) -> None:
    assert broken(was, now).cause != "date_rollover"
