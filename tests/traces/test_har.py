"""HAR: bodies as sent, times of the wire, and everything else passed over but counted."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import Explainer, explain
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import InputError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges
from fuzz.readers_examples import ANSWER, CHAT, LONGER, URL, har, har_entry

BODY = json.dumps(CHAT)


def read(*entries: object) -> list[Exchange | EntryError]:
    return list(read_exchanges(json.dumps(har(*entries)).encode(), name="input"))


def exchange(entry: object) -> Exchange:
    (only,) = read(entry)
    assert isinstance(only, Exchange), only
    return only


def test_an_entry_is_what_was_on_the_wire() -> None:
    found = exchange(har_entry())
    assert found.request_body == BODY.encode()
    assert found.response_body == json.dumps(ANSWER).encode()
    assert (found.kind, found.url, found.method, found.status) == (ExchangeKind.MODEL, URL, "POST", 200)
    assert found.fidelity is Fidelity.WIRE
    assert found.content_type == "application/json"
    assert found.headers == (("date", "Mon, 30 Nov 2026 10:00:01 GMT"),)


def test_the_first_byte_comes_after_every_phase_that_happened() -> None:
    found = exchange(har_entry())
    assert found.started is not None
    assert found.answered == pytest.approx(found.started + (10 + 40 + 0.5 + 500) / 1000, abs=1e-4)


@pytest.mark.parametrize("timings", [None, {}, {"wait": "long"}, {"wait": None, "send": 3}])
def test_without_usable_phases_the_first_byte_is_unknown(timings: object) -> None:
    assert exchange(har_entry(timings=timings)).answered is None


def test_a_negative_wait_did_not_happen() -> None:
    found = exchange(har_entry(timings={"wait": -1, "send": -5}))
    assert found.answered == found.started


@pytest.mark.parametrize("moment", ["yesterday", 17, "0000-00-00T00:00:00Z"])
def test_a_time_that_is_none_is_noted(moment: object) -> None:
    found = exchange(har_entry(startedDateTime=moment))
    assert found.undated is (found.started is None)


def test_encoded_bodies_are_decoded() -> None:
    entry = har_entry()
    entry["request"]["postData"] = {
        "encoding": "base64",
        "text": base64.b64encode(gzip.compress(BODY.encode())).decode(),
    }
    entry["request"]["headers"] = [{"name": "Content-Encoding", "value": "gzip"}]
    entry["response"]["content"] = {"encoding": "base64", "text": base64.b64encode(b"data: {}\n\n").decode()}
    found = exchange(entry)
    assert found.request_body == BODY.encode()
    assert found.response_body == b"data: {}\n\n"


def test_usage_is_read_from_the_answer() -> None:
    (lineage,) = explain(read(har_entry(), har_entry(LONGER))).lineages
    assert lineage.requests == 2
    assert lineage.tokens.input_reported == 40
    assert not lineage.breaks


def test_other_entries_are_counted() -> None:
    page: dict[str, Any] = {
        "request": {"method": "GET", "url": "https://example.org/"},
        "response": {"status": 200},
    }
    explainer = Explainer()
    for item in read(page, page):
        explainer.add(item)
    explainer.finish("input")
    assert "2 other requests" in explainer.report.errors[0].message


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "no entry with a request"),
        ({"request": 7}, "no entry with a request"),
        ({"request": {"method": "POST", "url": 7}}, "no method and url"),
        ({"request": {"method": "POST", "url": URL}}, "request body was not kept"),
        (
            {"request": {"method": "POST", "url": URL, "postData": {"text": "!", "encoding": "base64"}}},
            "no base64",
        ),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(entry: object, reason: str) -> None:
    first, second = read(har_entry(), entry)
    assert isinstance(first, Exchange)
    assert isinstance(second, EntryError)
    assert second.entry == 1
    assert reason in second.message


def test_a_cut_file_gives_the_entries_before_the_cut() -> None:
    content = json.dumps(har(har_entry(), har_entry(LONGER)), indent=1).encode()
    found: list[Exchange | EntryError] = []
    with pytest.raises(UnreadableJsonError, match="cut off at byte"):
        found.extend(read_exchanges(content[:-900]))
    stream = read_exchanges(content[:-900])
    assert isinstance(next(stream), Exchange)


def test_entries_that_are_no_list_are_one_sentence() -> None:
    with pytest.raises(InputError, match="no list"):
        list(read_exchanges(b'{"log": {"version": "1.2", "entries": {"a": 1}}}'))


def test_an_empty_log_holds_nothing() -> None:
    assert read() == []
