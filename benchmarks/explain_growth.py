"""Reading and comparing a growing session, held against only slicing and comparing the same bytes.

500 chat requests of about 206 KB: each appends one message to the one before, and every twentieth breaks the
prefix (by turns a clock in the system prompt, another order of tools, a new tool, an old message rewritten).
"""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.words import Words
from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.request import read_request
from coldturn.traces.readers import read_exchanges

REQUESTS = 500
EVERY = 20
LIMIT_RATIO = 2.5
LIMIT_BYTES = 150e6
_BUFFER = 1 << 20
_TOOLS = 40
_FIRST_MESSAGES = 74
_ROUNDS = 7


def bodies(requests: int = REQUESTS, *, seed: int = 7) -> Iterator[bytes]:
    """The session's request bodies, one at a time, as a Python client would send them."""
    writer = _Session(Words(random.Random(seed)))  # noqa: S311 - words of a made-up session
    for number in range(requests):
        if number:
            writer.append()
        if number and number % EVERY == 0:
            writer.change(number // EVERY)
        yield writer.body()


class _Session:
    def __init__(self, words: Words) -> None:
        self._words = words
        self._clock = 0
        self._tools = [self._words.tool(number) for number in range(_TOOLS)]
        self._system = [self._words.text(60) for _ in range(30)]
        self._messages = [self._words.message(number, 1050) for number in range(_FIRST_MESSAGES)]

    def append(self) -> None:
        self._messages.append(self._words.message(len(self._messages), 150))

    def change(self, number: int) -> None:
        kind = number % 4
        if kind == 0:
            self._clock += 1
        elif kind == 1:
            first, second = self._words.random.sample(range(len(self._tools)), 2)
            self._tools[first], self._tools[second] = self._tools[second], self._tools[first]
        elif kind == 2:
            self._tools.append(self._words.tool(len(self._tools)))
        else:
            place = len(self._messages) // 2
            self._messages[place] = self._words.message(place, 900)

    def body(self) -> bytes:
        clock = f"## Current Time\n\n10:{self._clock:02d}\n\n## Rules\n\n"
        system = {"role": "system", "content": clock + "\n\n".join(self._system)}
        request = {
            # A model with cache rules, so that verdicts and their entry model are part of the figure.
            "model": "gpt-5.4",
            "messages": [system, *self._messages],
            "tools": self._tools,
            "temperature": 0.2,
            "stream": True,
        }
        return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


class _Sliced(msgspec.Struct):
    """A chat body in slices: the least that any comparison must do."""

    messages: list[msgspec.Raw]
    tools: list[msgspec.Raw]


def _slice_and_compare(
    body: bytes, before: _Sliced | None, decoder: msgspec.json.Decoder[_Sliced]
) -> _Sliced:
    sliced = decoder.decode(body)
    if before is not None:
        _first_other(before.tools, sliced.tools)
        _first_other(before.messages, sliced.messages)
    return sliced


def _first_other(was: list[msgspec.Raw], now: list[msgspec.Raw]) -> int | None:
    for index, (one, other) in enumerate(zip(was, now, strict=False)):
        if one != other:
            return index
    return None


def run() -> dict[str, float]:
    """Measure on the same log, one request in memory at a time; reading its lines is part of every figure."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "session.jsonl"
        with log.open("wb") as file:
            total = sum(file.write(body + b"\n") - 1 for body in bodies())
        gc.collect()
        started_with = _peak_bytes()
        (slicing, _), (comparing, breaks), (explaining, explained) = _timed(
            (_slice_all, _compare_all, _explain_all), log
        )
    return {
        "requests": REQUESTS,
        "mean_body_bytes": total / REQUESTS,
        "breaks_found": breaks,
        "breaks_explained": explained,
        "slicing_us_per_request": slicing / REQUESTS * 1e6,
        "comparing_us_per_request": comparing / REQUESTS * 1e6,
        "explaining_us_per_request": explaining / REQUESTS * 1e6,
        "comparing_ratio": comparing / slicing,
        "comparing_ratio_limit": LIMIT_RATIO,
        "explaining_ratio": explaining / slicing,
        "explaining_ratio_limit": LIMIT_RATIO,
        "peak_growth_mb": (_peak_bytes() - started_with) / 1e6,
        "peak_growth_mb_limit": LIMIT_BYTES / 1e6,
    }


def _timed(works: Sequence[Callable[[Path], int]], log: Path) -> list[tuple[float, int]]:
    """Processor seconds and result of each, the best of several rounds.

    They take turns, so that what else the machine does meets all of them; the first round also pays for new
    code and memory.
    """
    rounds = [[_once(work, log) for work in works] for _ in range(_ROUNDS)]
    return [min(runs) for runs in zip(*rounds, strict=True)]


def _once(work: Callable[[Path], int], log: Path) -> tuple[float, int]:
    gc.collect()
    started = time.process_time()
    found = work(log)
    return time.process_time() - started, found


def _slice_all(log: Path) -> int:
    decoder = msgspec.json.Decoder(_Sliced)
    sliced: _Sliced | None = None
    with log.open("rb", buffering=_BUFFER) as lines:
        for line in lines:
            sliced = _slice_and_compare(line, sliced, decoder)
    return 0


def _compare_all(log: Path) -> int:
    """The prefix core alone: read, place, compare."""
    lineages = Lineages()
    breaks = 0
    with log.open("rb", buffering=_BUFFER) as lines:
        for line in lines:
            request = read_request(line)
            parent = lineages.place(request).parent
            breaks += parent is not None and not compare(parent, request).stable
    return breaks


def _explain_all(log: Path) -> int:
    """What ``coldturn explain`` does with the file."""
    return len(explain(read_exchanges(log)).breaks)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
