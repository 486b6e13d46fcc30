"""Causes inside the system prompt and its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Labels, Surface, Zone
from prefix.bodies import PADDING, Assistant, Tool, User, body, read, request, tool
from prefix.surfaces import SURFACES


def broken(
    before: str, after: str, surface: Surface = Surface.RESPONSES, tools: Sequence[Tool] = ()
) -> Break:
    found = compare(
        request(surface, system=before, tools=tools), request(surface, system=after, tools=tools)
    ).first
    assert found is not None
    return found


def told(found: Break) -> list[tuple[str, int | None]]:
    return [(found.cause, found.block_offset), *((one.cause, one.block_offset) for one in found.later)]


CLOCKS = [
    ("10:01", "10:02"),
    ("09:59:58", "10:00:01"),
    ("4:01 PM", "4:02 PM"),
    ("4 pm", "5 pm"),
    ("2026-05-26T04:39:04Z", "2026-05-26T05:01:36Z"),
    ("2026-05-26 04:39:04.123456+02:00", "2026-05-26 04:39:05.000001+02:00"),
    ("20260526T043904Z", "20260526T050136Z"),
    ("Tue, 26 May 2026 04:39:04 GMT", "Tue, 26 May 2026 05:01:36 GMT"),
    ("1779770344", "1779770401"),
    ("1779770344.25", "1779770344.75"),
    ("1779770344123", "1779770344999"),
    ("epoch 1779770344", "epoch 1781000000"),
]


@pytest.mark.parametrize(("before", "after"), CLOCKS)
def test_clocks_of_many_formats(before: str, after: str) -> None:
    found = broken(f"{PADDING}It is {before}.\n{PADDING}", f"{PADDING}It is {after}.\n{PADDING}")
    assert found.cause == "clock_in_prefix"
    assert found.later == ()


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("2026-05-26", "2026-05-27", "date_rollover"),
        ("26.05.2026", "27.05.2026", "date_rollover"),
        ("5/26/26", "5/27/26", "date_rollover"),
        ("May 26, 2026", "May 27, 2026", "date_rollover"),
        ("26 May", "27 May", "date_rollover"),
        ("Tuesday, May 26th", "Wednesday, May 27th", "date_rollover"),
        ("2026-05-26 23:59", "2026-05-27 00:01", "clock_in_prefix"),
        ("run 1234567890", "run 1987654321", "system_micro_drift"),
        ("version 1.2.3", "version 1.2.4", "system_micro_drift"),
        ("10:01", "May 26", "system_micro_drift"),
        ("10:01 and more", "10:02 and less", "system_micro_drift"),
        ("id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "id 01ARZ3NDEKTSV4RRFFQ69G5FAW", "random_id_in_system"),
        ("sess_8fk2jd83kd", "sess_9dk3jf82la", "random_id_in_system"),
        ("commit 0aaa9fff", "commit 36ee5abc", "random_id_in_system"),
        ("the defaced wall", "the effaced wall", "system_micro_drift"),
    ],
)
def test_what_is_no_clock(before: str, after: str, cause: str) -> None:
    assert broken(f"{PADDING}Say {before}.\n", f"{PADDING}Say {after}.\n").cause == cause


def test_a_date_that_moves_with_a_clock_is_named_beside_it() -> None:
    found = broken("It is 2026-05-26 23:59.\n" + PADDING, "It is 2026-05-27 00:01.\n" + PADDING)
    assert (found.cause, found.alongside) == ("clock_in_prefix", ("date_rollover",))


@pytest.mark.parametrize("surface", SURFACES)
def test_each_hunk_gets_its_own_cause_and_place(surface: Surface) -> None:
    def text(clock: str, line: str, rule: str) -> str:
        return (
            f"# Role\n\n{PADDING}\n## Current Time\n\n{clock}\n\n"
            f"## Tool Catalog\n\n- alpha: a\n{line}- gamma: c\n\n"
            f"## Rules\n\n{rule}\n\n## End\n\nThat is all.\n"
        )

    before = text("10:01", "", "Ask before you delete anything that others own.")
    after = text("10:02", "- beta: b\n", "Delete nothing without a word from its owner, ever.")
    found = broken(before, after, surface)
    assert told(found) == [
        ("clock_in_prefix", before.index("10:01") + 4),
        ("catalog_growth", after.index("beta")),
        ("system_edited", after.index("Delete nothing")),
    ]
    assert found.section == "## Current Time"
    assert found.delta_bytes == len(after) - len(before)


def test_lines_that_resemble_each_other_at_the_end_of_a_hunk_are_told_apart() -> None:
    before = f"{PADDING}Ask before you write.\nIt is 10:01.\nEnd.\n"
    after = f"{PADDING}Never delete what others own, whoever asks.\nKeep a list.\nIt is 10:02.\nEnd.\n"
    assert told(broken(before, after)) == [
        ("system_edited", len(PADDING)),
        ("clock_in_prefix", after.index("10:02") + 4),
    ]


@pytest.mark.parametrize("end", ["", "\n"])
def test_text_behind_a_last_line_without_end_is_one_addition(end: str) -> None:
    before = f"It is 10:01.\n{PADDING}Keep it short."
    after = f"It is 10:02.\n{PADDING}Keep it short.\nAnd name every source that you used.{end}"
    assert told(broken(before, after)) == [("clock_in_prefix", 10), ("system_edited", len(before))]
    assert told(broken(after, before)) == [("clock_in_prefix", 10), ("system_edited", len(before))]


def test_a_line_end_at_the_very_end_is_white_space() -> None:
    found = broken(PADDING + "Be brief.", PADDING + "Be brief.\n")
    assert told(found) == [("whitespace_drift", len(PADDING) + 9)]
    assert found.kinds == ("trailing",)


CATALOGUE = "## Tool Catalog\n\n- alpha: a\n- beta: b\n- gamma: c\n\n"


def catalogue(before: str, after: str, tools: Sequence[Tool] = ()) -> Break:
    return broken(PADDING + before + PADDING, PADDING + after + PADDING, tools=tools)


def test_lines_in_two_places_of_a_catalogue_are_one_growth() -> None:
    after = CATALOGUE.replace("- beta", "- aleph: x\n- beta").replace("- gamma", "- delta: y\n- gamma")
    found = catalogue(CATALOGUE, after)
    assert (found.cause, found.names, found.later) == ("catalog_growth", ("aleph", "delta"), ())
    assert found.section == "## Tool Catalog"
    assert found.delta_bytes == len("- aleph: x\n- delta: y\n")


def test_a_line_that_left_is_shrinkage_in_the_section_that_lost_it() -> None:
    found = catalogue(CATALOGUE, CATALOGUE.replace("- gamma: c\n\n", "\n"))
    assert (found.cause, found.names, found.section) == ("catalog_shrink", ("gamma",), "## Tool Catalog")
    tight = "## Tool Catalog\n- alpha: a\n- gamma: c\n## Next\n"
    found = catalogue(tight, tight.replace("- gamma: c\n", ""))
    assert (found.cause, found.section) == ("catalog_shrink", "## Tool Catalog")


def test_a_line_that_gave_way_to_another_is_growth_beside_shrinkage() -> None:
    found = catalogue(CATALOGUE, CATALOGUE.replace("- beta: b", "- delta: d"))
    assert (found.cause, found.names, found.alongside) == ("catalog_growth", ("delta",), ("catalog_shrink",))


def test_a_line_that_moved_is_neither() -> None:
    before = CATALOGUE.replace("- gamma", "- zeta: z\n- gamma")
    after = CATALOGUE.replace("- beta: b\n", "").replace("- gamma: c\n", "- zeta: z\n- gamma: c\n- beta: b\n")
    found = catalogue(before, after)
    assert (found.cause, found.kinds, found.names) == ("system_edited", ("line_order",), ("beta",))
    assert found.later == ()


def test_a_list_behind_the_catalogue_is_not_the_catalogue() -> None:
    todo = "## Reminders\n### todo\n1. Overview of the code\n2. Read the tests\n"
    before = f"{PADDING}{CATALOGUE}"
    for gap in ("", "\n"):
        for end in ("", "## End\nThat is all.\n"):
            found = broken(before + end, before + gap + todo + end)
            assert {found.cause, *(one.cause for one in found.later)} == {"system_edited"}
            back = broken(before + gap + todo + end, before + end)
            assert {back.cause, *(one.cause for one in back.later)} == {"system_edited"}


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_of_the_catalogue_and_a_section_behind_it_are_two_causes(end: str) -> None:
    before = f"{PADDING}## Tool Catalog\n- alpha: a{end}"
    after = f"{before.rstrip()}\n- beta: b\n## Reminders\nMind the gap, whatever you do.\n"
    assert told(broken(before, after)) == [
        ("catalog_growth", len(before)),
        ("system_edited", after.index("## Reminders")),
    ]


def test_an_edited_line_is_neither() -> None:
    found = catalogue(CATALOGUE, CATALOGUE.replace("- beta: b", "- beta: another text, which is longer"))
    assert found.cause == "system_edited"


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("Deferred tools: alpha, beta\n", "Deferred tools: alpha, beta, gamma\n", ("gamma",)),
        ("<tools>\nalpha\n</tools>\n", "<tools>\nalpha\nbeta\n</tools>\n", ("beta",)),
        (
            '<functions>\n<tool name="a">x</tool>\n</functions>\n',
            '<functions>\n<tool name="a">x</tool>\n<function>{"name": "b"}</function>\n</functions>\n',
            ("b",),
        ),
        (
            "# Tools\n\n| name | use |\n|---|---|\n| alpha | x |\n\n",
            "# Tools\n\n| name | use |\n|---|---|\n| alpha | x |\n| beta | y |\n\n",
            ("beta",),
        ),
        (
            "## Available tools\n\n1. **`alpha`** does x\n",
            "## Available tools\n\n1. **`alpha`** does x\n2. **`beta`** does y\n   on two lines\n",
            ("beta",),
        ),
        ("", "## Discovered tools\n\n- beta: b\n\n", ("beta",)),
    ],
)
def test_lists_of_tools_of_many_forms(before: str, after: str, names: tuple[str, ...]) -> None:
    found = catalogue(before, after)
    assert (found.cause, found.names) == ("catalog_growth", names)
    back = catalogue(after, before)
    assert (back.cause, back.names) == ("catalog_shrink", names)


def test_a_list_under_another_heading_is_known_by_the_tools_array() -> None:
    before, after = "## You can\n\n- alpha: a\n", "## You can\n\n- alpha: a\n- beta: a longer line\n"
    assert catalogue(before, after).cause == "system_edited"
    assert catalogue(before, after, tools=[tool("alpha"), tool("beta")]).cause == "catalog_growth"


@pytest.mark.parametrize(
    ("heading", "cause"),
    [
        ("## Available Skills", "skills_roster"),
        ("## Subagents", "subagent_roster"),
        ("## Memories", "memory_injection"),
        ("## House Rules", "system_edited"),
    ],
)
def test_the_same_lines_under_other_headings(heading: str, cause: str) -> None:
    before = f"{heading}\n\n- alpha: the first of all of them\n\n"
    found = catalogue(before, before.replace("\n\n- alpha", "\n\n- beta: one that comes before it\n- alpha"))
    assert found.cause == cause


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<mem>X</mem> and then\n", "<mem>Y</mem> and then\n"),
        (
            "<user_memories>\n- likes tea\n</user_memories>\n",
            "<user_memories>\n- likes\n- all\n</user_memories>\n",
        ),
        ("", "<memory>\nThe user lives in Bergen.\n</memory>\n"),
        ("# Recalled\n\nNothing.\n\n# Rules\n", "# Recalled\n\nThe user likes tea.\n\n# Rules\n"),
        ("## Memory\n\n### Facts\n\nA.\n", "## Memory\n\n### Facts\n\nB, and C.\n"),
    ],
)
def test_memories(before: str, after: str) -> None:
    found = catalogue(before, after)
    assert (found.cause, found.later) == ("memory_injection", ())
    assert catalogue(after, before).cause == "memory_injection"


def test_a_memory_of_a_tool_is_a_memory() -> None:
    before, after = "## Memory\n\n- beta: x\n", "## Memory\n\n- alpha: prefers it\n- beta: x\n"
    assert catalogue(before, after, [tool("alpha"), tool("beta")]).cause == "memory_injection"


def test_a_comment_in_a_code_block_is_no_heading() -> None:
    before = "## Rules\n\n```sh\n# load the memory\nmake\n```\n\n- alpha: the first rule of all\n"
    found = catalogue(before, before.replace("- alpha", "- omega: one more rule stands here\n- alpha"))
    assert (found.cause, found.section) == ("system_edited", "## Rules")


def test_a_section_beside_memories_is_none_of_them() -> None:
    before = "## Memory\n\nTea.\n\n## Rules\n\n- alpha: the first rule of all\n"
    after = before.replace("- alpha", "- omega: one more rule stands here\n- alpha")
    assert catalogue(before, after).cause == "system_edited"
    deeper = before.replace("## Rules", "### Rules")
    assert catalogue(deeper, after.replace("## Rules", "### Rules")).cause == "memory_injection"


def test_text_behind_a_closed_memory_is_none() -> None:
    before, after = (f"<memory>\ntea\n</memory>\nAlways answer {how}.\n" for how in ("briefly", "at length"))
    assert catalogue(before, after).cause == "system_micro_drift"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Working directory: /home/a\n", "Working directory: /home/b/c\n"),
        ("Current branch: main\n", "Current branch: fix/42\n"),
        ("Platform: linux\n", "Platform: darwin\n"),
        ("<env>\nModel: a\nShell: zsh\n</env>\n", "<env>\nModel: a\nShell: bash\nTerm: x\n</env>\n"),
    ],
)
def test_state_of_the_environment(before: str, after: str) -> None:
    assert catalogue(before, after).cause == "env_state"


def test_sections_in_another_order() -> None:
    one, other = f"## One\n\n{PADDING}\n", f"## Other\n\n{PADDING[:200]}\n\n"
    found = broken(one + other, other + one)
    assert (found.cause, found.later) == ("section_reorder", ())


def test_another_prompt() -> None:
    found = broken(PADDING, "Translate what you are given into Norwegian, nothing else.\n" * 30)
    assert (found.cause, found.later) == ("system_replaced", ())


def test_a_short_prompt_is_edited_and_not_replaced() -> None:
    found = broken("Be brief, and kind to everyone.", "Translate all that you get into Norwegian.")
    assert found.cause == "system_edited"


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("abc", "abd", "system_micro_drift"),
        ("a" * 15, "b" * 15, "system_micro_drift"),
        ("a" * 16, "b", "system_edited"),
        ("", "One more rule stands here now.", "system_edited"),
    ],
)
def test_what_no_rule_explains(before: str, after: str, cause: str) -> None:
    assert broken(f"{PADDING}x {before} y\n", f"{PADDING}x {after} y\n").cause == cause


def test_white_space_is_told_apart() -> None:
    found = broken(PADDING + "a\n\nb\n", PADDING + "a\nb\n")
    assert (found.cause, found.alongside) == ("whitespace_drift", ())


class TestTail:
    """Zone 2, which the runtime's labels tell."""

    PATHS: ClassVar = {
        Surface.MESSAGES: "$.system[1]",
        Surface.CHAT_COMPLETIONS: "$.messages[1]",
        Surface.RESPONSES: "$.input[0]",
        Surface.GENERATE_CONTENT: "$.systemInstruction.parts[1]",
        Surface.CONVERSE: "$.system[1]",
    }

    def with_tail(self, surface: Surface, tail: str) -> dict[str, Any]:
        value = body(surface, history=[User("q"), Assistant("a")])
        if surface is Surface.MESSAGES:
            value["system"].append({"type": "text", "text": tail})
        elif surface is Surface.CONVERSE:
            value["system"].append({"text": tail})
        elif surface is Surface.GENERATE_CONTENT:
            value["systemInstruction"]["parts"].append({"text": tail})
        elif surface is Surface.CHAT_COMPLETIONS:
            value["messages"].insert(1, {"role": "system", "content": tail})
        else:
            value["input"].insert(0, {"role": "developer", "content": tail})
        return value

    @pytest.mark.parametrize("surface", SURFACES)
    def test_whatever_changes_there_is_memory(self, surface: Surface) -> None:
        labels = Labels(zones={self.PATHS[surface]: Zone.TAIL})
        parent = read(self.with_tail(surface, "Ann likes tea."), surface, labels)
        child = read(self.with_tail(surface, "Ann likes coffee, and has a dog."), surface, labels)
        found = compare(parent, child).first
        assert found is not None
        assert (found.cause, found.zone, found.block_offset) == ("memory_injection", Zone.TAIL, 10)

    @pytest.mark.parametrize("surface", SURFACES)
    def test_a_tail_that_appears(self, surface: Surface) -> None:
        labels = Labels(zones={self.PATHS[surface]: Zone.TAIL})
        parent = read(body(surface, history=[User("q"), Assistant("a")]), surface)
        child = read(self.with_tail(surface, "Ann likes tea."), surface, labels)
        found = compare(parent, child).first
        assert found is not None
        assert (found.cause, found.zone, found.side) == ("memory_injection", Zone.TAIL, "child")
        back = compare(child, parent).first
        assert back is not None
        assert (back.cause, back.zone, back.side) == ("memory_injection", Zone.TAIL, "parent")

    def test_a_clock_there_is_a_clock(self) -> None:
        labels = Labels(zones={"$.system[1]": Zone.TAIL})
        parent, child = (
            read(self.with_tail(Surface.MESSAGES, f"It is {clock}."), Surface.MESSAGES, labels)
            for clock in ("10:01", "10:02")
        )
        found = compare(parent, child).first
        assert found is not None
        assert (found.cause, found.alongside) == ("clock_in_prefix", ("memory_injection",))


def test_system_blocks_that_come_go_and_change() -> None:
    def with_blocks(*texts: str) -> dict[str, Any]:
        value = body(Surface.MESSAGES)
        value["system"] = [{"type": "text", "text": text} for text in texts]
        return value

    def cause(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
        found = compare(
            read(with_blocks(*before), Surface.MESSAGES), read(with_blocks(*after), Surface.MESSAGES)
        ).first
        assert found is not None
        return found.cause, found.path, tuple(one.cause for one in found.later)

    billing = "x-anthropic-billing-header: cc_version=1; cch=36ee5;"
    assert cause((billing, PADDING), (billing.replace("36ee5", "0aaa9"), PADDING)) == (
        "attribution_nonce",
        "$.system[0]",
        (),
    )
    assert cause((PADDING,), (billing, PADDING)) == ("attribution_nonce", "$.system[0]", ())
    assert cause((PADDING, "Be brief."), (PADDING,)) == ("system_edited", "$.system[1]", ())
    assert cause(("At 10:01.", PADDING), ("At 10:02.", PADDING + "And be brief, too, in the end.")) == (
        "clock_in_prefix",
        "$.system[0]",
        ("system_edited",),
    )


def test_another_role_of_the_same_text() -> None:
    value = body(Surface.CHAT_COMPLETIONS)
    other = body(Surface.CHAT_COMPLETIONS)
    other["messages"][0]["role"] = "developer"
    found = compare(read(value, Surface.CHAT_COMPLETIONS), read(other, Surface.CHAT_COMPLETIONS)).first
    assert found is not None
    assert (found.cause, found.kinds, found.block_offset) == ("system_edited", ("role",), 0)
    assert (found.was, found.now) == ('{"role":"system"}', '{"role":"developer"}')
