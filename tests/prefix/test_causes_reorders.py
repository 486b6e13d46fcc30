"""The same blocks, parts or tools in another order: nothing came, nothing went, nothing toggles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import PADDING, Assistant, Item, User, body, read, request
from prefix.surfaces import SURFACES

RULES = "# Rules of the user\n\nName your sources, and say so when you have none.\n"
STYLE = "# Rules of the project\n\nAnswer in short sentences, and in the language of the question.\n"
OTHER = "# Words\n\nA turn is a question with all that it takes to answer it.\n"
TURN: list[Item] = [User("go on"), Assistant("1")]


def system_blocks(surface: Surface, texts: Sequence[str], history: Sequence[Item] = ()) -> PromptRequest:
    """A system prompt of several blocks, or messages, in the format's own way."""
    value: dict[str, Any] = body(surface, system=texts[0], history=[*history, User("go on")])
    if surface is Surface.MESSAGES:
        value["system"] = [{"type": "text", "text": text} for text in texts]
    elif surface is Surface.CONVERSE:
        value["system"] = [{"text": text} for text in texts]
    elif surface is Surface.GENERATE_CONTENT:
        value["systemInstruction"] = {"parts": [{"text": text} for text in texts]}
    elif surface is Surface.CHAT_COMPLETIONS:
        systems = [{"role": "system", "content": text} for text in texts]
        value["messages"] = [*systems, *value["messages"][1:]]
    else:
        said = [{"role": "developer", "content": [{"type": "input_text", "text": text}]} for text in texts]
        del value["instructions"]
        value["input"] = [*said, *value["input"]]
    return read(value, surface)


def first_of(parent: PromptRequest, child: PromptRequest, before: PromptRequest | None = None) -> Break:
    found = compare(parent, child, before).first
    assert found is not None
    return found


def causes(found: Break) -> list[str]:
    return [found.cause, *(later.cause for later in found.later)]


@pytest.mark.parametrize("surface", SURFACES)
class TestBlocks:
    def test_two_that_change_places_are_no_toggle(self, surface: Surface) -> None:
        before = system_blocks(surface, [PADDING, RULES, STYLE])
        parent = system_blocks(surface, [PADDING, RULES, STYLE], TURN)
        child = system_blocks(surface, [PADDING, STYLE, RULES], [*TURN, User("go on"), Assistant("2")])
        found = first_of(parent, child, before)
        assert (causes(found), found.delta_bytes, found.alongside) == (["section_reorder"], 0, ())
        assert found.confidence.value == "observed"

    def test_the_place_is_the_first_byte_that_differs(self, surface: Surface) -> None:
        parent = system_blocks(surface, [PADDING, RULES, STYLE, OTHER])
        for order in ([STYLE, RULES, OTHER], [OTHER, RULES, STYLE], [STYLE, OTHER, RULES]):
            found = first_of(parent, system_blocks(surface, [PADDING, *order]))
            assert (causes(found), found.delta_bytes) == (["section_reorder"], 0)
            common = len("# Rules of the ") if order[0] is STYLE else len("# ")
            assert found.block_offset in {common, 0}
            assert found.was.startswith(RULES[found.block_offset :][:20])
            assert found.now.startswith(order[0][found.block_offset :][:20])

    def test_an_edit_beside_it_is_told_as_well(self, surface: Surface) -> None:
        parent = system_blocks(surface, [PADDING, RULES, STYLE, "Be brief, and kind to all who ask.\n"])
        child = system_blocks(surface, [PADDING, STYLE, RULES, "Be brief, and rude to none who ask.\n"])
        assert causes(first_of(parent, child)) == ["section_reorder", "system_micro_drift"]
        child = system_blocks(surface, [f"{PADDING}Now 10:01:02.\n", STYLE, RULES])
        parent = system_blocks(surface, [f"{PADDING}Now 10:01:09.\n", RULES, STYLE])
        assert causes(first_of(parent, child)) == ["clock_in_prefix", "section_reorder"]

    def test_one_that_goes_in_and_out_is_still_a_toggle(self, surface: Surface) -> None:
        without, with_it = [PADDING, STYLE], [PADDING, RULES, STYLE]
        for old, middle in ((without, with_it), (with_it, without)):
            before, parent = system_blocks(surface, old), system_blocks(surface, middle, TURN)
            assert first_of(parent, system_blocks(surface, old, TURN), before).cause == "section_toggle"

    def test_a_second_copy_is_no_toggle(self, surface: Surface) -> None:
        before = system_blocks(surface, [PADDING, RULES, STYLE, RULES])
        parent = system_blocks(surface, [PADDING, RULES, STYLE], TURN)
        found = first_of(parent, system_blocks(surface, [PADDING, RULES, STYLE, RULES], TURN), before)
        assert found.cause == "system_edited"


def documents(*numbers: int, counted: bool = True) -> str:
    shown = (
        f'<document index="{place if counted else number}" source="kb/{number}.md">\n'
        f"What is known about matter {number}.\n\nAnd more of it: {'word ' * number}\n</document>\n"
        for place, number in enumerate(numbers, 1)
    )
    return f"{PADDING}\n<documents>\n{''.join(shown)}</documents>\n\n# Last\nBe kind.\n"


def examples(*answers: str, heading: str = "") -> str:
    shown = (f"{heading.format(place)}Q: {one}?\nA: {one}!" for place, one in enumerate(answers, 1))
    return f"{PADDING}\n## Examples\n\n" + "\n\n".join(shown)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("was", "now"),
    [
        (documents(7, 14, 3), documents(14, 7, 3)),
        (documents(7, 14, 3, counted=False), documents(3, 7, 14, counted=False)),
        (examples("a", "b", "c"), examples("c", "a", "b")),
        (
            examples("a", "b", heading="### Example {}\n"),
            examples("b", "a", heading="### Example {}\n"),
        ),
        (examples("a", "b", heading="Example {}:\n"), examples("b", "a", heading="Example {}:\n")),
        (examples("a", "b", heading="[{}] "), examples("b", "a", heading="[{}] ")),
    ],
)
def test_parts_of_one_text_in_another_order(surface: Surface, was: str, now: str) -> None:
    found = first_of(request(surface, system=was), request(surface, system=now))
    assert (causes(found), found.delta_bytes) == (["section_reorder"], 0)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (documents(7, 14, 3), documents(14, 7, 4)),
        (documents(7, 14, 3), documents(14, 7)),
        (documents(7, 14, 3), documents(7, 14, 3).replace('index="2"', 'index="9"')),
        (examples("a", "b", heading="### Example {}\n"), examples("b", "a", heading="### Example {}9\n")),
        (examples("a", "b"), examples("a", "b", "b")),
    ],
)
def test_parts_of_which_one_differs_are_not_only_in_another_order(was: str, now: str) -> None:
    found = first_of(request(Surface.MESSAGES, system=was), request(Surface.MESSAGES, system=now))
    assert "section_reorder" not in causes(found)
