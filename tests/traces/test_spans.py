"""What the observer writes: the tree, every attribute, ids and times."""

from __future__ import annotations

import contextvars
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from coldturn.reference.observer import RefreshInfo, RefreshOutcome, ToolCallInfo, ToolOutcomeInfo
from coldturn.reference.prefix.model import Break
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import Usage
from coldturn.traces import names
from coldturn.traces.names_page import page
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import SpanRow, read_spans
from coldturn.traces.spans import SpanObserver, TracingDisabledError
from fake_run import MODEL, REMINDER_GONE, FakeClock, FakeRun, body, server, tell, turn_info

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def observer(path: Path, clock: FakeClock) -> SpanObserver:
    return SpanObserver(SpanFile(path), clock=clock, recording="fake.yaml", policy="stable")


@pytest.fixture
def told(observer: SpanObserver, clock: FakeClock, path: Path) -> list[SpanRow]:
    tell(observer, clock)
    observer.close()
    return list(read_spans(path))


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
    observer: SpanObserver, clock: FakeClock, path: Path
) -> None:
    with observer.turn(turn_info(4)):
        info = FakeRun(observer, clock).step(4, 2, body("10:00", ["hi"]))
    span, _ = read_spans(path)
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
    observer: SpanObserver, path: Path, name: str, route: str, tool: str | None, method: str | None
) -> None:
    server_id = None if route == "local" else "files"
    with observer.tool(ToolCallInfo("c", name, route, server_id, tool, None)) as scope:
        scope.finish(ToolOutcomeInfo(1, EstimatedTokens(1), "0" * 32, "h", is_error=False, refusal=None))
    (span,) = read_spans(path)
    assert span.attributes.get("mcp.method.name") == method


def reply_with(observer: SpanObserver, clock: FakeClock, usage: Usage | None) -> None:
    FakeRun(observer, clock).step(0, 0, body("10:00", ["hi"]), usage=usage)


def test_reported_zero_is_written_and_absent_stays_absent(
    observer: SpanObserver, clock: FakeClock, path: Path
) -> None:
    reply_with(observer, clock, Usage(input_tokens=7, cache_read_tokens=0, raw='{"x":1}'))
    reply_with(observer, clock, None)
    told, untold = read_spans(path)
    usage = {name: value for name, value in told.attributes.items() if "usage" in name}
    assert usage == {
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "coldturn.usage.raw": '{"x":1}',
    }
    assert not [name for name in untold.attributes if "usage" in name]


def test_the_former_name_of_cache_writes_is_written_when_asked_for(path: Path, clock: FakeClock) -> None:
    observer = SpanObserver(SpanFile(path), clock=clock, recording="r", compat_names=True)
    reply_with(observer, clock, Usage(cache_write_tokens=3))
    (span,) = read_spans(path)
    assert span.attributes["gen_ai.usage.cache_write.input_tokens"] == 3
    assert span.attributes["gen_ai.usage.cache_creation.input_tokens"] == 3


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


def test_lone_surrogates_reach_no_exporter(clock: FakeClock) -> None:
    memory = InMemorySpanExporter()
    observer = SpanObserver(SimpleSpanProcessor(memory), clock=clock, recording="r\udcff")
    broken = replace(REMINDER_GONE, harmless=False, path="$.\ud800", section="# \udfff")
    with observer.turn(turn_info(0, "run\ud800")) as turn:
        run = FakeRun(observer, clock)
        run.step(0, 0, body("10:00", ["a"]))
        run.step(0, 1, body("10:00", ["a"]), first=broken)
        turn.finish((), error="no \ud800 luck")
    told = [(s.name, s.status.description, dict(s.attributes or {})) for s in memory.get_finished_spans()]
    assert len(told) == 3
    assert "\\ud" not in repr(told)


@pytest.mark.requirement("SPAN-1", "REP-7")
def test_spans_of_other_libraries_nest_below_ours_and_stay_out_of_the_file(
    observer: SpanObserver, clock: FakeClock, path: Path
) -> None:
    memory = InMemorySpanExporter()
    host = TracerProvider(shutdown_on_exit=False)
    host.add_span_processor(SimpleSpanProcessor(memory))
    sdk = host.get_tracer("mcp-python-sdk")
    with (
        observer.turn(turn_info(0)),
        observer.tool(ToolCallInfo("c", "t", "direct", "s", "t", 1)),
        sdk.start_as_current_span("tools/call t"),
    ):
        pass
    ours = {span.name: span for span in read_spans(path)}
    assert set(ours) == {"execute_tool t", "invoke_agent reviewer"}
    (theirs,) = memory.get_finished_spans()
    assert theirs.parent is not None
    assert f"{theirs.parent.span_id:016x}" == ours["execute_tool t"].span_id


def test_a_live_turn_stands_below_the_hosts_span_and_a_replay_never_does(
    tmp_path: Path, clock: FakeClock
) -> None:
    host = TracerProvider(shutdown_on_exit=False).get_tracer("host")
    for recording, nested in (("", True), ("r", False)):
        file = tmp_path / f"{recording}.jsonl"
        observer = SpanObserver(SpanFile(file), clock=clock, recording=recording)
        with host.start_as_current_span("web request") as web, observer.turn(turn_info(0)):
            pass
        (turn,) = read_spans(file)
        assert (turn.parent_id == f"{web.get_span_context().span_id:016x}") is nested


def test_a_refresh_in_a_task_that_outlived_its_turn_belongs_to_the_open_turn(
    observer: SpanObserver, clock: FakeClock, path: Path
) -> None:
    def refresh() -> None:
        with observer.refresh(RefreshInfo("files", "sweep")):
            pass

    with observer.turn(turn_info(0)):
        task = contextvars.copy_context()
    task.run(refresh)
    with observer.turn(turn_info(1)):
        task.run(refresh)
    _, alone, inside, second = read_spans(path)
    assert alone.parent_id == ""
    assert inside.parent_id == second.span_id


def test_with_two_turns_open_nobody_guesses_whose_refresh_it_is(observer: SpanObserver, path: Path) -> None:
    def refresh() -> None:
        with observer.refresh(RefreshInfo("files", "sweep")):
            pass

    outside = contextvars.copy_context()
    with observer.turn(turn_info(0, "a")), observer.turn(turn_info(0, "b")):
        outside.run(refresh)
    assert next(read_spans(path)).parent_id == ""


def test_what_fails_is_marked_and_the_error_goes_on(observer: SpanObserver, path: Path) -> None:
    with observer.refresh(RefreshInfo("files", "sweep")) as scope:
        scope.finish(RefreshOutcome(1, 1, "0" * 32, 0, (), (), (), error="the server hung up"))
    with observer.turn(turn_info(9)) as other:
        other.finish((), error="invalid_deferred_handle")
    with pytest.raises(KeyError), observer.turn(turn_info(0)):
        raise KeyError("x")
    refresh, other_turn, turn = read_spans(path)
    assert (refresh.error, refresh.attributes["error.type"]) == ("the server hung up", "_OTHER")
    assert other_turn.attributes["error.type"] == "invalid_deferred_handle"
    assert (turn.error, turn.attributes["error.type"]) == ("", "KeyError")


def test_no_limit_of_the_sdk_drops_or_cuts_an_attribute(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    observer = SpanObserver(SpanFile(path), clock=clock, recording="r")
    reply_with(observer, clock, None)
    (span,) = read_spans(path)
    assert span.attributes["gen_ai.operation.name"] == "chat"
    assert len(str(span.attributes["coldturn.segment.hashes"])) > 7 * 16


def test_a_disabled_sdk_is_an_error_and_no_empty_file(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(TracingDisabledError, match="OTEL_SDK_DISABLED is set"):
        SpanObserver(SpanFile(path), clock=clock)


_REPLAY = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from fake_run import FakeClock, tell
from coldturn.traces.otlp import SpanFile
from coldturn.traces.spans import SpanObserver
clock = FakeClock()
with SpanObserver(SpanFile(sys.argv[1]), clock=clock, recording="fake.yaml", policy="p") as observer:
    tell(observer, clock)
    tell(observer, clock)
"""


def test_what_comes_twice_has_ids_of_its_own_and_a_replay_has_them_again(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        clock, path = FakeClock(), tmp_path / name
        with SpanObserver(SpanFile(path), clock=clock, recording="r", policy="p") as observer:
            tell(observer, clock)
            tell(observer, clock)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    ids = [span.span_id for span in read_spans(tmp_path / "a")]
    assert len(set(ids)) == len(ids) == 26
    traces = {span.trace_id for span in read_spans(tmp_path / "a")}
    assert len(traces) == 2 * 4


@pytest.mark.requirement("REP-7")
def test_two_replays_write_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    written = set()
    for seed in ("0", "1", "2718"):
        path = tmp_path / f"{seed}.jsonl"
        env = {"PYTHONHASHSEED": seed, "TZ": f"UTC+{len(seed)}"}
        subprocess.run([sys.executable, "-c", _REPLAY, str(path)], check=True, env=env)  # noqa: S603 # ours
        written.add(path.read_bytes())
    (content,) = written
    assert content.count(b"\n") == 26


def test_live_runs_never_share_ids(tmp_path: Path, clock: FakeClock) -> None:
    for name in ("a", "b"):
        with SpanObserver(SpanFile(tmp_path / name), clock=clock) as observer, observer.turn(turn_info(0)):
            pass
    (a,), (b,) = read_spans(tmp_path / "a"), read_spans(tmp_path / "b")
    assert a.trace_id != b.trace_id
    assert a.span_id != b.span_id


def test_a_run_that_is_killed_keeps_what_had_ended(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    program = _REPLAY.replace("    tell(observer, clock)\n", "", 1).rstrip() + (
        "\n    import os, signal\n"
        "    with observer.turn(__import__('fake_run').turn_info(7)):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)  # noqa: S603 # ours
    assert done.returncode == -9
    reader = read_spans(path)
    assert len(list(reader)) == 13
    assert reader.dropped == 0


def test_the_schema_page_is_current() -> None:
    assert (ROOT / "docs" / "spans.md").read_text(encoding="utf-8") == page(), (
        "run: python -m coldturn.traces.names > docs/spans.md"
    )


def test_the_schema_page_lists_every_attribute_once() -> None:
    lines = page().splitlines()
    for value in vars(names).values():
        if isinstance(value, names.Attribute):
            assert sum(line.startswith(f"| `{value}` | {value.type}") for line in lines) == 1, value


def test_every_field_of_a_break_is_on_the_span_or_left_out_on_purpose() -> None:
    left_out = {
        "side", "wire_offset", "harmless", "names", "kinds", "before", "was", "now", "later", "alongside",
    }  # fmt: skip
    start = "coldturn.prefix.break."
    on_span = {
        str(name).removeprefix(start)
        for name in vars(names).values()
        if isinstance(name, names.Attribute) and name.startswith(start)
    }
    assert {field.name for field in fields(Break)} - left_out == on_span - {"later_causes"}
