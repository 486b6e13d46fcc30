"""What holds of any request and any change, on every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.model import BlockKind, Fidelity, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request
from prefix.bodies import Assistant, Item, Result, Tool, User, body, encoded, request, tool
from prefix.rendering import Rendered, common, rendered
from prefix.surfaces import SURFACES

ON_ANY = st.sampled_from(SURFACES)
EXAMPLES = settings(max_examples=80, deadline=None)

LINES = st.sampled_from(
    [
        "a line",
        "Ünïcode ✓ 日本",
        "",
        "  indented",
        "10:01",
        "2026-05-26",
        "## Tool Catalog",
        "- alpha: first",
        "- omega",
        "<memory>",
        "</memory>",
        "[truncated]",
        'quotes " and \\ and \t',
    ]
)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<>"), min_size=1, max_size=30)
TEXTS = st.one_of(WORDS, st.lists(LINES, min_size=1, max_size=6).map("\n".join).filter(bool))
NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=5, unique=True)


@dataclass(frozen=True)
class Request:
    """A request in our own words."""

    system: str
    tools: tuple[Tool, ...]
    history: tuple[Item, ...]

    def read(self, surface: Surface) -> PromptRequest:
        return request(surface, system=self.system, tools=self.tools, history=self.history)


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[Item]:
    items: list[Item] = [User(draw(TEXTS))]
    for step in range(draw(st.integers(0, 2))):
        call_id = f"c{number}_{step}"
        items.append(Assistant("", (call_id, draw(st.sampled_from("abc")), json.dumps({"q": draw(WORDS)}))))
        items.append(Result(call_id, draw(TEXTS)))
    return [*items, Assistant(draw(TEXTS))]


@st.composite
def requests(draw: st.DrawFn) -> Request:
    history = [item for number in range(draw(st.integers(1, 3))) for item in draw(turns(number))]
    names = draw(NAMES)
    return Request(draw(TEXTS), tuple(tool(name, draw(TEXTS)) for name in names), tuple(history))


def contents(one: Request, surface: Surface) -> Rendered:
    """Path and content of every block, told by the rules and not by the code under test."""
    return rendered(body(surface, system=one.system, tools=one.tools, history=one.history), surface)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Request, Request]:
    """A request, and the same with another text in exactly one of its blocks."""
    before = draw(requests())
    places = ["system"] + [f"tool {i}" for i in range(len(before.tools))]
    places += [f"item {i}" for i in range(len(before.history))]
    place = draw(st.sampled_from(places))
    text = draw(TEXTS)
    kind, _, number = place.partition(" ")
    if kind == "system":
        return before, replace(before, system=text)
    at = int(number)
    if kind == "tool":
        rows = list(before.tools)
        rows[at] = {**rows[at], "description": text}
        return before, replace(before, tools=tuple(rows))
    items = list(before.history)
    items[at] = _edited(items[at], text)
    return before, replace(before, history=tuple(items))


def _edited(item: Item, text: str) -> Item:
    if isinstance(item, Assistant) and item.call is not None:
        return replace(item, call=(*item.call[:2], json.dumps({"q": text})))
    return replace(item, text=text)


@EXAMPLES
@given(edits(), ON_ANY)
def test_any_edit_of_one_block_is_placed_exactly_there(
    pair: tuple[Request, Request], surface: Surface
) -> None:
    before, after = pair
    old, new = contents(before, surface), contents(after, surface)
    changed = next((i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), None)

    comparison = compare(before.read(surface), after.read(surface))

    found = comparison.first
    if changed is None:
        assert found is None
        assert comparison.stable
        return
    inside = common(old[changed][1], new[changed][1])
    if found is None:
        # The last text goes on: nothing that was sent is sent in another way.
        assert comparison.stable
        assert (changed, inside) == (len(old) - 1, len(old[-1][1]))
        return
    assert (found.path, found.side, found.block_offset) == (new[changed][0], "child", inside)
    assert found.offset == sum(len(content) for _, content in old[:changed]) + inside
    assert found.delta_bytes == len(new[changed][1]) - len(old[changed][1])
    assert all(later.path == found.path for later in found.later)
    assert found.cause != "unknown"


@EXAMPLES
@given(requests(), st.sets(st.sampled_from("stuvwxyz"), min_size=1, max_size=3), st.data(), ON_ANY)
def test_added_tools_are_named_and_nothing_else(
    one: Request, names: set[str], data: st.DataObject, surface: Surface
) -> None:
    rows = list(one.tools)
    for name in sorted(names):
        rows.insert(data.draw(st.integers(0, len(rows))), tool(name))
    more = replace(one, tools=tuple(rows))

    found = compare(one.read(surface), more.read(surface)).first
    assert found is not None
    assert (found.cause, found.zone, found.later) == ("tool_added", Zone.TOOLS, ())
    assert found.names == tuple(row["name"] for row in rows if row["name"] in names)
    appended = tuple(rows[: len(one.tools)]) == one.tools
    assert found.kinds == (("append_tail",) if appended else ())

    back = compare(more.read(surface), one.read(surface)).first
    assert back is not None
    assert (back.cause, back.side, back.names, back.later) == ("tool_removed", "parent", found.names, ())
    assert back.path == found.path


def _moved(was: list[str], now: list[str]) -> tuple[str, ...]:
    """Tools that are not in every longest choice of tools whose order is the same, found by trying all."""
    for size in range(len(was), 0, -1):
        kept = [set(chosen) for chosen in combinations(was, size) if _in_order(chosen, now)]
        if kept:
            return tuple(name for name in now if not all(name in one for one in kept))
    return tuple(now)


def _in_order(chosen: tuple[str, ...], now: list[str]) -> bool:
    return sorted(chosen, key=now.index) == list(chosen)


@EXAMPLES
@given(requests().filter(lambda one: len(one.tools) > 1), st.randoms(use_true_random=False), ON_ANY)
def test_permuted_tools_are_an_order_and_nothing_else(one: Request, chance: Random, surface: Surface) -> None:
    rows = list(one.tools)
    chance.shuffle(rows)
    found = compare(one.read(surface), replace(one, tools=tuple(rows)).read(surface)).first
    moved = _moved([row["name"] for row in one.tools], [row["name"] for row in rows])
    if not moved:
        assert found is None
        return
    assert found is not None
    assert (found.cause, found.names, found.later, found.delta_bytes) == ("tool_order", moved, (), 0)


@EXAMPLES
@given(requests(), st.lists(turns(9), min_size=1, max_size=2), ON_ANY)
def test_an_extension_is_stable(one: Request, more: list[list[Item]], surface: Surface) -> None:
    longer = replace(one, history=(*one.history, *(item for turn in more for item in turn)))
    parent, child = one.read(surface), longer.read(surface)
    comparison = compare(parent, child)
    assert comparison.stable
    assert comparison.first is None
    assert not comparison.wire_drift
    assert comparison.common_bytes == parent.content_bytes


@EXAMPLES
@given(requests(), TEXTS, ON_ANY)
def test_a_last_text_that_goes_on_is_stable(one: Request, more: str, surface: Surface) -> None:
    last = one.history[-1]
    longer = replace(one, history=(*one.history[:-1], replace(last, text=last.text + more)))
    comparison = compare(one.read(surface), longer.read(surface))
    assert comparison.stable
    assert comparison.first is None


@EXAMPLES
@given(requests(), requests(), ON_ANY)
def test_what_is_called_a_branch_repeats_nothing_of_the_models(
    one: Request, other: Request, surface: Surface
) -> None:
    other = replace(other, system=one.system, tools=one.tools)
    parent, child = one.read(surface), other.read(surface)
    found = compare(parent, child).first
    if found is None or not {"new_conversation", "fork"}.intersection(found.kinds):
        return
    assert (found.harmless, found.lost_bytes, found.later) == (True, 0, ())
    place = first_difference(parent, child)
    assert place is not None
    was, now = (
        {
            (block.kind, block.call_id, block.facts.content)
            for block in request.blocks[place.parent :]
            if block.role in {"assistant", "model"} and block.kind is not BlockKind.TOOL_CALL
        }
        for request in (parent, child)
    )
    assert not {one for one in was & now if len(one[2]) >= 32}, "what the model wrote"


@EXAMPLES
@given(requests(), ON_ANY)
def test_another_spelling_is_never_a_break(one: Request, surface: Surface) -> None:
    value = body(surface, system=one.system, tools=one.tools, history=one.history)
    plain = read_request(encoded(value), surface=surface)
    for other in (
        json.dumps(value),
        json.dumps(value, indent=1),
        json.dumps(value, separators=(" ,", ":  ")),
    ):
        comparison = compare(plain, read_request(other.encode(), surface=surface))
        assert comparison.stable
        assert comparison.first is None
        assert comparison.wire_drift


@EXAMPLES
@given(requests(), st.data())
def test_moved_markers_are_neither_break_nor_drift(one: Request, data: st.DataObject) -> None:
    def marked() -> bytes:
        value = body(Surface.MESSAGES, system=one.system, tools=one.tools, history=one.history)
        parts = [*value["tools"], *value["system"], *(p for m in value["messages"] for p in m["content"])]
        for part in data.draw(st.lists(st.sampled_from(parts), max_size=4, unique_by=id)):
            part["cache_control"] = {"type": "ephemeral"}
        return encoded(value)

    comparison = compare(read_request(marked()), read_request(marked()))
    assert comparison.stable
    assert comparison.first is None
    assert not comparison.wire_drift


CHANGES: Sequence[tuple[str, Zone, Callable[[Request], Request]]] = (
    ("tool_added", Zone.TOOLS, lambda one: replace(one, tools=(*one.tools, tool("zulu")))),
    ("clock_in_prefix", Zone.SYSTEM, lambda one: replace(one, system=one.system.replace("10:01", "10:02"))),
    (
        "history_rewritten",
        Zone.HISTORY,
        lambda one: replace(one, history=(_asked("other"), *one.history[1:])),
    ),
)


def _asked(word: str) -> Item:
    return User(f"This is the {word} question of them all.")


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 2)])
@EXAMPLES
@given(one=requests(), surface=ON_ANY)
def test_two_changes_in_two_zones_are_both_found(
    one: Request, surface: Surface, first: int, second: int
) -> None:
    before = replace(
        one,
        system=f"## Now\nIt is 10:01.\n## Rest\n{one.system.replace('10:01', '')}",
        history=(_asked("first"), *one.history[1:]),
    )
    after = CHANGES[second][2](CHANGES[first][2](before))

    found = compare(before.read(surface), after.read(surface)).first

    assert found is not None
    assert (found.cause, found.zone) == CHANGES[first][:2]
    assert [(later.cause, later.zone) for later in found.later] == [CHANGES[second][:2]]


REMINDERS = st.sampled_from(["", "<system-reminder>Todo: a</system-reminder>", "<context>\nb\n</context>"])


def _system(draw: st.DrawFn, one: Request, _at: int) -> Request:
    return replace(one, system=draw(TEXTS))


def _some_tools(draw: st.DrawFn, one: Request, _at: int) -> Request:
    rows = draw(st.permutations(one.tools))
    return replace(one, tools=tuple(rows[: draw(st.integers(0, len(rows)))]))


def _new_tool(draw: st.DrawFn, one: Request, _at: int) -> Request:
    if any(row["name"] == "new" for row in one.tools):
        return one
    at = draw(st.integers(0, len(one.tools)))
    return replace(one, tools=(*one.tools[:at], tool("new"), *one.tools[at:]))


def _removed(_draw: st.DrawFn, one: Request, at: int) -> Request:
    return replace(one, history=one.history[:at] + one.history[at + 1 :])


def _inserted(draw: st.DrawFn, one: Request, at: int) -> Request:
    return replace(one, history=(*one.history[:at], User(draw(TEXTS), draw(REMINDERS)), *one.history[at:]))


def _appended(draw: st.DrawFn, one: Request, _at: int) -> Request:
    return _inserted(draw, one, len(one.history))


def _shortened(draw: st.DrawFn, one: Request, at: int) -> Request:
    found = [
        replace(item, suffix=draw(REMINDERS))
        if isinstance(item, User)
        else replace(item, text=f"{item.text[:5]}\n[... truncated ...]")
        for item in one.history[at : at + 1]
    ]
    return replace(one, history=(*one.history[:at], *found, *one.history[at + 1 :]))


def _cut(_draw: st.DrawFn, one: Request, at: int) -> Request:
    return replace(one, history=one.history[:at])


MUTATIONS = st.sampled_from(
    [_system, _some_tools, _new_tool, _removed, _inserted, _appended, _shortened, _cut]
)


@st.composite
def changed(draw: st.DrawFn, one: Request) -> Request:
    """A request after a few changes of any kind."""
    for mutation in draw(st.lists(MUTATIONS, min_size=1, max_size=3)):
        one = mutation(draw, one, draw(st.integers(0, len(one.history))))
    return one


@EXAMPLES
@given(st.data(), requests(), st.booleans(), ON_ANY)
def test_of_any_two_requests_the_told_place_is_the_first_difference(
    data: st.DataObject, one: Request, related: bool, surface: Surface
) -> None:
    other = data.draw(changed(one) if related else requests())
    if data.draw(st.booleans()):
        one, other = other, one
    parent, child = one.read(surface), other.read(surface)
    place = first_difference(parent, child)
    comparison = compare(parent, child)
    found = comparison.first
    if found is None:
        assert comparison.stable
        return
    assert place is not None
    assert (found.offset, comparison.common_bytes) == (place.offset, place.offset)
    blocks = (child if found.side == "child" else parent).blocks
    index = next(i for i, block in enumerate(blocks) if block.path == found.path)
    assert index == place.parent
    front = sum(len(block.facts.content) for block in blocks[:index])
    assert front + (found.block_offset or 0) == found.offset
    assert 0 <= found.lost_bytes <= min(parent.content_bytes, child.content_bytes) - found.offset
    assert found.planned is False or found.cause == "planned_elision"
    paths = {block.path for block in (*parent.blocks, *child.blocks)}
    assert {later.path for later in found.later} <= paths


@EXAMPLES
@given(requests(), ON_ANY)
def test_a_pair_compares_the_same_whatever_is_kept_of_it(one: Request, surface: Surface) -> None:
    after = replace(one, system=f"{one.system} and more")
    whole = compare(one.read(surface), after.read(surface))
    light = compare(one.read(surface).without_body(), after.read(surface))
    assert light == whole
    value = encoded(body(surface, system=after.system, tools=after.tools, history=after.history))
    canonical = read_request(value, surface=surface, fidelity=Fidelity.CANONICAL)
    found = compare(one.read(surface), canonical).first
    assert found is not None
    assert whole.first is not None
    assert found == replace(whole.first, wire_offset=None)
