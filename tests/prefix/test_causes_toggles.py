"""What comes and goes by turns: seen by the request before the older one, and only with it."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.model import Break, Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import PADDING, Assistant, Item, User, body, read, request
from prefix.surfaces import SURFACES

REMINDER = "## Mode\nPlan first, and change no file before the plan is agreed on.\n\n"
PLAIN = "Plan first, and change no file before the plan is agreed on.\n\n"
TURN: list[Item] = [User("one"), Assistant("1")]
MORE: list[Item] = [*TURN, User("two"), Assistant("2")]
END = "\n## Last\nBe kind to whoever asks.\n"
IMAGE = "aGVsbG8=" * 9


def first_of(parent: PromptRequest, child: PromptRequest, before: PromptRequest | None = None) -> Break:
    found = compare(parent, child, before).first
    assert found is not None
    return found


def with_system(surface: Surface, text: str, history: list[Item]) -> PromptRequest:
    return request(surface, system=text, history=[*history, User("go on")])


@pytest.mark.parametrize("surface", SURFACES)
class TestSections:
    @pytest.mark.parametrize("section", [REMINDER, PLAIN, f"<mode>\n{PLAIN}</mode>\n"])
    @pytest.mark.parametrize(("front", "back"), [(f"{PADDING}\n", END), (f"{PADDING}\n", "")])
    def test_a_section_that_goes_in_and_out(
        self, surface: Surface, section: str, front: str, back: str
    ) -> None:
        without, with_it = front + back, front + section + back
        for old, middle, kind in ((without, with_it, "out"), (with_it, without, "in")):
            before, parent = with_system(surface, old, []), with_system(surface, middle, TURN)
            child = with_system(surface, old, MORE)
            found = first_of(parent, child, before)
            assert (found.cause, found.kinds) == ("section_toggle", (kind,))
            assert found.alongside
            assert first_of(parent, child).cause != "section_toggle"

    def test_a_section_that_is_new_is_none(self, surface: Surface) -> None:
        before, parent = (with_system(surface, f"{PADDING}\n{END}", turns) for turns in ([], TURN))
        child = with_system(surface, f"{PADDING}\n{REMINDER}{END}", MORE)
        assert first_of(parent, child, before).cause == "system_edited"

    def test_a_section_that_came_back_with_other_words_is_none(self, surface: Surface) -> None:
        before = with_system(surface, f"{PADDING}\n{REMINDER}{END}", [])
        parent = with_system(surface, f"{PADDING}\n{END}", TURN)
        child = with_system(surface, f"{PADDING}\n{REMINDER.replace('file', 'line')}{END}", MORE)
        assert first_of(parent, child, before).cause == "system_edited"

    def test_a_line_within_a_paragraph_is_no_section(self, surface: Surface) -> None:
        texts = [PADDING, PADDING + "Never use more than one tool at a time.\n" + PADDING, PADDING]
        texts = [f"{text}{PADDING}" if text == PADDING else text for text in texts]
        before, parent, child = (
            with_system(surface, text, turns) for text, turns in zip(texts, ([], TURN, MORE), strict=True)
        )
        assert first_of(parent, child, before).cause == "system_edited"

    def test_a_section_that_was_always_there_only_left(self, surface: Surface) -> None:
        before, parent = (with_system(surface, f"{PADDING}\n{REMINDER}{END}", turns) for turns in ([], TURN))
        child = with_system(surface, f"{PADDING}\n{END}", MORE)
        assert first_of(parent, child, before).cause == "system_edited"

    def test_the_end_of_a_paragraph_is_no_section(self, surface: Surface) -> None:
        line = "Never use more than one tool at a time.\n"
        texts = [PADDING + END, PADDING + line + END, PADDING + END]
        before, parent, child = (
            with_system(surface, text, turns) for text, turns in zip(texts, ([], TURN, MORE), strict=True)
        )
        assert first_of(parent, child, before).cause == "system_edited"

    def test_the_lineages_know_the_request_before(self, surface: Surface) -> None:
        lineages = Lineages()
        texts = [f"{PADDING}\n", f"{PADDING}\n{REMINDER}", f"{PADDING}\n"]
        placed = [
            lineages.place(with_system(surface, text, turns))
            for text, turns in zip(texts, ([], TURN, MORE), strict=True)
        ]
        assert [one.parent_index for one in placed] == [None, 0, 1]
        assert [one.before is None for one in placed] == [True, True, False]
        last = with_system(surface, texts[2], MORE)
        assert placed[2].parent is not None
        assert first_of(placed[2].parent, last, placed[2].before).cause == "section_toggle"


def test_a_whole_block_of_the_system_prompt() -> None:
    def sent(*texts: str) -> PromptRequest:
        value = body(Surface.MESSAGES)
        return read({**value, "system": [{"type": "text", "text": text} for text in texts]}, Surface.MESSAGES)

    without, with_it = sent(PADDING, END), sent(PADDING, REMINDER, END)
    assert first_of(with_it, without, without).cause == "section_toggle"
    assert first_of(without, with_it, with_it).cause == "section_toggle"
    assert first_of(without, with_it, without).cause == "system_edited"
    inside = sent(f"{PADDING}\n{REMINDER}", END)
    assert first_of(inside, sent(f"{PADDING}\n", END), sent(f"{PADDING}\n", END)).cause == "section_toggle"


def shown(image: str) -> list[Item]:
    return [User("look at this", image=image), Assistant("I see.")]


@pytest.mark.parametrize("surface", SURFACES)
class TestImages:
    def test_images_that_go_and_come_back(self, surface: Surface) -> None:
        before = request(surface, history=shown(IMAGE))
        parent = request(surface, history=[*shown(""), *TURN])
        child = request(surface, history=[*shown(IMAGE), *MORE])
        found = first_of(parent, child, before)
        assert (found.cause, found.alongside) == ("image_toggle", ("history_rewritten",))
        assert first_of(parent, child).cause == "history_rewritten"

    def test_images_that_come_and_go_again(self, surface: Surface) -> None:
        before = request(surface, history=shown(""))
        parent = request(surface, history=[*shown(IMAGE), *TURN])
        child = request(surface, history=[*shown(""), *MORE])
        found = first_of(parent, child, before)
        assert (found.cause, found.alongside) == ("image_toggle", ("block_missing",))
        assert first_of(parent, child).cause == "block_missing"

    def test_a_new_image_that_is_gone_a_request_later_is_no_toggle(self, surface: Surface) -> None:
        before = request(surface, history=TURN)
        parent = request(surface, history=[*TURN, *shown(IMAGE)])
        child = request(surface, history=[*TURN, *shown(""), *MORE])
        assert first_of(parent, child, before).cause == "block_missing"

    def test_more_images_than_there_were_are_no_toggle(self, surface: Surface) -> None:
        before = request(surface, history=[*shown(IMAGE), *shown("")])
        parent = request(surface, history=[*shown(""), *shown(""), *TURN])
        child = request(surface, history=[*shown(IMAGE), *shown(IMAGE), *MORE])
        assert first_of(parent, child, before).cause == "history_rewritten"

    def test_one_image_of_two_is_no_toggle(self, surface: Surface) -> None:
        before = request(surface, history=[*shown(IMAGE), *shown(IMAGE)])
        parent = request(surface, history=[*shown(IMAGE), *shown(""), *TURN])
        child = request(surface, history=[*shown(IMAGE), *shown(IMAGE), *MORE])
        assert first_of(parent, child, before).cause == "history_rewritten"


def test_an_image_that_a_tool_returned() -> None:
    def sent(*, image: bool, more: tuple[Item, ...] = ()) -> PromptRequest:
        value = body(Surface.MESSAGES, history=[User("q"), Assistant("", ("c1", "shoot", "{}")), *more])
        source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
        part = {"type": "image", "source": source} if image else {"type": "text", "text": "[Image: a.png]"}
        answer = {"type": "tool_result", "tool_use_id": "c1", "content": [part]}
        value["messages"].insert(2, {"role": "user", "content": [answer]})
        return read(value, Surface.MESSAGES)

    with_it, without = sent(image=True), sent(image=False, more=(Assistant("a"), User("b")))
    replaced = first_of(with_it, without)
    assert (replaced.cause, replaced.alongside) == ("image_replaced", ())
    again = sent(image=True, more=(Assistant("a"), User("b"), Assistant("c"), User("d")))
    assert first_of(without, again, with_it).cause == "image_toggle"


def test_what_a_tool_returned_in_place_of_an_image() -> None:
    def sent(*parts: dict[str, Any]) -> PromptRequest:
        value = body(Surface.MESSAGES, history=[User("q"), Assistant("", ("c1", "shoot", "{}")), User("r")])
        answer = {"type": "tool_result", "tool_use_id": "c1", "content": list(parts)}
        value["messages"].insert(2, {"role": "user", "content": [answer]})
        return read(value, Surface.MESSAGES)

    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    told = {"type": "text", "text": "[Image: a.png]"}
    assert first_of(sent(told, image), sent(told, told)).cause == "image_replaced"
    assert first_of(sent(image), sent({"type": "search_result", "source": "a"})).cause == "history_rewritten"
    dropped = first_of(sent(told, image), sent(told))
    assert (dropped.cause, dropped.kinds) == ("image_replaced", ("dropped",))


def test_bodies_without_their_bytes_are_enough() -> None:
    before = read(body(Surface.RESPONSES, history=shown(IMAGE)), Surface.RESPONSES).without_body()
    parent = request(Surface.RESPONSES, history=[*shown(""), *TURN])
    child = request(Surface.RESPONSES, history=[*shown(IMAGE), *MORE])
    assert first_of(parent.without_body(), child, before).cause == "image_toggle"
