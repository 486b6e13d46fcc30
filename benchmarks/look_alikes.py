"""Logs in which no conversation says anything of its own: batches, evaluations, load tests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from benchmarks.words import Words

Message = dict[str, Any]
_POOL, _TALKS, _LONGEST = 30, 20, 31
_PROMPTS = 200
_SAMPLES = 32
_TEMPLATES = 50


def classified(words: Words) -> Iterator[list[Message]]:
    """One system prompt with examples, then one short question."""
    template = _template(words)
    while True:
        yield [*template, _question(words)]


def identical(words: Words) -> Iterator[list[Message]]:
    """One request again and again."""
    messages = [*_template(words), _question(words)]
    while True:
        yield messages


def interleaved(words: Words) -> Iterator[list[Message]]:
    """Fifty such templates in random order."""
    templates = [_template(words) for _ in range(_TEMPLATES)]
    while True:
        yield [*words.random.choice(templates), _question(words)]


def pooled(words: Words) -> Iterator[list[Message]]:
    """Twenty conversations of up to fifteen turns at once, all of thirty texts."""
    pool = [words.text(40) for _ in range(_POOL)]
    start = [_system(words)]
    talks = [start] * _TALKS
    while True:
        at = words.random.randrange(_TALKS)
        if len(talks[at]) >= _LONGEST:
            talks[at] = start
        texts = words.random.choices(pool, k=2)
        said = [
            {"role": role, "content": text} for role, text in zip(("assistant", "user"), texts, strict=True)
        ]
        talks[at] = [*talks[at], *said[len(talks[at]) == 1 :]]
        yield talks[at]


def evaluated(words: Words) -> Iterator[list[Message]]:
    """Two hundred prompts in rounds."""
    template = _template(words)
    prompts = [[*template, _question(words)] for _ in range(_PROMPTS)]
    while True:
        yield from prompts


def sampled(words: Words) -> Iterator[list[Message]]:
    """Each prompt 32 times at once."""
    template = _template(words)
    while True:
        yield from [[*template, _question(words)]] * _SAMPLES


SHAPES: tuple[Callable[[Words], Iterator[list[Message]]], ...] = (
    classified,
    identical,
    interleaved,
    pooled,
    evaluated,
    sampled,
)


def bodies(
    shape: Callable[[Words], Iterator[list[Message]]], requests: int, *, seed: int = 5
) -> Iterator[bytes]:
    """Request bodies of so many requests of a shape."""
    words = Words(random.Random(seed))  # noqa: S311 - words of made-up requests
    for messages in islice(shape(words), requests):
        request = {"model": "gpt-5.4", "messages": messages, "temperature": 0.2}
        yield json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


def _system(words: Words) -> Message:
    return {"role": "system", "content": "\n\n".join(words.text(60) for _ in range(20))}


def _template(words: Words) -> list[Message]:
    return [_system(words), *(words.message(number, 300 - number % 2 * 200) for number in range(12))]


def _question(words: Words) -> Message:
    return {"role": "user", "content": f"Classify: {words.text(8)} #{words.random.randrange(1 << 30)}"}
