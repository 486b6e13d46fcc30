"""Whatever is damaged in what a tracer wrote, its reader answers with records or one clear sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.traces.exchange import EntryError
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from fuzz.mutations import damaged
from fuzz.readers_examples import EXAMPLES as OTHERS
from fuzz.readers_examples import Example
from fuzz.tracer_examples import EXAMPLES
from traces.test_readers_damaged import identity, read

KINDS = sorted({one.kind for one in (*OTHERS, *EXAMPLES)})


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_an_undamaged_one_is_recognised_and_read(example: Example) -> None:
    records = list(read_records(example.content, name="input"))
    assert records
    assert not [one for one in records if isinstance(one, EntryError)]
    assert records == list(read_records(example.content, name="input", kind=example.kind))


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), forced=st.booleans())
def test_damage_is_told_in_a_sentence(example: Example, data: st.DataObject, forced: bool) -> None:
    read(data.draw(damaged(example.content)), example.kind if forced else None)


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_a_file_may_be_cut_anywhere(example: Example) -> None:
    for length in range(0, len(example.content), 11):
        read(example.content[:length], None)
        read(example.content[:length], example.kind)


@pytest.mark.parametrize("example", EXAMPLES, ids=identity)
def test_another_format_is_one_sentence(example: Example) -> None:
    for kind in KINDS:
        read(example.content, kind)


@pytest.mark.parametrize("kind", sorted({one.kind for one in EXAMPLES}))
def test_what_others_wrote_is_one_sentence(kind: InputKind) -> None:
    for example in OTHERS:
        read(example.content, kind)
