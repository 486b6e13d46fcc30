"""What the observer writes on each span."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from coldturn.reference.observer import ToolCallInfo, ToolOutcomeInfo
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens
from coldturn.reference.wire.model import CacheDiagnosis, Usage
from coldturn.traces import names
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import SpanRow, read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import MODEL, REMINDER_GONE, FakeClock, FakeRun, body, server, turn_info


def chats(spans: list[SpanRow]) -> list[SpanRow]:
    return [span for span in spans if span.attributes.get(names.OPERATION) == "chat"]


@pytest.mark.requirement("SPAN-1")
def test_the_tree_is_turns_with_steps_calls_and_refreshes(told: list[SpanRow]) -> None:
    by_id = {span.span_id: span for span in told}

    def above(span: SpanRow) -> str:
        return by_id[span.parent_id].name if span.parent_id else "-"

    assert [(above(span), span.name, span.kind) for span in told] == [
        ("-", "tools/list", "INTERNAL"),
        ("invoke_agent reviewer", f"chat {MODEL}", "CLIENT"),
        ("invoke_agent reviewer", "execute_tool files__read", "INTERNAL"),
        ("invoke_agent reviewer", "execute_tool files__read", "INTERNAL"),
        ("invoke_agent reviewer", f"chat {MODEL}", "CLIENT"),
        ("-", "invoke_agent reviewer", "INTERNAL"),
        ("invoke_agent reviewer", "tools/list", "INTERNAL"),
        ("invoke_agent reviewer", f"chat {MODEL}", "CLIENT"),
        ("invoke_agent reviewer", "execute_tool files__read", "INTERNAL"),
        ("-", "invoke_agent reviewer", "INTERNAL"),
        ("invoke_agent reviewer", f"chat {MODEL}", "CLIENT"),
        ("invoke_agent reviewer", f"chat {MODEL}", "CLIENT"),
        ("-", "invoke_agent reviewer", "INTERNAL"),
    ]
    assert {span.scope for span in told} == {"coldturn"}
    assert len({span.trace_id for span in told}) == 4
    assert len(by_id) == len(told)


@pytest.mark.requirement("SPAN-1")
def test_a_chat_span_says_who_it_is_and_what_was_sent(
    observer: SpanObserver, clock: FakeClock, trace_path: Path
) -> None:
    with observer.turn(turn_info(4)):
        info = FakeRun(observer, clock).step(4, 2, body("10:00", ["hi"]))
    span, _ = read_spans(trace_path)
    ledger = info.ledger
    segments = ledger.segments
    assert span.attributes == {
        "coldturn.schema.version": 1,
        "gen_ai.operation.name": "chat",
        "coldturn.step.index": 2,
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": MODEL,
        "coldturn.cache.scope": f"anthropic/{MODEL}",
        "coldturn.wire.format": "messages",
        "coldturn.wire.bytes": len(info.body),
        "coldturn.wire.hash": ledger.wire_hash,
        "coldturn.hash.algorithm": "xxh3-128",
        "coldturn.request.params_hash": ledger.settings_hash,
        "coldturn.replay.cassette": "fake.yaml",
        "coldturn.replay.policy": "stable",
        "coldturn.run.id": "run-1",
        "gen_ai.conversation.id": "run-1",
        "coldturn.turn.index": 4,
        "coldturn.zone.names": ("tools", "system", "tail", "history", "transient"),
        "coldturn.zone.bytes": tuple(zone.bytes for zone in ledger.zones),
        "coldturn.zone.segment_counts": tuple(zone.segment_count for zone in ledger.zones),
        "coldturn.zone.hashes": tuple(zone.hash for zone in ledger.zones),
        "coldturn.zone.prefix_hashes": tuple(zone.prefix_hash for zone in ledger.zones),
        "coldturn.segment.count": len(segments),
        "coldturn.segment.hashes": "".join(segment.digest.hex()[:16] for segment in segments),
        "coldturn.segment.bytes": ",".join(str(segment.bytes) for segment in segments),
        "coldturn.segment.zones": f"tools:3,system:{ledger.zones[1].segment_count},history:1",
        "coldturn.segment.definitions": span.attributes["coldturn.segment.definitions"],
        "coldturn.cache.mode": "explicit",
        "coldturn.cache.ttl": ("1h",),
        "coldturn.cache.breakpoint_segments": (3 + ledger.zones[1].segment_count,),
        "coldturn.elision.count": 0,
        "coldturn.elision.original_bytes": 0,
        "coldturn.elision.sent_bytes": 0,
        "gen_ai.response.id": "msg_4_2",
        "gen_ai.response.model": MODEL,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    assert all(len(digest) == 32 for digest in (*span.attributes["coldturn.zone.hashes"], ledger.wire_hash))  # type: ignore[misc] # a tuple of texts, as above
    rows = msgspec.json.decode(str(span.attributes["coldturn.segment.definitions"]))
    assert rows == [[s.digest.hex()[:16], s.key, s.kind, s.zone] for s in segments]


@pytest.mark.requirement("SPAN-1")
def test_the_first_step_of_a_turn_is_compared_with_the_last_of_the_turn_before(told: list[SpanRow]) -> None:
    first, second, third, *_ = chats(told)
    assert first.links == ()
    assert not [name for name in first.attributes if name.startswith("coldturn.prefix.")]
    for span, base, turn, age in ((second, first, 0, 3_000), (third, second, 0, 32_000)):
        assert [(link.trace_id, link.span_id) for link in span.links] == [(base.trace_id, base.span_id)]
        assert span.attributes["coldturn.prefix.base.span_id"] == base.span_id
        assert span.attributes["coldturn.prefix.base.trace_id"] == base.trace_id
        assert span.attributes["coldturn.prefix.base.turn_index"] == turn
        assert span.attributes["coldturn.prefix.base.age_ms"] == age == (span.start - base.start) / 1e6


def prefix(span: SpanRow, below: str = "") -> dict[str, object]:
    start = f"coldturn.prefix.{below}"
    return {
        name.removeprefix(start): value
        for name, value in span.attributes.items()
        if name.startswith(start) and not name.startswith("coldturn.prefix.base")
    }


def test_a_break_is_described_where_the_prefix_is_not_stable(told: list[SpanRow]) -> None:
    _, stable, broken, planned, harmless = chats(told)
    assert set(prefix(stable)) == {"common_bytes", "stable"}
    assert stable.attributes["coldturn.prefix.stable"] is True
    common = broken.attributes["coldturn.prefix.common_bytes"]
    assert broken.attributes["coldturn.prefix.stable"] is False
    assert prefix(broken, "break.") == {
        "offset": common,
        "zone": "system",
        "segment": "system[0]",
        "path": "$.system[0]",
        "block_offset": 12,
        "section": "## Time",
        "cause": "clock_in_prefix",
        "confidence": "observed",
        "planned": False,
        "lost_bytes": 900,
        "delta_bytes": 0,
        "later_causes": ("history_rewritten",),
    }
    assert prefix(planned, "break.")["planned"] is True
    assert "later_causes" not in prefix(planned, "break.")
    assert prefix(harmless) == {
        "common_bytes": harmless.attributes["coldturn.prefix.common_bytes"],
        "stable": True,
        "harmless_cause": REMINDER_GONE.cause,
    }


@pytest.mark.requirement("SPAN-1")
def test_a_turn_sums_up_its_steps_and_lists_its_servers(told: list[SpanRow]) -> None:
    turns = [span for span in told if span.name.startswith("invoke_agent")]
    steps = chats(told)
    assert [
        (t.attributes["coldturn.turn.step_count"], t.attributes["coldturn.turn.breaks_planned"],
         t.attributes["coldturn.turn.breaks_unplanned"]) for t in turns
    ] == [(2, 0, 0), (1, 0, 1), (2, 1, 0)]  # fmt: skip
    hashes = [step.attributes["coldturn.zone.prefix_hashes"] for step in steps]
    assert [t.attributes["coldturn.turn.first_prefix_hashes"] for t in turns] == [
        hashes[0],
        hashes[2],
        hashes[3],
    ]
    assert [t.attributes["coldturn.turn.last_prefix_hashes"] for t in turns] == [
        hashes[1],
        hashes[2],
        hashes[4],
    ]
    state = server()
    for name, field in (
        ("names", "name"), ("catalog_versions", "catalog_version"), ("catalog_hashes", "catalog_hash"),
        ("tool_counts", "tool_count"), ("tiers", "tier"), ("preloads", "preload"), ("states", "state"),
        ("prompt_bytes", "prompt_bytes"),
    ):  # fmt: skip
        assert turns[0].attributes[f"coldturn.server.{name}"] == (getattr(state, field),)


def test_tool_calls_and_refreshes_carry_their_outcome(told: list[SpanRow]) -> None:
    good, failed, refused = (span for span in told if span.name.startswith("execute_tool"))
    assert good.attributes == {
        "coldturn.schema.version": 1,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "files__read",
        "gen_ai.tool.call.id": "call_0001",
        "gen_ai.tool.type": "function",
        "coldturn.tool.route": "direct",
        "coldturn.server.name": "files",
        "coldturn.tool.name": "read",
        "coldturn.catalog.version": 1,
        "coldturn.run.id": "run-1",
        "coldturn.turn.index": 0,
        "mcp.method.name": "tools/call",
        "coldturn.tool.result.bytes": 100,
        "coldturn.tool.result.tokens_estimated": 25,
        "coldturn.tool.result.hash": "ab" * 16,
        "coldturn.tool.result.handle": "h-call_0001",
        "coldturn.tool.result.elided": False,
    }
    assert (good.error, failed.error, refused.error) == (None, "", "")
    assert failed.attributes["error.type"] == "tool_error"
    assert refused.attributes["error.type"] == refused.attributes["coldturn.tool.refusal"] == "unknown_tool"
    assert "mcp.method.name" not in refused.attributes
    outside, inside = (span for span in told if span.name == "tools/list")
    assert outside.attributes == {
        "coldturn.schema.version": 1,
        "mcp.method.name": "tools/list",
        "coldturn.server.name": "files",
        "coldturn.catalog.trigger": "connect",
        "coldturn.catalog.version": 1,
        "coldturn.catalog.previous_version": 0,
        "coldturn.catalog.hash": "cd" * 16,
        "coldturn.catalog.tool_count": 3,
        "coldturn.catalog.added": ("read",),
    }
    assert inside.attributes["coldturn.turn.index"] == 1


@pytest.mark.parametrize(
    ("name", "route", "tool", "method"),
    [
        ("mcp_call_tool", "meta", "read", "tools/call"),
        ("mcp_describe_tool", "meta", "read", None),
        ("mcp_list_tools", "meta", None, None),
        ("mcp_use_tool", "search", "read", "tools/call"),
        ("mcp_search_tools", "search", None, None),
        ("files", "facade", "read", "tools/call"),
        ("read_tool_output", "local", None, None),
    ],
)
def test_only_calls_that_reach_a_server_name_its_method(
    observer: SpanObserver, trace_path: Path, name: str, route: str, tool: str | None, method: str | None
) -> None:
    server_id = None if route == "local" else "files"
    with observer.tool(ToolCallInfo("c", name, route, server_id, tool, None)) as scope:
        scope.finish(ToolOutcomeInfo(1, EstimatedTokens(1), "0" * 32, "h", is_error=False, refusal=None))
    (span,) = read_spans(trace_path)
    assert span.attributes.get("mcp.method.name") == method


def reply_with(observer: SpanObserver, clock: FakeClock, usage: Usage | None) -> None:
    FakeRun(observer, clock).step(0, 0, body("10:00", ["hi"]), usage=usage)


def test_reported_zero_is_written_and_absent_stays_absent(
    observer: SpanObserver, clock: FakeClock, trace_path: Path
) -> None:
    reply_with(
        observer,
        clock,
        Usage(input_tokens=ReportedTokens(7), cache_read_tokens=ReportedTokens(0), raw='{"x":1}'),
    )
    reply_with(observer, clock, None)
    told, untold = read_spans(trace_path)
    usage = {name: value for name, value in told.attributes.items() if "usage" in name}
    assert usage == {
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "coldturn.usage.raw": '{"x":1}',
    }
    assert not [name for name in untold.attributes if "usage" in name]


def test_the_former_name_of_cache_writes_is_written_when_asked_for(
    trace_path: Path, clock: FakeClock
) -> None:
    observer = SpanObserver(SpanFile(trace_path), clock=clock, recording="r", compat_names=True)
    reply_with(observer, clock, Usage(cache_write_tokens=ReportedTokens(3)))
    (span,) = read_spans(trace_path)
    assert span.attributes["gen_ai.usage.cache_write.input_tokens"] == 3
    assert span.attributes["gen_ai.usage.cache_creation.input_tokens"] == 3


def test_what_the_provider_says_of_its_cache_is_written_as_far_as_it_goes(
    observer: SpanObserver, clock: FakeClock, trace_path: Path
) -> None:
    run = FakeRun(observer, clock)
    miss = CacheDiagnosis("anthropic", "cache_miss", "tools_changed", ReportedTokens(0))
    run.step(0, 0, body("10:00", ["hi"]), diagnosis=miss)
    run.step(0, 1, body("10:00", ["hi"]))
    told, untold = read_spans(trace_path)
    assert {name: value for name, value in told.attributes.items() if "diagnosis" in name} == {
        "coldturn.cache.diagnosis.source": "anthropic",
        "coldturn.cache.diagnosis.type": "cache_miss",
        "coldturn.cache.diagnosis.reason": "tools_changed",
        "coldturn.cache.diagnosis.missed_tokens": 0,
    }
    assert not [name for name in untold.attributes if "diagnosis" in name]


def test_definitions_are_given_once_a_file_and_again_in_the_next(tmp_path: Path, clock: FakeClock) -> None:
    sizes: set[int] = set()

    def definitions(file: Path) -> list[int]:
        observer = SpanObserver(SpanFile(file), clock=clock, recording="r")
        run = FakeRun(observer, clock)
        for step, text in enumerate(("a", "a", "b")):
            sizes.add(len(run.step(0, step, body("10:00", [text])).ledger.segments))
        found = [span.attributes.get(names.SEGMENT_DEFINITIONS, "[]") for span in read_spans(file)]
        return [len(msgspec.json.decode(str(text))) for text in found]

    assert definitions(tmp_path / "1.jsonl") == definitions(tmp_path / "2.jsonl") == [*sizes, 0, 1]


def test_no_estimate_but_that_of_a_result_is_on_any_span(told: list[SpanRow]) -> None:
    estimated = {
        name
        for span in told
        for name in span.attributes
        if "estimate" in name or "rate" in name.split(".")[-1]
    }
    assert estimated == {"coldturn.tool.result.tokens_estimated"}


def test_every_attribute_written_is_in_the_schema_with_its_type(told: list[SpanRow]) -> None:
    known = {str(value): value for value in vars(names).values() if isinstance(value, names.Attribute)}
    python = {"string": str, "int": int, "bool": bool}
    for span in told:
        for name, value in span.attributes.items():
            kind = known[name].type
            values = value if isinstance(value, tuple) else (value,)
            assert isinstance(value, tuple) == kind.endswith("[]"), name
            assert all(type(one) is python[kind.removesuffix("[]")] for one in values), name
