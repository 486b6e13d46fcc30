"""Counts that cannot be those of a prompt are left out and told; all that may be true stays."""

from __future__ import annotations

import json

import pytest

from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.too_few import has_too_few
from coldturn.traces.readers import read_records
from fuzz.readers_examples import lines, otlp, otlp_span

WORDS = "Read before you write, and say what you did. " * 200


def body(**more: object) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": WORDS}], **more}).encode()


@pytest.mark.parametrize(
    ("tokens", "few"), [(63, True), (0, True), (140, True), (200, False), (2_000, False)]
)
def test_a_count_is_too_small_where_no_tokenizer_would_give_it(tokens: int, few: bool) -> None:
    assert has_too_few(body(), tokens) is few


def test_what_is_not_reported_is_not_too_small() -> None:
    assert not has_too_few(body(), None)


@pytest.mark.parametrize(
    "more",
    [
        {"image": "iVBORw0KGgo" * 200},
        {"tools": [{"name": "f", "defer_loading": True}]},
        {"context_management": {"edits": []}},
        {"truncation": "auto"},
        {"thinking": {"type": "enabled"}},
    ],
)
def test_bytes_that_are_no_text_of_the_prompt_are_no_contradiction(more: dict[str, object]) -> None:
    assert not has_too_few(body(**more), 63)


def test_a_short_prompt_may_have_few() -> None:
    assert not has_too_few(b'{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]}', 1)


def test_such_counts_of_spans_are_left_out_and_told_once() -> None:
    def span(number: int, tokens: int) -> dict[str, object]:
        said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": WORDS}]}])
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4.1",
            "gen_ai.input.messages": said,
        }
        return otlp_span({**told, "gen_ai.usage.input_tokens": tokens}, number=number)

    found = list(read_records(lines(otlp(span(1, 2_000), span(2, 63), span(3, 64))), name="input"))
    assert [type(one) for one in found] == [Exchange, EntryError, Exchange, Exchange]
    assert [one.response_body is None for one in found if isinstance(one, Exchange)] == [False, True, True]
    (told,) = [one for one in found if isinstance(one, EntryError)]
    assert told.entry == 1
    assert told.message.startswith("63 input tokens are reported for 9,")
