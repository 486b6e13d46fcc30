"""Values of another shape than a recording's writer gives them: nested too deeply, no UTF-8, no list."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.replies import decode_reply
from coldturn.traces import opening
from coldturn.traces.errors import DamagedArchiveError, InputTooLargeError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.timed import in_circles
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_NESTING
from coldturn.traces.opening import opened
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.slices import NotJsonError, need_flat, value_of
from fuzz.readers_examples import ANSWER, CHAT
from fuzz.session_examples import EXAMPLES
from fuzz.shapes import read_json, reshaped

SESSIONS = {(one.kind, one.name): one.content for one in EXAMPLES}


def reshaped_session(kind: InputKind, name: str, path: tuple[str | int, ...], trap: str) -> bytes:
    documents = read_json(SESSIONS[kind, name])
    assert documents is not None
    return reshaped(documents, path, trap)


@pytest.mark.parametrize("trap", ["lists", "objects"])
@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        (InputKind.CLAUDE_CODE, "", (2, "message", "content", 0, "input")),
        (InputKind.CODEX, "", (2, "payload", "content", 0, "text")),
        (InputKind.PI, "", (1, "message", "content")),
        (InputKind.MINI_SWE_AGENT, "", (0, "messages", 1, "content")),
        (InputKind.OPENCODE, "", (0, "messages", 1, "parts", 1, "state", "input")),
        (InputKind.GEMINI_CLI, "lines", (2, "toolCalls", 0, "result", 0)),
        (InputKind.GEMINI_CLI, "document", (0, "messages", 1, "toolCalls", 0, "result", 0)),
    ],
)
def test_a_message_that_is_nested_too_deeply_is_an_error_of_its_entry(
    kind: InputKind, name: str, path: tuple[str | int, ...], trap: str
) -> None:
    content = reshaped_session(kind, name, path, trap)
    records = list(read_records(content, name="input", kind=kind))
    (error,) = [one for one in records if isinstance(one, EntryError)]
    assert f"nested deeper than {MAX_NESTING} levels" in error.message
    assert error.entry == (path[2] if path[1] == "messages" else path[0])
    assert len(records) > 1


def test_parts_in_lists_within_lists_are_no_message_of_gemini_cli() -> None:
    documents: list[Any] = read_json(SESSIONS[InputKind.GEMINI_CLI, "lines"]) or []
    documents[2]["toolCalls"][0]["result"] = [[[{"text": "a"}]]]
    content = "\n".join(map(json.dumps, documents)).encode()
    (error,) = [one for one in read_exchanges(content, name="input") if isinstance(one, EntryError)]
    assert "neither a text nor a part" in error.message


@pytest.mark.parametrize(("depth", "refused"), [(MAX_NESTING, False), (MAX_NESTING + 1, True)])
def test_what_is_flat_is_told_by_levels_and_not_by_brackets(depth: int, refused: bool) -> None:
    wide = b'["[[[[[[\\"[[[[", {"a": ["{"]}]'
    text = b"[" * (depth - 3) + b",".join([wide] * 500) + b"]" * (depth - 3)
    if not refused:
        need_flat(text)
        return
    with pytest.raises(NotJsonError, match="nested deeper"):
        value_of(text)


@pytest.mark.parametrize(
    ("kind", "name", "path", "trap"),
    [
        (InputKind.OPENCODE, "", (0, "messages", 1, "parts", 1, "state", "input", "path"), "surrogate"),
        (InputKind.PI, "", (2, "message", "content", 0, "arguments", "path"), "surrogate"),
        (InputKind.PI, "", (2, "message", "content", 0, "arguments"), "surrogate key"),
        (InputKind.CLINE, "", (0, "messages", 1, "content", 0, "input", "command"), "surrogate"),
        (InputKind.GEMINI_CLI, "lines", (2, "toolCalls", 0, "args", "dir"), "surrogate"),
        (InputKind.GEMINI_CLI, "lines", (2, "model"), "surrogate"),
        (InputKind.MINI_SWE_AGENT, "", (0, "messages", 2, "content"), "surrogate"),
    ],
)
def test_a_lone_surrogate_costs_no_usage(
    kind: InputKind, name: str, path: tuple[str | int, ...], trap: str
) -> None:
    whole = explain(read_exchanges(SESSIONS[kind, name], name="input"))
    found = list(read_exchanges(reshaped_session(kind, name, path, trap), name="input"))
    for one in found:
        if isinstance(one, Exchange):
            json.loads(one.request_body)
    report = explain(found)
    assert report.requests == whole.requests
    read, reported = (
        [(one.tokens.input_reported, one.tokens.read_reported) for one in lineages.lineages]
        for lineages in (report, whole)
    )
    assert read == reported


@pytest.mark.parametrize("path", [(0, "messages")])
@pytest.mark.parametrize("trap", ["by place", "null", "text"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(InputKind.OPENCODE, ""), (InputKind.MINI_SWE_AGENT, ""), (InputKind.GEMINI_CLI, "document")],
)
def test_messages_that_are_no_list_are_told(
    kind: InputKind, name: str, path: tuple[str | int, ...], trap: str
) -> None:
    content = reshaped_session(kind, name, path, trap)
    with pytest.raises(UnreadableJsonError, match="its messages are no list"):
        list(read_exchanges(content, name="input", kind=kind))


CALL = {"id": "c", "function": {"name": "f", "arguments": '{"q": "a"}'}}


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "path", [("choices", 0, "message", "content"), ("choices", 0, "message", "tool_calls", 0, "function")]
)
def test_an_answer_with_a_lone_surrogate_keeps_its_usage(path: tuple[str | int, ...], escaped: bool) -> None:
    answer: Any = json.loads(json.dumps(ANSWER))
    answer["choices"][0]["message"]["tool_calls"] = [json.loads(json.dumps(CALL))]
    if path[-1] == "function":
        path = (*path, "arguments")
        answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = "a"
    body = reshaped([answer], (0, *path), "surrogate", escaped=escaped)
    reply = decode_reply(Surface.CHAT_COMPLETIONS, body, "application/json")
    assert reply.usage is not None
    assert reply.usage.input_tokens == ANSWER["usage"]["prompt_tokens"]
    assert "\ufffd" in reply.text + reply.calls[0].arguments


def test_settings_of_any_depth_are_compared() -> None:
    bodies = [{**CHAT, "foo": place} for place in ("a", "b")]
    lines = [json.dumps(one).replace('"foo": ', '"foo": ' + '{"a":' * 2000) for one in bodies]
    content = "\n".join(line[:-1] + "}" * 2001 for line in lines).encode()
    assert explain(read_exchanges(content, name="input")).requests == 2


def test_a_cassette_whose_archive_is_cut_off_is_damaged(tmp_path: Path) -> None:
    packed = gzip.compress(b"interactions:\n- request: {uri: u}\n" * 500)
    path = tmp_path / "cut.yaml.gz"
    path.write_bytes(packed[:-9])
    with pytest.raises(DamagedArchiveError):
        list(read_exchanges(path, kind=InputKind.CASSETTE_YAML))


def test_looking_for_the_end_of_an_archive_stops_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED", 1_048_576)
    with (
        opened(gzip.compress(b"a" * 40_000_000), "input") as stream,
        pytest.raises(InputTooLargeError, match="unpacked content"),
    ):
        stream.seek(0, 2)


def test_what_is_its_own_ancestor_is_in_a_circle() -> None:
    parents = {"a": "b", "b": "a", "c": "a", "d": "d", "e": "elsewhere", "f": "c"}
    assert in_circles(parents) == {"a", "b", "d"}
    assert in_circles({f"{one}": f"{one + 1}" for one in range(50_000)}) == set()


@pytest.mark.parametrize(
    ("call", "parent"),
    [
        ({"run_type": "llm", "inputs": {"messages": CHAT["messages"]}}, "parent_run_id"),
        ({"traceId": "t", "type": "GENERATION", "startTime": None, "input": CHAT}, "parentObservationId"),
    ],
)
def test_calls_that_name_each_other_as_their_wrapper_are_calls(call: dict[str, Any], parent: str) -> None:
    lines = [{**call, "id": one, parent: other} for one, other in ("ab", "ba", "ca", "dc")]
    content = "\n".join(map(json.dumps, lines)).encode()
    assert len(list(read_exchanges(content, name="input"))) == 3


def test_a_line_beyond_the_bound_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_LINE", 64 * 1_048_576)
    with opened(gzip.compress(b'{"a": "' + b"a" * 120_000_000), "input") as stream:
        tracemalloc.start()
        try:
            assert [one.too_long for one in opening.lines(stream)] == [True]
            assert tracemalloc.get_traced_memory()[1] < 80 * 1_048_576
        finally:
            tracemalloc.stop()
