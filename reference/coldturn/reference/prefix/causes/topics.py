"""What a place in a text is about: the headings and tags that enclose it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Topic(StrEnum):
    """Subjects that decide between causes."""

    MEMORY = "memory"
    SKILLS = "skills"
    AGENTS = "agents"
    TOOLS = "tools"
    ENVIRONMENT = "environment"


_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = tuple(
    (topic, re.compile(pattern, re.IGNORECASE))
    for topic, pattern in (
        (
            Topic.MEMORY,
            r"\bmem\b|\bmemor(?:y|ies)\b|\brecall|\bremember|\buser (?:facts|preferences|profile)\b",
        ),
        (Topic.SKILLS, r"\bskills?\b"),
        (Topic.AGENTS, r"\bsub ?agents?\b|\bagent (?:types|roster)\b|\bavailable agents\b"),
        (Topic.TOOLS, r"\btools?\b|\btoolset|\bcatalog(?:ue)?s?\b|\bfunctions?\b|\bdeferred\b|\bmcp\b"),
        (Topic.AGENTS, r"\bagents?\b"),
        (Topic.ENVIRONMENT, r"\benv(?:ironment)?\b|\bworkspace\b|\bgit ?status\b|\bworking directory\b"),
    )
)
_HEADING = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,}).*|(?P<level>#{1,6})[ \t]+(?P<name>\S.*))$", re.MULTILINE
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_WORD_BREAK = re.compile(r"[_\-.:/]+|(?<=[a-z])(?=[A-Z])")


@lru_cache(maxsize=1024)
def topic_of(name: str | None) -> Topic | None:
    """The subject that a heading or tag names, or None."""
    if not name:
        return None
    words = _WORD_BREAK.sub(" ", name)
    return next((topic for topic, pattern in _TOPICS if pattern.search(words)), None)


_BAN = re.compile(
    r"\b(?:avoid|forbid(?:den)?|never|prohibited|banned|disallow(?:ed)?|denied|deny|blocked|dangerous"
    r"|(?:do|must|should) not|don'?t)\b",
    re.IGNORECASE,
)


def is_ban(names: Iterable[str]) -> bool:
    """Whether a heading or label says that what it lists is not to be used."""
    return any(_BAN.search(_WORD_BREAK.sub(" ", name)) for name in names)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A heading's or tag's reach: places from `start` to `end` stand under it."""

    name: str
    start: int
    end: int
    opened: int


@lru_cache(maxsize=32)
def _scopes(text: str) -> tuple[_Scope, ...]:
    """All scopes of a text, in the order in which they open."""
    return tuple(sorted([*_headings(text), *_tags(text)], key=lambda scope: scope.opened))


def _headings(text: str) -> Iterator[_Scope]:
    """A heading counts, from its own line on, until one of its own or a higher level."""
    open_ones: list[tuple[int, re.Match[str]]] = []
    fenced = False
    for heading in _HEADING.finditer(text):
        if heading["fence"]:
            fenced = not fenced
        if fenced or heading["fence"]:
            continue
        level = len(heading["level"])
        while open_ones and open_ones[-1][0] >= level:
            yield _under(open_ones.pop()[1], heading.start() - 1)
        open_ones.append((level, heading))
    for _, heading in open_ones:
        yield _under(heading, len(text))


def _under(heading: re.Match[str], end: int) -> _Scope:
    return _Scope(heading["name"], heading.start(), end, heading.start())


def _tags(text: str) -> Iterator[_Scope]:
    """A tag counts when it is closed, between its two brackets."""
    stack: list[re.Match[str]] = []
    for tag in _TAG.finditer(text):
        if not tag[1]:
            stack.append(tag)
            continue
        for index in range(len(stack) - 1, -1, -1):
            if stack[index][2] == tag[2]:
                yield _Scope(tag[2], stack[index].end(), tag.start(), stack[index].start())
                del stack[index:]
                break


def enclosing(text: str, at: int) -> list[str]:
    """Headings and tags that a place stands under, nearest first."""
    return [scope.name for scope in reversed(_scopes(text)) if scope.start <= at <= scope.end]


def topic_at(text: str, at: int) -> Topic | None:
    """The subject of the nearest heading or tag that has one."""
    return next((topic for name in enclosing(text, at) if (topic := topic_of(name)) is not None), None)
