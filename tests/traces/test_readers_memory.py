"""What a reader holds does not follow the length of the file."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from fuzz.readers_examples import (
    CHAT,
    CONVENTIONS,
    VERCEL,
    flat,
    flattened,
    har,
    har_entry,
    observation,
    otlp,
    otlp_span,
)

SPLIT = '"SPLIT"'
"""Stands where the repeated part of a document goes."""


def around(value: object, part: object) -> Callable[[int], Iterator[str]]:
    """A document that holds `part` as often as wanted."""
    head, tail = json.dumps(value).split(SPLIT)
    text = json.dumps(part)

    def written(count: int) -> Iterator[str]:
        yield head
        yield from itertools.chain([text], itertools.repeat("," + text, count - 1))
        yield tail

    return written


def each_line(part: object) -> Callable[[int], Iterator[str]]:
    text = json.dumps(part) + "\n"
    return lambda count: itertools.repeat(text, count)


FILES: dict[str, tuple[InputKind, Callable[[int], Iterable[str]]]] = {
    "bodies": (InputKind.BODIES, around(["SPLIT"], CHAT)),
    "har": (InputKind.HAR, around(har("SPLIT"), har_entry())),
    "otlp document": (InputKind.OTLP, around(otlp("SPLIT"), otlp_span(CONVENTIONS))),  # type: ignore[arg-type]
    "otlp lines": (InputKind.OTLP, each_line(otlp(otlp_span(CONVENTIONS)))),
    "spans": (InputKind.SPANS, around(["SPLIT"], flat(VERCEL))),
    "langfuse": (InputKind.LANGFUSE, around({"trace": {}, "observations": ["SPLIT"]}, observation(1))),
    "prompt log": (InputKind.PROMPT_LOG, each_line(flattened(3))),
}


@pytest.mark.parametrize("name", FILES)
def test_memory_stays_the_same(name: str, tmp_path: Path) -> None:
    kind, written = FILES[name]

    def most(size: int) -> int:
        path = tmp_path / f"{size}"
        count = size // len("".join(written(1)))
        with path.open("w", encoding="utf-8") as file:
            file.writelines(written(count))
        tracemalloc.start()
        read = sum(1 for _ in read_records(path))
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert read == (1 if kind is InputKind.LANGFUSE else count)  # one id, however often it is written
        return held

    most(20_000)
    assert most(2_000_000) < most(600_000) + 700_000
