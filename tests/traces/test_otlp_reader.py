"""Reading trace files: ours, the Collector's, torn ones and other kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldturn.traces import names
from coldturn.traces.span_reader import AttributeValue, SpanLink, SpanRow, UnreadableTraceError, read_spans

_COLLECTOR = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": "h"}}]},
            "schemaUrl": "https://opentelemetry.io/schemas/1.40.0",
            "scopeSpans": [
                {
                    "scope": {"name": "lib", "version": "1"},
                    "spans": [
                        {
                            "traceId": "a" * 32,
                            "spanId": "b" * 16,
                            "parentSpanId": "c" * 16,
                            "flags": 257,
                            "name": "chat m",
                            "kind": 3,
                            "startTimeUnixNano": "1700000000000000001",
                            "endTimeUnixNano": 1700000000000000002,
                            "droppedAttributesCount": 1,
                            "attributes": [
                                {"key": "text", "value": {"intValue": "7"}},
                                {"key": "number", "value": {"intValue": 8}},
                                {"key": "half", "value": {"doubleValue": 0.5}},
                                {"key": "no", "value": {"boolValue": False}},
                                {"key": "empty", "value": {"stringValue": ""}},
                                {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {}]}}},
                                {"key": "map", "value": {"kvlistValue": {"values": []}}},
                                {"key": "unset", "value": {}},
                            ],
                            "links": [{"traceId": "d" * 32, "spanId": "e" * 16}],
                            "status": {"code": "STATUS_CODE_ERROR", "message": "why"},
                        },
                        {"traceId": "a" * 32, "spanId": "f" * 16, "kind": "SPAN_KIND_SERVER", "status": {}},
                    ],
                },
                {"spans": [{"traceId": "a" * 32, "spanId": "1" * 16}]},
            ],
        }
    ]
}


def write(path: Path, *lines: object, end: str = "\n") -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text + end)
    return path


def test_the_collectors_lines_are_read(tmp_path: Path) -> None:
    first, second, third = read_spans(write(tmp_path / "c.json", _COLLECTOR))
    assert first == SpanRow(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_id="c" * 16,
        name="chat m",
        kind="CLIENT",
        start=1700000000000000001,
        end=1700000000000000002,
        attributes={
            "text": 7, "number": 8, "half": 0.5, "no": False, "empty": "", "list": (1, None), "map": None,
            "unset": None,
        },
        links=(SpanLink("d" * 32, "e" * 16),),
        scope="lib",
        error="why",
    )  # fmt: skip
    assert (second.kind, second.error, second.scope) == ("SERVER", None, "lib")
    assert (third.kind, third.scope) == ("UNSPECIFIED", "")


def test_logs_and_metrics_in_between_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", {"resourceLogs": []}, "", _COLLECTOR, {"resourceMetrics": [{"x": 1}]})
    assert len(list(read_spans(path))) == 3


@pytest.mark.parametrize("cut", [1, 17, 40, 400])
def test_a_torn_last_line_is_dropped_and_counted(tmp_path: Path, cut: int) -> None:
    line = json.dumps(_COLLECTOR, separators=(",", ":"))
    reader = read_spans(write(tmp_path / "t.jsonl", line, line[:cut], end=""))
    assert len(list(reader)) == 3
    assert reader.dropped == 1


def test_a_file_of_nothing_but_a_torn_line_is_empty(tmp_path: Path) -> None:
    reader = read_spans(write(tmp_path / "t.jsonl", '{"resourceSpans":[{"re', end=""))
    assert list(reader) == []
    assert reader.dropped == 1


def test_a_damaged_line_in_the_middle_costs_that_line(tmp_path: Path) -> None:
    wrong_type = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 7}]}]}]}
    wrong_number = {"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "a", "spanId": "b", "startTimeUnixNano": "soon"}]}]}]}  # fmt: skip
    deep = '{"resourceSpans":' + "[" * 100_000
    reader = read_spans(write(tmp_path / "t.jsonl", _COLLECTOR, wrong_type, wrong_number, deep, _COLLECTOR))
    assert len(list(reader)) == 6
    assert reader.dropped == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("interactions: []\n", r"at line 1 \(.*JSON"),
        ('{"model": "m", "messages": []}\n', r"at line 1 \(it is no OTLP\)"),
        ("\n\n[1, 2]\n", "at line 3"),
        ("\ufeff{}\n", "at line 1"),
    ],
)
def test_another_kind_of_file_is_refused_in_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(UnreadableTraceError, match=reason) as refused:
        list(read_spans(tmp_path / "x.jsonl"))
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="No such file"):
        list(read_spans(tmp_path / "none.jsonl"))


def row(**attributes: AttributeValue) -> SpanRow:
    return SpanRow("t", "s", "", "chat", "CLIENT", 0, 1, attributes)


def test_usage_is_found_under_the_names_that_others_write() -> None:
    assert row(**{"llm.token_count.prompt_details.cache_read": 5}).reported(names.CACHE_READ_TOKENS) == 5
    assert row(**{"gen_ai.usage.cache_creation.input_tokens": 6}).reported(names.CACHE_WRITE_TOKENS) == 6
    assert row(**{"gen_ai.usage.prompt_tokens": 7}).reported(names.INPUT_TOKENS) == 7


def test_zero_is_reported_and_absent_is_not() -> None:
    assert (
        row(**{names.CACHE_READ_TOKENS: 0, "gen_ai.usage.cache_read_input_tokens": 9}).reported(
            names.CACHE_READ_TOKENS
        )
        == 0
    )
    assert row().reported(names.CACHE_READ_TOKENS) is None
