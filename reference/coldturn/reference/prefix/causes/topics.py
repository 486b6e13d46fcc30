"""What a place in a text is about: the headings and tags that enclose it."""

from __future__ import annotations

import re
from enum import StrEnum


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
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_WORD_BREAK = re.compile(r"[_\-.:/]+|(?<=[a-z])(?=[A-Z])")


def topic_of(name: str | None) -> Topic | None:
    """The subject that a heading or tag names, or None."""
    if not name:
        return None
    words = _WORD_BREAK.sub(" ", name)
    return next((topic for topic, pattern in _TOPICS if pattern.search(words)), None)


def enclosing(text: str, at: int) -> list[str]:
    """Headings and tags that a place stands under, nearest first.

    A tag counts when it is closed behind the place; a heading counts until one of its own or a higher level.
    """
    found: list[tuple[int, str]] = []
    level = 7
    for heading in reversed(list(_HEADING.finditer(text, 0, _line_end(text, at)))):
        if len(heading[1]) < level:
            level = len(heading[1])
            found.append((heading.start(), heading[2]))
    found += _open_tags(text, at)
    return [name for _, name in sorted(found, reverse=True)]


def topic_at(text: str, at: int) -> Topic | None:
    """The subject of the nearest heading or tag that has one."""
    return next((topic for name in enclosing(text, at) if (topic := topic_of(name)) is not None), None)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _open_tags(text: str, at: int) -> list[tuple[int, str]]:
    stack: list[tuple[int, str]] = []
    for tag in _TAG.finditer(text, 0, at):
        closing, name = tag[1], tag[2]
        if not closing:
            stack.append((tag.start(), name))
            continue
        for index in range(len(stack) - 1, -1, -1):
            if stack[index][1] == name:
                del stack[index:]
                break
    return [(start, name) for start, name in stack if f"</{name}>" in text[at:]]
