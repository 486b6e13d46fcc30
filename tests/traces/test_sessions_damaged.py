"""Whatever is damaged in a session or a table, its reader answers with records or one clear sentence."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.estimates.estimation import estimate
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Record
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord
from fuzz.mutations import damaged
from fuzz.readers_examples import Example
from fuzz.session_examples import EXAMPLES, SESSION_EXAMPLES


def identity(example: object) -> str:
    return f"{example.kind} {example.name}".strip() if isinstance(example, Example) else ""


def answered(records: Iterator[Record]) -> tuple[list[Record], str | None]:
    """What was read, and the sentence with which reading ended early."""
    found: list[Record] = []
    try:
        for record in records:
            found.append(record)  # noqa: PERF402 - what came before an error counts too
    except ColdturnError as error:
        return found, str(error)
    return found, None


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_an_undamaged_example_is_recognised_and_read(example: Example) -> None:
    found = list(read_records(example.content, name="input"))
    assert len(found) >= (1 if example.kind is InputKind.MINI_SWE_AGENT else 2)
    assert not [one for one in found if isinstance(one, EntryError)]
    assert found == list(read_records(example.content, name="input", kind=example.kind))


@pytest.mark.parametrize(("kind", "content", "read"), SESSION_EXAMPLES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_damage_is_an_error_of_its_entry_or_one_sentence(
    kind: InputKind, content: bytes, read: Callable[[IO[bytes], str], Iterator[Record]], data: st.DataObject
) -> None:
    assert kind
    records, sentence = answered(read(io.BytesIO(data.draw(damaged(content))), "input"))
    assert sentence is None or (sentence.startswith("input: ") and "\n" not in sentence)
    for record in records:
        if isinstance(record, EntryError):
            assert "\n" not in record.message
        elif isinstance(record, Exchange):
            assert record.parts_missing
        else:
            counts = (record.input_tokens, record.cached_tokens, record.written_tokens, record.output_tokens)
            assert all(one is None or one >= 0 for one in counts)
    # Whatever was read can be explained and estimated.
    explain(one for one in records if not isinstance(one, UsageRecord))
    for row in estimate(records).requests:
        assert row.read_estimated is None or 0 <= row.read_estimated <= row.input_estimated
