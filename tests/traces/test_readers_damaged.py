"""Whatever is damaged in an input of any kind, readers answer with records or one clear sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from fuzz.mutations import damaged
from fuzz.readers_examples import EXAMPLES, Example

KINDS = sorted({example.kind for example in EXAMPLES})


def identity(example: Example) -> str:
    return f"{example.kind} {example.name}".strip()


def read(content: bytes, kind: InputKind | None) -> None:
    try:
        for record in read_records(content, name="input", kind=kind):
            if isinstance(record, EntryError):
                assert "\n" not in record.message
    except ColdturnError as error:
        sentence = str(error)
        assert sentence.startswith("input: ")
        assert "\n" not in sentence
        assert "Traceback" not in sentence


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_an_undamaged_example_is_recognised_and_read(example: Example) -> None:
    records = list(read_records(example.content, name="input"))
    assert records
    assert not [record for record in records if isinstance(record, EntryError)]
    assert records == list(read_records(example.content, name="input", kind=example.kind))


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), forced=st.booleans())
def test_damage_never_raises_anything_else(example: Example, data: st.DataObject, forced: bool) -> None:
    read(data.draw(damaged(example.content)), example.kind if forced else None)


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_a_file_cut_anywhere_is_told_about_or_shorter(example: Example) -> None:
    for length in range(0, len(example.content), 7):
        read(example.content[:length], None)
        read(example.content[:length], example.kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_a_wrong_format_is_one_sentence(example: Example, kind: InputKind) -> None:
    read(example.content, kind)


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_is_read_can_be_explained(example: Example, data: st.DataObject) -> None:
    content = data.draw(damaged(example.content))
    held: list[Exchange | EntryError] = []
    with contextlib.suppress(ColdturnError):
        held.extend(read_exchanges(content, name="input"))
    explain(held)
