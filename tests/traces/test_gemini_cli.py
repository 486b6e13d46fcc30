"""Sessions of Gemini CLI: lines and documents, rewinding, histories given anew."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.estimates.estimation import estimate
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from coldturn.traces.sniff import sniff

META = {"sessionId": "s-1", "projectHash": "ab" * 32, "startTime": "2026-05-01T10:00:00.000Z"}


def stamp(seconds: int) -> str:
    return f"2026-05-01T10:00:{seconds:02}.000Z"


def asked(id_: str, content: object, at: int = 1) -> dict[str, Any]:
    return {"id": id_, "type": "user", "content": content, "timestamp": stamp(at)}


def said(
    id_: str, content: object = "", tokens: tuple[int, int] | None = (100, 0), **more: object
) -> dict[str, Any]:
    counted = tokens and {
        "input": tokens[0],
        "cached": tokens[1],
        "output": 5,
        "thoughts": 2,
        "tool": 0,
        "total": 9,
    }
    told = {"id": id_, "type": "gemini", "content": content, "tokens": counted, "model": "gemini-3-pro"}
    return {**told, "timestamp": stamp(9), "thoughts": [{"subject": "Plan", "description": "hm"}], **more}


def tool(id_: str, result: str = "a.py", at: int = 20) -> dict[str, Any]:
    answer = {"functionResponse": {"id": id_, "name": "ls", "response": {"output": result}}}
    return {
        "id": id_,
        "name": "ls",
        "args": {"dir": "."},
        "result": [answer],
        "timestamp": stamp(at),
        "status": "success",
    }


def as_lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in (META, *records))


def as_document(*records: dict[str, Any]) -> bytes:
    return json.dumps({**META, "messages": list(records)}, indent=2).encode()


def calls(content: bytes) -> list[Exchange]:
    found = list(read_records(content, name="session"))
    assert not [one for one in found if isinstance(one, EntryError)], found
    return [one for one in found if isinstance(one, Exchange)]


def contents(call: Exchange) -> list[dict[str, Any]]:
    body: dict[str, Any] = json.loads(call.request_body)
    assert list(body) == ["contents"]
    return body["contents"]  # type: ignore[no-any-return]


TALK = (
    asked("u1", "Which files are there?"),
    {"id": "n1", "type": "info", "content": "a notice", "timestamp": stamp(2)},
    said("g1", "I look.", (1_000, 0), toolCalls=[tool("c1")]),
    said("g2", "One file.", (1_100, 900)),
    asked("u2", [{"text": "And "}, "what is in it?"], 30),
    said("g3", [{"text": "Code."}], (1_200, 1_050)),
)


@pytest.mark.parametrize("make", [as_lines, as_document])
def test_each_counted_answer_is_a_call(make: Any) -> None:  # noqa: ANN401 - one of two functions
    content = make(*TALK)
    assert sniff(io.BytesIO(content), "x") is InputKind.GEMINI_CLI
    first, second, third = calls(content)
    assert contents(first) == [{"role": "user", "parts": [{"text": "Which files are there?"}]}]
    assert contents(second)[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "ls", "args": {"dir": "."}}},
            ],
        },
        {"role": "user", "parts": TALK[2]["toolCalls"][0]["result"]},
    ]
    assert contents(third)[-1]["parts"] == [{"text": "And "}, {"text": "what is in it?"}]
    assert first.url == "/v1beta/models/gemini-3-pro:generateContent"
    assert (first.fidelity, first.parts_missing) == (Fidelity.MESSAGES, frozenset({Zone.TOOLS, Zone.SYSTEM}))
    assert second.started is not None
    assert first.started is not None
    assert second.started - first.started == 19.0
    explained = explain([first, second, third])
    assert [one.requests for one in explained.lineages] == [3]
    assert explained.breaks == []
    tokens = explained.lineages[0].tokens
    assert (tokens.input_reported, tokens.read_reported) == (3_300, 1_950)
    assert estimate([first, second, third]).requests[2].read_reported == 1_050


def test_a_message_of_a_known_id_stands_in_place_of_the_older_one() -> None:
    """The program writes an answer again once its tokens, its calls and their results are known."""
    without = said("g1", "I look.", None)
    counted = said("g1", "I look.", (1_000, 0))
    called = said("g1", "I look.", (1_000, 0), toolCalls=[tool("c1")])
    first, second = calls(as_lines(TALK[0], without, counted, called, TALK[3]))
    assert contents(first) == contents(calls(as_lines(*TALK))[0])
    assert contents(second) == contents(calls(as_lines(*TALK))[1])
    assert json.loads(first.response_body or b"")["usageMetadata"] == {
        "promptTokenCount": 1_000,
        "cachedContentTokenCount": 0,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
    }


def test_calls_that_stand_in_the_content_too_are_sent_once() -> None:
    """So a history has them that was given anew."""
    call = {"functionCall": {"id": "c1", "name": "ls", "args": {"dir": "."}}}
    anew = {**TALK[2], "content": [{"text": "I look."}, call]}
    assert contents(calls(as_lines(TALK[0], anew, TALK[3]))[1]) == contents(calls(as_lines(*TALK))[1])


def test_what_was_taken_back_is_gone() -> None:
    found = calls(as_lines(*TALK, {"$rewindTo": "u2"}, asked("u9", "Another?"), said("g9", "Yes.")))
    assert [part["parts"][0].get("text") for part in contents(found[-1])] == [
        "Which files are there?",
        "I look.",
        None,
        "One file.",
        "Another?",
    ]
    found = calls(as_lines(*TALK, {"$rewindTo": "nowhere"}, asked("u9", "Another?"), said("g9", "Yes.")))
    assert len(contents(found[-1])) == 1


def test_a_history_given_anew_with_another_beginning_is_a_compaction() -> None:
    summary = asked("x1", "<state_snapshot>All that was said before, in a few words.</state_snapshot>")
    anew = {"$set": {"messages": [summary, said("x2", "Got it.", None)], "lastUpdated": stamp(40)}}
    more = asked("u5", "Go on."), said("g5", "On."), asked("u6", "And on."), said("g6", "On and on.")
    found = calls(as_lines(*TALK, anew, *more))
    assert [one.compacted_from for one in found] == [None, None, None, found[2].entry, None]
    [lineage] = explain(found).lineages
    assert [(one.cause, one.planned, one.parent) for one in lineage.breaks] == [("compaction", True, 2)]


def test_results_that_are_shortened_are_no_compaction() -> None:
    short = said("g1", "I look.", (1_000, 0), toolCalls=[tool("c1", "[masked]")])
    results = asked("r1", short["toolCalls"][0]["result"])
    anew = {"$set": {"messages": [TALK[0], short, results, *TALK[3:]]}}
    found = calls(as_lines(*TALK, anew, asked("u5", "Go on."), said("g5", "On.")))
    assert found[-1].compacted_from is None
    said_again = [part for one in contents(found[-1]) for part in one["parts"] if "functionResponse" in part]
    assert said_again == short["toolCalls"][0]["result"]


def test_settings_alone_and_calls_without_counts_are_no_calls() -> None:
    assert calls(as_lines({"$set": {"summary": "a title"}}, TALK[0], said("g1", "Hm.", None))) == []
    assert calls(as_lines(TALK[0], said("g1", "Hm.", (0, 0)))) == []


def test_damage_is_an_error_of_its_entry() -> None:
    broken = as_lines(TALK[0]) + b'{"id": 7\n' + as_lines(asked("u2", 7), *TALK[2:])
    found = list(read_records(broken, name="s"))
    assert [type(one) for one in found] == [EntryError, EntryError, Exchange, Exchange, Exchange]
    found = list(read_records(as_document(asked("u1", 7), *TALK[2:]), name="s"))
    assert [type(one) for one in found] == [EntryError, Exchange, Exchange, Exchange]
    assert "message 0" in str(found[0].message if isinstance(found[0], EntryError) else "")
