"""What is shown of a difference: the first byte that differs is in it, and only what changed is marked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.causes.excerpts import CONTEXT, Spans, changed_spans
from coldturn.reference.prefix.model import Break, Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import PADDING, Assistant, Item, Result, User, body, read, request
from prefix.surfaces import ARGUMENT_TEXTS, SURFACES

LINES = "".join(f"{number} is the number of this line, which is like no other.\n" for number in range(400))

NUMBERS = " ".join(str(7919 * number) for number in range(1, 1500))


def first_of(parent: PromptRequest, child: PromptRequest) -> Break:
    found = compare(parent, child).first
    assert found is not None
    return found


def marked(text: str, spans: Spans) -> list[str]:
    return [text[start:end] for start, end in spans]


def kept(text: str, spans: Spans) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    return "".join([*parts, text[at:]])


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("was", "now", "gone", "came"),
    [
        ("/srv/app", "/srv/app/services/ledger", [], ["/services/ledger"]),
        ("/srv/app/services/ledger", "/srv/app", ["/services/ledger"], []),
        ("a", NUMBERS, ["a"], [NUMBERS[:CONTEXT]]),
        ("Ann Meyer, ann", "Bo Larsen, bo", ["Ann Meyer, ann"], ["Bo Larsen, bo"]),
        ("at 10:01:02 in Rome", "at 10:01:07 in Oslo", ["2", "Rome"], ["7", "Oslo"]),
    ],
)
def test_only_what_changed_is_marked(
    surface: Surface, was: str, now: str, gone: list[str], came: list[str]
) -> None:
    found = first_of(*(request(surface, system=f"{PADDING}<{text}>\n{LINES}") for text in (was, now)))
    assert (marked(found.was, found.was_changed), marked(found.now, found.now_changed)) == (gone, came)
    assert len(found.was) == len(found.now) == CONTEXT


@settings(deadline=None)
@given(
    front=st.text(max_size=50), was=st.text(max_size=200), now=st.text(max_size=200), shown=st.integers(1, 90)
)
def test_what_is_not_marked_is_said_by_both(front: str, was: str, now: str, shown: int) -> None:
    old, new = front + was + LINES[:2000], front + now + LINES[:2000]
    spans = changed_spans(old, new, shown)
    left, right = kept(old[:shown], spans[0]), kept(new[:shown], spans[1])
    assert left.startswith(right) or right.startswith(left)
    whole = changed_spans(old, new, len(old) + len(new))
    assert kept(old, whole[0]) == kept(new, whole[1])


@settings(deadline=None)
@given(
    was=st.text("ab ", max_size=60),
    now=st.text("ab ", max_size=60),
    tail=st.text("ab ", max_size=9),
    data=st.data(),
)
def test_texts_that_part_again_behind_a_common_end(
    was: str, now: str, tail: str, data: st.DataObject
) -> None:
    """What follows the end of a block need not be the same."""
    behind = [data.draw(st.text("ab ", max_size=30)) for _ in range(2)]
    old, new = was + tail + behind[0], now + tail + behind[1]
    spans = changed_spans(old, new, 90, (len(was), len(now)))
    left, right = kept(old[:90], spans[0]), kept(new[:90], spans[1])
    assert left.startswith(right) or right.startswith(left)


@settings(deadline=None)
@given(gone=st.integers(0, 6000), came=st.integers(0, 6000), shown=st.integers(1, 90))
@example(gone=1, came=62, shown=2)
def test_a_mark_touches_the_edge_only_where_the_change_does(gone: int, came: int, shown: int) -> None:
    was, now = "\u2190" * gone + LINES, "\u2192" * came + LINES
    spans = changed_spans(was, now, shown)
    assert spans == tuple(((0, min(size, shown)),) if size else () for size in (gone, came))


@pytest.mark.parametrize("surface", [one for one in SURFACES if one is not Surface.GENERATE_CONTENT])
@pytest.mark.parametrize("front", ["c", "call_" + "0" * 90])
def test_an_id_is_shown_where_it_is_what_differs(surface: Surface, front: str) -> None:
    long = json.dumps({"ok": True, "path": "/srv/app/src/ledger/transactions/reconciliation/module.py"})
    ids = f"{front}1", f"{front}2"

    def sent(first: str, second: str) -> PromptRequest:
        calls: list[Item] = [Assistant("", (one, "read", "{}")) for one in ids]
        results = [Result(first, long + first), Result(second, long + second)]
        return request(surface, history=[User("q"), *calls, *results, User("next")])

    found = first_of(sent(*ids), sent(*reversed(ids)))
    assert (marked(found.was, found.was_changed), marked(found.now, found.now_changed)) == (["1"], ["2"])
    shown = found.before + found.was
    assert (f'"{ids[0]}"' if len(front) < CONTEXT else '01"}') in shown


def test_a_short_end_in_common_is_not_marked_though_nothing_else_follows_alike() -> None:
    was, now = "X." + "p" * 50, "Y." + "q" * 50
    assert changed_spans(was, now, CONTEXT, (1, 1)) == (((0, 1), (2, 52)),) * 2


@pytest.mark.parametrize("surface", SURFACES)
def test_an_empty_text_is_shown_as_one(surface: Surface) -> None:
    def sent(text: str) -> PromptRequest:
        value = body(surface, history=[User("HERE"), Assistant("ok"), User("next")])
        return read(json.loads(json.dumps(value).replace("HERE", text)), surface)

    found = first_of(sent("Something."), sent(""))
    assert found.now.startswith('""')
    assert marked(found.now, found.now_changed)[0].startswith('""')


def test_no_content_is_told_from_an_empty_text() -> None:
    def sent(content: object) -> PromptRequest:
        call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        said: dict[str, Any] = {"role": "assistant", "content": content, "tool_calls": [call]}
        value = body(Surface.CHAT_COMPLETIONS)
        return read({**value, "messages": [*value["messages"], said]}, Surface.CHAT_COMPLETIONS)

    found = first_of(sent(None), sent(""))
    assert (found.cause, found.now[:2], marked(found.now, found.now_changed)) == ("empty_field", '""', ['""'])


KEYS = ("sk-ant-api03-{}AbCdEfGhIjKlMnOp1234567890", "ghp_{}bcdefghijklmnopqrstuvwxyz0123456789")


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_never_shown(surface: Surface, key: str) -> None:
    was, now = (f"{PADDING}The key is {key.format(one)} for all.\n{LINES}" for one in ("XY", "XZ"))
    found = first_of(request(surface, system=was), request(surface, system=now))
    shown = found.before + found.was + found.now
    assert not any(part in shown for part in ("XY", "XZ", "CdEf", "defghi"))
    assert found.before.endswith("*")
    assert found.was == found.now
    assert (found.was_changed, found.now_changed) == (((0, 1),), ((0, 1),))
    assert found.was.endswith("for all.\n" + LINES[: len(found.was.partition("for all.\n")[2])])


@pytest.mark.parametrize("surface", ARGUMENT_TEXTS)
def test_what_stands_under_the_name_of_a_credential_is_never_shown(surface: Surface) -> None:
    def sent(token: str) -> PromptRequest:
        call = Assistant("", ("c1", "fetch", json.dumps({"authorization": token, "n": 1})))
        return request(surface, history=[User("q"), call, Result("c1", "ok")])

    found = first_of(sent("short-token-1"), sent("short-token-2"))
    assert "short" not in found.before + found.was + found.now
    assert found.was.startswith("*")
