"""What is fuzzed: for each part an input, and what must hold for any of it."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import fuzz
from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.estimates.estimation import estimate
from coldturn.reference.prefix import scanner, segments, slicing
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.errors import ColdturnError, UnreadableBodyError
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.model import Comparison, Segment, Surface
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.wire.replies import decode_reply
from coldturn.traces.formats.model import Record
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord
from fuzz.documents import TEXTS, Talk, documents, in_bytes, spelled, talks, tampered
from fuzz.mutations import damaged
from fuzz.shapes import shapes
from prefix.rendering import rendered

SURFACES = st.sampled_from(list(Surface))


@dataclass(frozen=True)
class Target:
    """One part under test.

    Attributes:
        inputs: What it is given.
        check: Raises when it does not answer as it should.
    """

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]


# -- JSON: slicer and scanner ------------------------------------------------------------------------------


def check_slices(data: bytes) -> None:
    """Both ways to slice agree, and with what Python's own parser finds."""
    try:
        compact, flags = slicing.compact(data)
    except UnreadableBodyError:
        return
    assert scanner.compact(data)[0] == compact
    assert slicing.compact(compact)[0] == compact, "a second time changes nothing"
    assert isinstance(flags, frozenset)
    for sliced in (slicing.members, slicing.items):
        try:
            found = sliced(data)
        except UnreadableBodyError:
            continue
        spans = [(m.value, m.end) for m in found.members] if isinstance(found, slicing.Members) else found[0]
        last = 0
        for start, end in spans:
            assert last <= start < end <= len(data)
            slicing.compact(data[start:end])
            last = end
        assert {data.strip()[:1], data.lstrip(b"\xef\xbb\xbf \n\r\t")[:1]} & {b"{", b"["}


def check_meaning(text: str) -> None:
    """A valid document keeps its meaning."""
    data = in_bytes(text)
    kept = json.loads(slicing.compact(data)[0].decode("utf-8", "surrogatepass"), object_pairs_hook=list)
    assert kept == json.loads(text, object_pairs_hook=list)
    check_slices(data)


# -- Segments ----------------------------------------------------------------------------------------------


def check_segments(content: bytes) -> None:
    """Segments cover the content without gaps, in order, none of them empty or huge."""
    for cut in (segments.cut_text, segments.cut_json):
        _covers(cut(content), content)


def _covers(found: Sequence[Segment], content: bytes) -> None:
    at = 0
    for one in found:
        assert one.start == at < one.end
        at = one.end
    assert at == len(content)
    assert len({one.digest for one in found}) == len({content[one.start : one.end] for one in found})


# -- Bodies ------------------------------------------------------------------------------------------------


def read(data: bytes, surface: Surface | None) -> PromptRequest | None:
    """The request, or None where the body is refused."""
    try:
        return read_request(data, surface=surface)
    except UnreadableBodyError:
        return None


def check_body(given: tuple[bytes, Surface | None]) -> None:
    """Any bytes are a request or refused; what a request says adds up."""
    data, surface = given
    request = read(data, surface)
    if request is None:
        return
    assert request.content_bytes == sum(len(block.facts.content) for block in request.blocks)
    for block in request.blocks:
        assert 0 <= block.span[0] <= block.span[1] <= len(data)
        _covers(block.facts.segments, block.facts.content)
    assert ledger_of(request).content_bytes == request.content_bytes
    assert all(marker.block is None or marker.block < len(request.blocks) for marker in request.markers)
    again = compare(request, request)
    assert (again.stable, again.first, again.wire_drift) == (True, None, False)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, Surface | None]:
    surface = draw(SURFACES)
    value = draw(talks()).on(surface)
    data = draw(st.one_of(spelled(value), tampered(value).flatmap(spelled)))
    broken = draw(st.one_of(st.just(data), damaged(data)))
    return broken, draw(st.sampled_from([surface, None]))


def check_rendering(given: tuple[Talk, Surface]) -> None:
    """The blocks of a valid body are what its format says."""
    talk, surface = given
    value = talk.on(surface)
    request = read_request(in_bytes(json.dumps(value)), surface=surface)
    found = [(block.path, block.facts.content) for block in request.blocks if block.facts.content]
    wanted = [
        (path, slicing.compact(content)[0] if content[:1] in b"{[" and _is_json(content) else content)
        for path, content in rendered(value, surface)
        if content
    ]
    assert [path for path, _ in found] == [path for path, _ in wanted]


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


# -- Pairs -------------------------------------------------------------------------------------------------


def check_pair(given: tuple[bytes, bytes, Surface]) -> None:
    """The place of a difference is where a rendering of both requests in full first differs."""
    before, after, surface = given
    parent, child = read(before, surface), read(after, surface)
    if parent is None or child is None:
        return
    for one, other in ((parent, child), (parent.without_body(), child), (child, parent)):
        _check_place(one, other, compare(one, other))


def _check_place(parent: PromptRequest, child: PromptRequest, comparison: Comparison) -> None:
    if (parent.unloaded or child.unloaded) and not child.goes_on_from(parent):
        parent, child = parent.whole(), child.whole()
    offset, same = naive_place(parent, child)
    place = first_difference(parent, child)
    if place is None:
        assert same == len(parent.blocks)
        assert (comparison.stable, comparison.first) == (True, None)
        return
    assert (place.offset, place.parent) == (offset, same)
    assert comparison.common_bytes == offset
    assert place.wire_offset is None or 0 <= place.wire_offset <= len(child.body)
    if comparison.first is not None:
        assert comparison.first.offset == offset
        assert comparison.first.lost_bytes <= max(0, parent.content_bytes - offset)
        assert comparison.stable <= comparison.first.harmless
    else:
        assert comparison.stable


def naive_place(parent: PromptRequest, child: PromptRequest) -> tuple[int, int]:
    """Content bytes and blocks in common, looked at one by one."""
    offset = 0
    for index, was in enumerate(parent.blocks):
        now = child.blocks[index] if index < len(child.blocks) else None
        if now is None or was.facts.header != now.facts.header or was.facts.is_text != now.facts.is_text:
            return offset + _inside(parent, child, index), index
        old, new = was.facts.content, now.facts.content
        if old != new:
            return offset + _inside(parent, child, index), index
        offset += len(old)
    return offset, len(parent.blocks)


def _inside(parent: PromptRequest, child: PromptRequest, index: int) -> int:
    if index >= len(child.blocks) or parent.blocks[index].facts.header != child.blocks[index].facts.header:
        return 0
    pairs = zip(parent.blocks[index].facts.content, child.blocks[index].facts.content, strict=False)
    count = 0
    for old, new in pairs:
        if old != new:
            break
        count += 1
    return count


@st.composite
def pairs(draw: st.DrawFn) -> tuple[bytes, bytes, Surface]:
    surface = draw(SURFACES)
    talk = draw(talks())
    value = talk.on(surface)
    longer = Talk(talk.system, talk.tools, (*talk.history, *draw(talks()).history)).on(surface)
    after = draw(st.sampled_from([value, longer]))
    return draw(spelled(value)), draw(tampered(after).flatmap(spelled)), surface


# -- Lineages ----------------------------------------------------------------------------------------------


def check_lineage(given: list[tuple[bytes, Surface]]) -> None:
    """Requests in any order have earlier parents of their own surface, and are compared with them."""
    lineages = Lineages(most_leaves=3, most_inner=3)
    placed: list[PromptRequest] = []
    for data, surface in given:
        request = read(data, surface)
        if request is None:
            continue
        place = lineages.place(request)
        assert place.index == len(placed)
        if place.parent is not None:
            assert place.parent_index is not None
            assert placed[place.parent_index].contents == place.parent.contents
            assert place.parent.surface is surface
            _check_place(place.parent, request, compare(place.parent, request, place.before))
        placed.append(request)


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[bytes, Surface]]:
    surface = draw(SURFACES)
    talk, other = draw(talks()), draw(talks())
    rows: list[tuple[bytes, Surface]] = []
    for _ in range(draw(st.integers(2, 7))):
        base = draw(st.sampled_from([talk, talk, other]))
        end = draw(st.integers(1, len(base.history)))
        value = Talk(base.system, base.tools, base.history[:end]).on(surface)
        rows.append((draw(st.one_of(spelled(value), tampered(value).flatmap(spelled))), surface))
    return rows


# -- Replies and recordings --------------------------------------------------------------------------------


def check_reply(given: tuple[bytes, Surface, str]) -> None:
    """Any bytes are a reply, or refused with an error of ours."""
    data, surface, content_type = given
    with suppress(ColdturnError):
        decode_reply(surface, data, content_type)


_JSON_REPLIES: tuple[object, ...] = (
    {
        "type": "message",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "c", "name": "t", "input": {}},
        ],
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 4},
    },
    {
        "choices": [{"message": {"content": "hi", "tool_calls": [{"id": "c", "function": {"name": "t"}}]}}],
        "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
    },
    {
        "id": "r",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}},
    },
    {
        "candidates": [{"content": {"parts": [{"text": "hi"}, {"functionCall": {"name": "t", "args": {}}}]}}],
        "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4},
    },
    {
        "output": {"message": {"content": [{"text": "hi"}, {"toolUse": {"toolUseId": "c", "name": "t"}}]}},
        "usage": {"inputTokens": 9, "cacheReadInputTokens": 4},
    },
)
_EVENTS: tuple[tuple[object, ...], ...] = (
    (
        {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
    ),
    (
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t"}}]}}]},
        {"choices": [], "usage": {"prompt_tokens": 9}},
    ),
    ({"type": "response.completed", "response": {"output": []}},),
    ({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]},),
)
REPLIES: tuple[bytes, ...] = (
    *(json.dumps(one).encode() for one in _JSON_REPLIES),
    *("".join(f"data: {json.dumps(one)}\n\n" for one in events).encode() for events in _EVENTS),
)
CONTENT_TYPES = ("", "application/json", "text/event-stream", "application/vnd.amazon.eventstream")


@st.composite
def replies(draw: st.DrawFn) -> tuple[bytes, Surface, str]:
    data = draw(st.one_of(st.sampled_from(REPLIES).flatmap(damaged), st.binary(max_size=60)))
    return data, draw(SURFACES), draw(st.sampled_from(CONTENT_TYPES))


def check_recording(data: bytes) -> None:
    """Any bytes are a recording, or refused with an error of ours that says why."""
    records: list[Record] = []
    with suppress(ColdturnError):
        for record in read_records(data, name="input"):
            records.append(record)  # noqa: PERF402 - what came before an error counts too
    # Whatever was read can be explained and estimated.
    explain(one for one in records if not isinstance(one, UsageRecord))
    estimate(records)


def examples() -> Iterator[bytes]:
    """The valid inputs that the tests of readers share: every module here named ``…_examples``."""
    for found in pkgutil.iter_modules(fuzz.__path__):
        if found.name.endswith("_examples"):
            yield from (one.content for one in importlib.import_module(f"fuzz.{found.name}").EXAMPLES)


TARGETS: tuple[Target, ...] = (
    Target("meaning", documents(), check_meaning),
    Target(
        "slices",
        st.one_of(documents().map(in_bytes).flatmap(damaged), st.binary(max_size=40)),
        check_slices,
    ),
    Target("segments", st.one_of(TEXTS.map(in_bytes), st.binary(max_size=6000)), check_segments),
    Target("bodies", bodies(), check_body),
    Target("rendering", st.tuples(talks(), SURFACES), check_rendering),
    Target("pairs", pairs(), check_pair),
    Target("lineages", sequences(), check_lineage),
    Target("replies", replies(), check_reply),
    Target("recordings", st.sampled_from(list(examples())).flatmap(damaged), check_recording),
    Target("shapes", st.sampled_from(list(examples())).flatmap(shapes), check_recording),
)
