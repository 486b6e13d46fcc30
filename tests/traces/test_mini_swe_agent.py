"""Trajectories of mini-swe-agent: every answer with the messages that stood in front of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.wire import decode_reply
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64}


def said(number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"step {number}"}
    response = {
        "id": f"r{number}",
        "created": 1_767_225_600 + number,
        "model": "deepseek-chat",
        "usage": USAGE,
    }
    answer = {**response, "choices": [{"index": 0, "message": message}]}
    return {**message, "extra": {"response": answer, "cost": 0.1}}


def trajectory(*messages: object) -> bytes:
    return json.dumps({"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}).encode()


RUN = (
    {"role": "system", "content": "You have a shell."},
    {"role": "user", "content": "Mend it."},
    said(0),
    {"role": "tool", "content": "output", "tool_call_id": "c1", "extra": {"returncode": 0}},
    said(1),
    {"role": "exit", "content": "", "extra": {}},
)


def test_a_call_holds_the_messages_in_front_of_it_without_the_agents_notes() -> None:
    first, second = read_exchanges(trajectory(*RUN), name="t.traj.json")
    assert isinstance(first, Exchange)
    assert isinstance(second, Exchange)
    assert json.loads(first.request_body)["messages"] == list(RUN[:2])
    roles = [one["role"] for one in json.loads(second.request_body)["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert b"extra" not in second.request_body
    assert second.started == 1_767_225_601
    assert second.parts_missing == {Zone.TOOLS}


def test_an_answer_that_was_rejected_is_a_call() -> None:
    extra = {**said(2)["extra"], "interrupt_type": "FormatError"}
    rejected = {"role": "user", "content": "No tool call.", "extra": extra}
    calls = list(read_exchanges(trajectory(*RUN[:-1], rejected, said(3)), name="t.traj.json"))
    bodies = [json.loads(one.request_body)["messages"] for one in calls if isinstance(one, Exchange)]
    assert [len(one) for one in bodies] == [2, 4, 5, 6]
    assert bodies[3][-1] == {"role": "user", "content": "No tool call."}


def test_a_message_that_is_none_is_an_error_of_its_own() -> None:
    found = list(read_exchanges(trajectory(*RUN[:2], 7, said(0)), name="t"))
    assert [type(one) for one in found] == [EntryError, Exchange]


def test_a_document_that_is_cut_off_is_told_with_the_calls_in_front_of_it() -> None:
    found = read_exchanges(trajectory(*RUN)[:-40], name="t")
    assert [type(next(found)) for _ in range(2)] == [Exchange, Exchange]
    with pytest.raises(UnreadableJsonError, match="cut off"):
        next(found)


def test_published_runs_report_what_their_table_says(corpus: Path) -> None:
    with (corpus / "sessions/mini-swe-agent_truth.tsv").open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    told: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        name = "_".join(row["path"].split("/")[1:2]) + "__" + row["path"].rpartition("/")[2]
        told.setdefault(name, []).append((int(row["prompt_tokens"]), int(row["cached_tokens"])))
    checked = 0
    for file in sorted((corpus / "sessions/mini-swe-agent").glob("*.traj.json")):
        exchanges = [one for one in read_exchanges(file) if isinstance(one, Exchange)]
        usages = [
            decode_reply(Surface.CHAT_COMPLETIONS, one.response_body or b"", "application/json").usage
            for one in exchanges
        ]
        counts = [(one.input_tokens, one.cache_read_tokens) for one in usages if one is not None]
        if file.name in told:
            assert counts == told[file.name]
            checked += 1
        report = explain(exchanges)
        assert len(report.lineages) == 1
        assert [one for one in report.breaks if one.path is not None] == []
    assert checked >= 5
