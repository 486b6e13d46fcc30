"""Exchanges to findings, in the published shape."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges

SYSTEM = "You are careful.\n\n## Tools\n- read: reads a file\n\n## Rules\n" + "Be brief. " * 60


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": name * 9, "parameters": parameters}}


def chat(
    *users: str, system: str = SYSTEM, tools: Iterable[str] = ("read", "write"), model: str = "m"
) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": user} for user in users)]
    return {"model": model, "messages": messages, "tools": [tool(name) for name in tools]}


def jsonl(*values: object) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values) + b"\n"


def reported(*values: object, options: PairOptions | None = None) -> dict[str, Any]:
    return explain(read_exchanges(jsonl(*values), name="in"), options).as_json()


def findings(*values: object) -> list[Finding]:
    return explain(read_exchanges(jsonl(*values), name="in")).breaks


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 5,
    "total_tokens": 105,
    "prompt_tokens_details": {"cached_tokens": 64},
}


def answer(text: str = "a") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE}


def test_a_growing_conversation_has_no_break() -> None:
    report = reported(chat("a"), chat("a", "b"), chat("a", "b", "c"))
    (lineage,) = report["lineages"]
    assert lineage["breaks"] == []
    assert lineage["requests"] == 3
    assert report["errors"] == []


def test_every_key_of_the_published_shape_is_there() -> None:
    report = reported(chat("a"), chat("a", "b", system=SYSTEM.replace("careful", "careless")))
    assert set(report) == {"schema", "lineages", "causes", "errors"}
    assert report["schema"] == "coldturn.explain/1"
    (lineage,) = report["lineages"]
    assert set(lineage) == {
        *("id", "source", "provider", "surface", "model", "fidelity", "requests", "breaks", "tokens"),
        *("settings_changed", "verdicts", "rules", "rules_elsewhere", "older", "vendor_only"),
    }
    assert set(lineage["tokens"]) == {
        *("input_reported", "read_reported", "input_estimated", "read_estimated", "ceiling_estimated"),
    }
    (found,) = lineage["breaks"]
    assert set(found) == {
        *("source", "request", "entry", "parent", "turn", "zone", "segment", "path", "side", "section"),
        *("offset", "block_offset", "wire_offset", "cause", "confidence", "planned", "verdict", "lost_bytes"),
        *("lost_tokens_estimated", "delta_bytes", "names", "kinds", "before", "was", "now", "later"),
        *("remedy", "vendor", "alongside", "evidence", "rules", "tiers_lost", "readable_estimated"),
        *("was_changed", "now_changed"),
        *("read_estimated", "read_reported", "reasoning_invalidated", "cost_amount_estimated", "currency"),
        *("anchor", "aliases"),
    }
    assert (found["request"], found["entry"], found["parent"], found["turn"]) == (1, 1, 0, None)
    assert found["vendor"] is None
    assert lineage["tokens"]["ceiling_estimated"] is None


def test_a_system_edit_is_placed_exactly() -> None:
    newer = chat("a", "b", system=SYSTEM.replace("careful", "careless"))
    (found,) = findings(chat("a"), newer)
    assert found.zone.value == "system"
    assert found.path == "$.messages[0]"
    assert found.block_offset == SYSTEM.index("ful")
    assert found.wire_offset == json.dumps(newer).index("careless") + len("care")
    assert (found.was or "")[:3] == "ful"
    assert (found.now or "")[:4] == "less"
    assert found.before is not None
    assert found.before.endswith("You are care")
    assert found.verdict is Verdict.BROKEN
    assert found.remedy
    assert found.lost_tokens_estimated == -(-found.lost_bytes // 4)


def test_requests_are_numbered_by_model_requests_and_entries_by_the_file() -> None:
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    (found,) = findings(rpc, chat("a"), rpc, {"pages": []}, chat("a", "b", tools=("read", "write", "grep")))
    assert (found.request, found.parent, found.entry) == (1, 0, 4)
    assert found.cause == "tool_added"
    assert found.names == ("grep",)


def test_two_conversations_that_interleave_are_told_apart() -> None:
    other = "Quite another agent. " * 80
    report = reported(
        chat("a"),
        chat("x", system=other, tools=("search",)),
        chat("a", "b"),
        chat("x", "y", system=other, tools=("search",)),
    )
    assert [lineage["requests"] for lineage in report["lineages"]] == [2, 2]
    assert [lineage["breaks"] for lineage in report["lineages"]] == [[], []]


def test_sources_never_share_a_parent() -> None:
    first = list(read_exchanges(jsonl(chat("a")), name="one"))
    second = list(read_exchanges(jsonl(chat("a", "b")), name="two"))
    report = explain([*first, *second])
    assert [(lineage.source, lineage.requests) for lineage in report.lineages] == [("one", 1), ("two", 1)]


def test_reported_tokens_are_summed_and_estimates_stand_beside_them() -> None:
    wrapped = [
        {"request": chat("a"), "response": answer()},
        {"request": chat("a", "b"), "response": answer()},
        {"request": chat("a", "b", "c"), "response": None},
    ]
    (lineage,) = reported(*wrapped)["lineages"]
    assert lineage["tokens"]["input_reported"] == 200
    assert lineage["tokens"]["read_reported"] == 128
    assert lineage["tokens"]["input_estimated"] > 0


def test_nothing_reported_is_null_and_not_zero() -> None:
    (lineage,) = reported(chat("a"))["lineages"]
    assert lineage["tokens"]["input_reported"] is None
    assert lineage["tokens"]["read_reported"] is None


def test_an_error_answer_says_nothing_of_usage() -> None:
    failed = {"request": chat("a"), "response": {"error": {"type": "rate_limit", "message": "slow down"}}}
    (lineage,) = reported(failed)["lineages"]
    assert lineage["requests"] == 1
    assert lineage["tokens"]["input_reported"] is None


SECRET = "Zanzibar"


def test_without_content_no_prompt_text_is_left() -> None:
    older = chat("a", system=SYSTEM + SECRET + " one")
    newer = chat("a", "b", system=SYSTEM + SECRET + " two")
    with_content = json.dumps(reported(older, newer))
    without = reported(older, newer, options=PairOptions(content=False))
    assert SECRET in with_content
    assert SECRET not in json.dumps(without)
    (found,) = without["lineages"][0]["breaks"]
    assert (found["before"], found["was"], found["now"]) == (None, None, None)
    assert found["cause"]


def test_without_content_errors_repeat_nothing_of_a_damaged_body() -> None:
    content = b'{"model": "m" "Zanzibar"}\n' + jsonl(chat("a"))
    shown = explain(read_exchanges(content, name="in")).errors[0].message
    hidden = explain(read_exchanges(content, name="in"), PairOptions(content=False)).errors[0].message
    assert SECRET in shown
    assert SECRET not in hidden
    assert "line 1" in hidden


def test_more_context_shows_more_of_the_same_text() -> None:
    older, newer = chat("a", system=SYSTEM), chat("a", system=SYSTEM.replace("careful", "careless"))
    (narrow,) = explain(read_exchanges(jsonl(older, newer), name="in")).breaks
    (wide,) = explain(read_exchanges(jsonl(older, newer), name="in"), PairOptions(context=300)).breaks
    assert narrow.now is not None
    assert wide.now is not None
    assert wide.now.startswith(narrow.now)
    assert len(wide.now) == 300
    (short,) = explain(read_exchanges(jsonl(older, newer), name="in"), PairOptions(context=10)).breaks
    assert short.now == narrow.now[:10]


def lowered(exchanges: Iterable[Exchange | EntryError], fidelity: Fidelity) -> list[Exchange]:
    return [replace(item, fidelity=fidelity) for item in exchanges if isinstance(item, Exchange)]


@pytest.mark.requirement("REC-9")
def test_below_wire_only_texts_have_offsets() -> None:
    text_edit = jsonl(chat("a"), chat("a", "b", system=SYSTEM.replace("careful", "careless")))
    (found,) = explain(lowered(read_exchanges(text_edit, name="in"), Fidelity.CANONICAL)).breaks
    assert found.wire_offset is None
    assert found.block_offset == SYSTEM.index("ful")
    assert found.offset is not None
    added = jsonl(chat("a"), chat("a", "b", tools=("read", "write", "grep")))
    (found,) = explain(lowered(read_exchanges(added, name="in"), Fidelity.CANONICAL)).breaks
    assert found.cause == "tool_added"
    assert (found.offset, found.block_offset, found.wire_offset) == (None, None, None)
    assert found.path == "$.tools[2]"
    (found,) = explain(lowered(read_exchanges(text_edit, name="in"), Fidelity.MESSAGES)).breaks
    assert (found.path, found.offset, found.block_offset) == (None, None, None)


@pytest.mark.requirement("REC-9")
def test_key_order_is_no_cause_where_key_order_was_lost() -> None:
    newer = chat("a", "b")
    function = newer["tools"][0]["function"]
    function["parameters"] = dict(reversed(function["parameters"].items()))
    content = jsonl(chat("a"), newer)
    (found,) = explain(read_exchanges(content, name="in")).breaks
    assert found.cause == "schema_key_order"
    assert explain(lowered(read_exchanges(content, name="in"), Fidelity.CANONICAL)).breaks == []


def test_a_source_without_model_requests_says_what_it_holds() -> None:
    report = reported({"jsonrpc": "2.0", "method": "ping", "id": 1}, {"pages": []})
    (error,) = report["errors"]
    assert error["entry"] is None
    assert "1 MCP message," in error["message"]
    assert "1 other request with the keys pages)" in error["message"]


def test_other_requests_beside_model_requests_are_no_errors() -> None:
    report = reported(chat("a"), {"pages": []})
    assert report["errors"] == []


def test_an_entry_that_cannot_be_read_is_listed() -> None:
    content = jsonl(chat("a")) + b"{nope}\n" + jsonl(chat("a", "b"))
    report = explain(read_exchanges(content, name="in"))
    (error,) = report.errors
    assert (error.source, error.entry) == ("in", 1)
    assert report.requests == 2


def test_counts_that_cannot_be_are_no_counts() -> None:
    """Counts below zero, and reads beyond the input, are taken for not reported, as estimates take them."""
    lines = []
    for usage in (
        {"input_tokens": -5, "cache_read_input_tokens": -100},
        {"input_tokens": 40, "output_tokens": 1},
    ):
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "hello"}],
        }
        reply = {"type": "message", "id": "m", "role": "assistant", "content": [], "usage": usage}
        lines.append(
            json.dumps({"url": "https://api.anthropic.com/v1/messages", "request": body, "response": reply})
        )
    report = explain(read_exchanges("\n".join(lines).encode() + b"\n"))
    tokens = [lineage.tokens for lineage in report.lineages]
    assert sum(one.input_reported or 0 for one in tokens) == 40
    assert all((one.read_reported or 0) >= 0 for one in tokens)
