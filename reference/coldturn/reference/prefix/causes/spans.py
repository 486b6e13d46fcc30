"""Typed spans in text: clocks, dates, random ids. Two texts may differ in nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class SpanKind(StrEnum):
    """What a span of text stands for. Values that may replace each other share a kind."""

    CLOCK = "clock"
    EPOCH = "epoch"
    DATE = "date"
    UUID = "uuid"
    ULID = "ulid"
    HEX = "hex"
    TEMP_PATH = "temp_path"
    SESSION = "session_token"

    @property
    def is_time(self) -> bool:
        """Whether it tells a time below a day."""
        return self in {SpanKind.CLOCK, SpanKind.EPOCH}

    @property
    def is_id(self) -> bool:
        """Whether it is a value that was minted at random."""
        return self in {SpanKind.UUID, SpanKind.ULID, SpanKind.HEX, SpanKind.TEMP_PATH, SpanKind.SESSION}

    @property
    def placeholder(self) -> str:
        """Stands for any value of the family when the rest of two texts is compared."""
        return "\x00i" if self.is_id else "\x00t" if self.is_time else "\x00d"


_ENGLISH_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_MONTH = (
    rf"(?:{_ENGLISH_MONTH}"
    # German, French, Spanish
    r"|(?i:januar|j\u00e4nner|februar|m\u00e4rz|mai|juni|juli|oktober|dezember"
    r"|janvier|f\u00e9vrier|mars|avril|juin|juillet|ao\u00fbt|septembre|octobre|novembre|d\u00e9cembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre))"
)
_WEEKDAY = (
    r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
    r"|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|Sonnabend"
    r"|(?i:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo))"
)
_EAST_ASIAN = (
    r"(?<!\d)(?:\d{4}\s?[\u5e74\ub144]\s?)?\d{1,2}\s?[\u6708\uc6d4]\s?\d{1,2}\s?[\u65e5\u53f7\uc77c]"
    r"|(?<!\d)\d{4}\s?[\u5e74\ub144]\s?\d{1,2}\s?[\u6708\uc6d4]"
    r"|(?:\u661f\u671f|\u5468|\u793c\u62dc)[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u65e5\u5929]"
    r"|[\u6708\u706b\u6c34\u6728\u91d1\u571f\u65e5]\u66dc\u65e5?|[\uc6d4\ud654\uc218\ubaa9\uae08\ud1a0\uc77c]\uc694\uc77c"
)
"""Dates with the signs for year, month and day, and days of the week, in Chinese, Japanese and Korean."""
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"

_PATTERN = re.compile(
    rf"""
      (?P<temp_path> (?:/private)?/(?:tmp|var/folders|var/tmp|run/user/\d+)/[^\s"'`,;<>()\]]+
                   | [A-Za-z]:(?:\\+[^\s"'`,;<>\\]+)*\\+Te?mp\\+[^\s"'`,;<>]+ )
    | (?P<uuid> (?<![0-9A-Za-z])[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}(?![0-9A-Za-z]) )
    | (?P<ulid> (?<!\w)[0-7][0-9A-HJKMNP-TV-Z]{{25}}(?!\w) )
    | (?P<session_token> (?<!\w)(?:sess|session|req|run|chat|conv|thread|trace|msg|sid|token)[-_]
                         (?=[A-Za-z]*\d)[A-Za-z0-9]{{8,}}(?!\w) )
    | (?P<date> (?<![\d.])\d{{4}}(?P<ymd>[-/.])\d{{1,2}}(?P=ymd)\d{{1,2}}(?!\d)
              | (?<![\w.])(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=T\d|(?!\w))
              | (?<![\d./-])\d{{1,2}}(?P<dmy>[-/.])\d{{1,2}}(?P=dmy)\d{{4}}(?!\d)
              | (?<![\d/])\d{{1,2}}/\d{{1,2}}/\d{{2}}(?![\d/])
              | (?<!\w){_ENGLISH_MONTH}\s+{_DAY}(?:,?\s+\d{{4}})?(?!\w)
              | (?<!\w){_DAY}(?:\.|er|\u00ba)?(?:\s+(?:of|de))?\s+{_MONTH}(?:,?\s+(?:del?\s+)?\d{{4}})?(?!\w)
              | (?<!\w){_MONTH}(?:\s+del?)?\s+(?:19|20)\d\d(?!\w)
              | {_EAST_ASIAN}
              | (?<!\w){_WEEKDAY}(?!\w) )
    | (?P<clock> (?:(?<=\dT)|(?<![\w:.]))(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-6]\d(?:[.,]\d{{1,9}})?)?
                 (?:\s?[AaPp]\.?[Mm](?!\w)\.?)?{_ZONE}(?!\d|:\d)
               | (?<=\dT)\d{{4}}(?:\d\d)?(?:\.\d+)?{_ZONE}(?!\w)
               | (?<!\w)(?:1[0-2]|0?[1-9])\s?[AaPp]\.?[Mm](?!\w) )
    | (?P<epoch> (?<![\w.])1\d{{9}}(?:\d{{3}}|\d{{6}}|\d{{9}})?(?:\.\d+)?(?![\w.]*\d) )
    | (?P<hex> (?<![0-9A-Za-z])(?:0x)?(?=[a-fA-F]*\d)[0-9a-fA-F]{{8,}}(?![0-9A-Za-z]) )
    """,
    re.VERBOSE,
)

_DAY_SECONDS = 86_400
_LONG = 65_536
"""Characters from which on a text is not searched as a whole when a look at its ends will do."""
_MARGIN = 512
_NEAR = 40
"""Characters of the same line around a span in which a word can tell what it is."""
_TIME_WORD = re.compile(
    r"\b(?:time|clock|now|dates?|datetime|today|tonight|hours?|epoch|unix|timestamp|ts|utc|gmt|noon|midnight"
    r"|it is|it's|as of|updated|created|modified|generated|started|expires)\b",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(r"(?<!\w)(?:at|since|until|till|by|@)\s*\d\d:\d\d", re.IGNORECASE)
_WORD_BREAK = re.compile(r"[_\-]+|(?<=[a-z])(?=[A-Z])")
_CLEAR_CLOCK = re.compile(r"\d\d:\d\d:\d\d|\d{4}|\d.*(?:[AaPp]\.?[Mm]|Z|UTC|GMT|[+-]\d\d:?\d\d)")
_LONG_ID = 16
_MILLISECOND_DIGITS = 13


@dataclass(frozen=True, slots=True)
class SpanChange:
    """A typed span with two values. `near` is what stands around the newer one, on the same line."""

    kind: SpanKind
    was: str
    now: str
    near: str


def typed_changes(was: str, now: str, about: Callable[[], str] = str) -> tuple[SpanChange, ...]:
    """The typed spans that differ, when they are ALL that differs; else nothing.

    Two spans may swap kinds within a family (a UUID for a hex id); the kind of the new value counts.

    Args:
        was: The older text.
        now: The newer text.
        about: What is known of the place besides, such as its headings; asked only where a span wants it.
    """
    was, now = _around(was, now)
    if _rules_out(*sorted((was, now), key=len)):
        return ()
    was_rest, was_spans = _split(was)
    now_rest, now_spans = _split(now)
    if was_rest != now_rest:
        return ()
    changes = tuple(
        SpanChange(kind, was[old], now[new], _near(now, new))
        for (_, old), (kind, new) in zip(was_spans, now_spans, strict=True)
        if was[old] != now[new]
    )
    return changes if all(_plausible(change, about) for change in changes) else ()


def _near(text: str, span: slice) -> str:
    front = text[max(0, span.start - _NEAR) : span.start].rpartition("\n")[2]
    return front + text[span] + text[span.stop : span.stop + _NEAR].partition("\n")[0]


def _around(was: str, now: str) -> tuple[str, str]:
    """Long texts without what they share at both ends, up to white space well before the difference."""
    room = min(len(was), len(now))
    if room < _LONG:
        return was, now
    head = max(0, _shared(was, now, room, from_end=False) - _MARGIN)
    head = was.rfind(" ", 0, head) + 1
    tail = max(0, _shared(was, now, room - head, from_end=True) - _MARGIN)
    if tail:
        blank = was.find(" ", len(was) - tail)
        tail = 0 if blank < 0 else len(was) - blank
    return was[head : len(was) - tail], now[head : len(now) - tail]


def _shared(was: str, now: str, limit: int, *, from_end: bool) -> int:
    """Characters in common at one end, at most `limit`."""
    step, at = 65_536, 0
    while step:
        size = min(step, limit - at)
        left, right = (len(was) - at - size, len(now) - at - size) if from_end else (at, at)
        if size and was[left : left + size] == now[right : right + size]:
            at += size
        else:
            step //= 2
    return at


def _rules_out(shorter: str, longer: str) -> bool:
    """Whether the literal ends of the shorter text are not those of the longer one: cheap, and mostly so."""
    if len(longer) < _LONG:
        return False
    spans = list(_spans(shorter))
    if not spans:
        return True
    return not (longer.startswith(shorter[: spans[0][1]]) and longer.endswith(shorter[spans[-1][2] :]))


def _plausible(change: SpanChange, about: Callable[[], str]) -> bool:
    """Whether digits that look like a time or an id are one: ``1:20`` may be a ratio, ten digits a phone."""
    if change.kind is SpanKind.CLOCK:
        return _is_clear_clock(change) or _speaks_of_time(change.near) or _speaks_of_time(about())
    if change.kind is SpanKind.EPOCH:
        return _is_clear_epoch(change) or _speaks_of_time(change.near) or _speaks_of_time(about())
    if change.kind is SpanKind.HEX:
        both = change.was + change.now
        return not both.isdecimal() or len(both) >= 2 * _LONG_ID
    return True


def _is_clear_clock(change: SpanChange) -> bool:
    """Seconds, a half of the day or a time zone; or a date beside it, or ``at`` in front of two digits."""
    if _CLEAR_CLOCK.match(change.was) and _CLEAR_CLOCK.match(change.now):
        return True
    if _AT_A_TIME.search(change.near):
        return True
    return any(kind is SpanKind.DATE for kind, _, _ in _spans(change.near))


def _is_clear_epoch(change: SpanChange) -> bool:
    """Milliseconds or finer, less than a day apart."""
    apart = abs(_seconds(change.now) - _seconds(change.was))
    return apart < _DAY_SECONDS and len(change.now.partition(".")[0]) >= _MILLISECOND_DIGITS


def _speaks_of_time(text: str) -> bool:
    return _TIME_WORD.search(_WORD_BREAK.sub(" ", text)) is not None


def _seconds(digits: str) -> float:
    whole, _, rest = digits.partition(".")
    return float(f"{whole[:10]}.{whole[10:]}{rest}") if whole[:10].isdigit() else 0.0


def typed_spans(text: str) -> Iterator[tuple[SpanKind, int, int]]:
    """The typed spans of a text in order: kind, start, end."""
    return _spans(text)


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, tuple[tuple[SpanKind, slice], ...]]:
    """`text` with its typed spans taken out, and where they stand, in order."""
    spans = tuple(_spans(text))
    rest: list[str] = []
    at = 0
    for kind, start, end in spans:
        rest += (text[at:start], kind.placeholder)
        at = end
    rest.append(text[at:])
    return "".join(rest), tuple((kind, slice(start, end)) for kind, start, end in spans)


def _spans(text: str) -> Iterator[tuple[SpanKind, int, int]]:
    for match in _PATTERN.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            yield SpanKind(kind), match.start(), match.end()
