"""What ``explain`` costs per request when many look-alike conversations of one agent interleave in a log.

All have the same system prompt and tools, and read the same files; what the model writes differs.
Turns come in random order, some are sent twice, some conversations go back or lose an old result. One of ten
times as many conversations is held beside one of few: what a request costs must not follow their number.

The same is asked of logs in which conversations say nothing of their own (`look_alikes`): by shape, what a
request costs in a log that fills all that is kept of earlier requests, held beside one of a tenth.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import look_alikes
from benchmarks.words import Words
from coldturn.analysis.breaks.explain import explain
from coldturn.traces.readers import read_exchanges

FEW, MANY = 10, 100
TURNS = 50
LIMIT_GROWTH = 2.0
FEW_ALIKE, MANY_ALIKE = 300, 3000
LIMIT_GROWTH_ALIKE = 1.6
LIMIT_GROWTH_POOLED = 2.5
"""Of conversations from one pool: with more of them another one shares most more often, which is a break."""
_TOOLS = 25
_PARAGRAPHS = 60
_CANNED = (
    "The command ran without output.",
    "Your last answer did not call a tool. Please call exactly one of the tools that you were given. " * 3,
    "No such file or directory. Look at the folder's contents first, then try again with a path in it. " * 3,
)
Message = dict[str, Any]


def bodies(conversations: int, turns: int = TURNS, *, seed: int = 11) -> Iterator[bytes]:
    """Request bodies in the order of the log, `turns` of each conversation."""
    words = Words(random.Random(seed))  # noqa: S311 - words of made-up sessions
    tools = [words.tool(number) for number in range(_TOOLS)]
    system = {"role": "system", "content": "\n\n".join(words.text(60) for _ in range(20))}
    paragraphs = [words.text(18) for _ in range(_PARAGRAPHS)]
    talks = [_Conversation(words, paragraphs, number) for number in range(conversations)]
    order = [talk for talk in talks for _ in range(turns)]
    words.random.shuffle(order)
    for talk in order:
        messages = talk.next_turn()
        request = {"model": "gpt-5.4", "messages": [system, *messages], "tools": tools, "temperature": 0.2}
        yield json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


class _Conversation:
    def __init__(self, words: Words, paragraphs: list[str], number: int) -> None:
        self._words = words
        self._paragraphs = paragraphs
        self._messages = [words.message(0, 600), {"role": "user", "content": f"Task {number}."}]
        self._turn = 0

    def next_turn(self) -> list[Message]:
        """The messages of its next request: mostly two more than before."""
        self._turn += 1
        kind = self._words.random.random()
        if self._turn == 1 or kind < 0.03:
            return self._messages
        if kind < 0.05 and len(self._messages) > 12:
            self._messages = self._messages[:-4]
        elif kind < 0.07 and len(self._messages) > 12:
            self._messages = [
                *self._messages[:4],
                {"role": "user", "content": "[removed]"},
                *self._messages[5:],
            ]
        answer = self._words.message(1, 300)
        canned = self._words.random.random() < 0.3
        result = self._words.random.choice(_CANNED) if canned else self._file()
        self._messages = [*self._messages, answer, {"role": "user", "content": result}]
        return self._messages

    def _file(self) -> str:
        """Paragraphs of files that other conversations read too."""
        return "\n\n".join(self._words.random.choices(self._paragraphs, k=8))


def run() -> dict[str, float]:
    """Measure both logs; reading their lines is part of every figure."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few.jsonl", Path(folder) / "many.jsonl"
        for log, conversations in ((few, FEW), (many, MANY)):
            with log.open("wb") as file:
                file.writelines(body + b"\n" for body in bodies(conversations))
        slicing = _slicing_seconds(many) / (MANY * TURNS)
        explained_few = _explaining_seconds(few) / (FEW * TURNS)
        explained_many = _explaining_seconds(many) / (MANY * TURNS)
        size = many.stat().st_size
        alike = _look_alikes(Path(folder))
    return {
        "requests": MANY * TURNS,
        "mean_body_bytes": size / (MANY * TURNS) - 1,
        "slicing_us_per_request": slicing * 1e6,
        "few_us_per_request": explained_few * 1e6,
        "many_us_per_request": explained_many * 1e6,
        "growth_per_request": explained_many / explained_few,
        "growth_per_request_limit": LIMIT_GROWTH,
        "explaining_ratio": explained_many / slicing,
        **alike,
    }


def _look_alikes(folder: Path) -> dict[str, float]:
    figures = {}
    for shape in look_alikes.SHAPES:
        name = shape.__name__
        costs = []
        # The first run pays once for what it loads, and does not count.
        for requests in (FEW_ALIKE, FEW_ALIKE, MANY_ALIKE):
            log = folder / f"{name}-{requests}.jsonl"
            with log.open("wb") as file:
                file.writelines(body + b"\n" for body in look_alikes.bodies(shape, requests))
            costs.append(_explaining_seconds(log) / requests)
        _, few, many = costs
        figures[f"{name}_us_per_request"] = many * 1e6
        figures[f"{name}_growth"] = many / few
        limit = LIMIT_GROWTH_POOLED if shape is look_alikes.pooled else LIMIT_GROWTH_ALIKE
        figures[f"{name}_growth_limit"] = limit
    return figures


class _Sliced(msgspec.Struct):
    messages: list[msgspec.Raw]
    tools: list[msgspec.Raw]


def _slicing_seconds(log: Path) -> float:
    """Only slicing each body and comparing it with its own conversation's last one."""
    decoder = msgspec.json.Decoder(_Sliced)
    before: dict[bytes, _Sliced] = {}
    started = time.process_time()
    with log.open("rb") as lines:
        for line in lines:
            sliced = decoder.decode(line)
            task = bytes(sliced.messages[2])
            last = before.get(task)
            if last is not None:
                _common(last.tools, sliced.tools)
                _common(last.messages, sliced.messages)
            before[task] = sliced
    return time.process_time() - started


def _common(was: list[msgspec.Raw], now: list[msgspec.Raw]) -> int:
    pairs = zip(was, now, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(was), len(now)))


def _explaining_seconds(log: Path) -> float:
    """What ``coldturn explain`` does with the file."""
    started = time.process_time()
    explain(read_exchanges(log))
    return time.process_time() - started
