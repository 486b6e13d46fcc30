"""Sessions of pi: trees of messages, in the format of the API that each call names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.wire import decode_reply
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord

HEADER = {"type": "session", "id": "s1", "cwd": "/w", "provider": "anthropic", "modelId": "claude-sonnet-4-5"}
COUNTS = {"input": 3, "output": 40, "cacheRead": 1_000, "cacheWrite": 200}


def row(message: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "message": message, **more}


def asked(text: str, **more: object) -> dict[str, Any]:
    return row({"role": "user", "content": [{"type": "text", "text": text}]}, **more)


def said(
    *blocks: dict[str, Any], api: str = "anthropic-messages", stop: str = "stop", **more: object
) -> dict[str, Any]:
    told = {"api": api, "provider": "x", "model": "m1", "usage": COUNTS, "stopReason": stop}
    return row({"role": "assistant", "content": list(blocks), "timestamp": 1_767_225_600_500, **told}, **more)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(name: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": "read", "arguments": {"path": "/p"}}


def result(name: str, **more: object) -> dict[str, Any]:
    return row({"role": "toolResult", "toolCallId": name, "content": [text(f"of {name}")]}, **more)


def content_of(*rows: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in (HEADER, *rows)) + b"\n"


def read(*rows: dict[str, Any]) -> list[Exchange]:
    return [one for one in read_records(content_of(*rows), name="p.jsonl") if isinstance(one, Exchange)]


def body(one: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one.request_body)
    return found


@pytest.mark.parametrize(
    ("api", "surface"),
    [
        ("anthropic-messages", Surface.MESSAGES),
        ("openai-responses", Surface.RESPONSES),
        ("openai-completions", Surface.CHAT_COMPLETIONS),
    ],
)
def test_a_session_that_goes_on_breaks_nothing_on_any_surface(api: str, surface: Surface) -> None:
    found = read(
        asked("begin"), said(text("reading"), call("c1"), call("c2"), api=api), result("c1"), result("c2"),
        said(text("ready"), api=api), asked("more"), said(text("end"), api=api),
    )  # fmt: skip
    report = explain(found)
    assert [(one.surface, one.requests) for one in report.lineages] == [(surface, 3)]
    assert list(report.breaks) == []
    for one in found:
        assert one.response_body is not None
        usage = decode_reply(surface, one.response_body).usage
        assert usage is not None
        assert (usage.input_tokens, usage.cache_read_tokens) == (1_203, 1_000)
        assert one.parts_missing == {Zone.TOOLS, Zone.SYSTEM}


def test_neighbouring_results_are_one_message_of_anthropic() -> None:
    last = read(asked("q"), said(call("c1"), call("c2")), result("c1"), result("c2"), said(text("a")))[1]
    assert [one["role"] for one in body(last)["messages"]] == ["user", "assistant", "user"]
    assert [one["tool_use_id"] for one in body(last)["messages"][2]["content"]] == ["c1", "c2"]


def test_a_call_starts_when_pi_says() -> None:
    assert read(asked("q"), said(text("a")))[0].started == 1_767_225_600.5


def test_over_an_api_that_is_not_written_the_numbers_are_kept() -> None:
    (only,) = read_records(content_of(asked("q"), said(text("a"), api="google-generative-ai")), name="p")
    assert isinstance(only, UsageRecord)
    assert (only.input_tokens, only.cached_tokens, only.written_tokens) == (1_203, 1_000, 200)


def test_a_line_goes_on_from_the_one_that_it_names() -> None:
    found = read(
        asked("q", id="1"), said(text("a"), id="2", parentId="1"), asked("left", id="3", parentId="2"),
        said(text("l"), id="4", parentId="3"), asked("right", id="5", parentId="2"),
        said(text("r"), id="6", parentId="5"),
    )  # fmt: skip
    texts = [one["content"][0]["text"] for one in body(found[2])["messages"]]
    assert texts == ["q", "a", "right"]


def test_behind_a_summary_stands_what_it_kept() -> None:
    found = read(
        asked("q", id="1"), said(text("a"), id="2", parentId="1"), asked("kept", id="3", parentId="2"),
        said(text("b"), id="4", parentId="3"),
        {"type": "compaction", "id": "5", "parentId": "4", "summary": "so far", "firstKeptEntryId": "3"},
        asked("on", id="6", parentId="5"), said(text("c"), id="7", parentId="6"),
    )  # fmt: skip
    texts = [block["text"] for one in body(found[2])["messages"] for block in one["content"]]
    assert texts == ["so far", "kept", "b", "on"]
    assert [one.compacted_from for one in found] == [None, None, found[1].entry]
    assert [(one.cause, one.planned, one.parent) for one in explain(found).breaks] == [
        ("compaction", True, 1)
    ]


def test_only_the_first_call_behind_a_compaction_goes_on_from_one_before_it() -> None:
    found = read(
        asked("q", id="1"), said(text("a"), id="2", parentId="1"),
        {"type": "compaction", "id": "5", "parentId": "2", "summary": "so far"},
        asked("on", id="6", parentId="5"), said(text("c"), id="7", parentId="6"),
        asked("and", id="8", parentId="7"), said(text("d"), id="9", parentId="8"),
    )  # fmt: skip
    assert [one.compacted_from for one in found] == [None, found[0].entry, None]


def test_an_answer_that_was_broken_off_is_not_sent_back_and_counts_when_it_was_billed() -> None:
    stopped = said(text("half"), stop="aborted")
    nothing = said(stop="aborted")
    nothing["message"]["usage"] = dict.fromkeys(COUNTS, 0)
    found = read(asked("q"), stopped, nothing, asked("again"), said(text("a")))
    assert len(found) == 2
    assert "half" not in found[1].request_body.decode()


def test_a_line_without_its_message_is_an_error() -> None:
    error, found = read_records(content_of({"type": "message"}, asked("q"), said(text("a"))), name="p")
    assert isinstance(error, EntryError)
    assert "line 2" in error.message
    assert isinstance(found, Exchange)


def test_the_published_session_adds_up(corpus: Path) -> None:
    report = explain(
        one
        for one in read_records(corpus / "sessions/pi/large-session.jsonl")
        if not isinstance(one, UsageRecord)
    )
    (lineage,) = report.lineages
    assert lineage.requests == 439
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (47_526_750, 43_229_469)
    # Its messages were only appended to. Where little was read all the same, times or the unseen tell why.
    found = Counter((one.cause, one.path) for one in report.breaks)
    assert found == {("ttl_expired", None): 4, ("unknown", None): 33}
    assert all("does not hold" in (one.evidence or "") for one in report.breaks if one.cause == "unknown")
    assert report.errors == []
