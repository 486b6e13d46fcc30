"""Requests that begin alike and part: another conversation, a fork, a text that goes on. No breaks."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Comparison, Confidence, Surface
from coldturn.reference.wire.model import RENDERED_SURFACES
from prefix.bodies import PADDING, Assistant, Item, Result, User, request, tool

SURFACES = list(RENDERED_SURFACES)
TOOLS = [tool(name) for name in ("alpha", "beta")]
ANSWER = "The parcel left the depot this morning and will be there by noon."


def compared(surface: Surface, before: list[Item], after: list[Item], *systems: str) -> Comparison:
    old, new = systems or (PADDING, PADDING)
    parent = request(surface, system=old, tools=TOOLS, history=before)
    return compare(parent, request(surface, system=new, tools=TOOLS, history=after))


def found(comparison: Comparison) -> Break:
    assert comparison.first is not None
    return comparison.first


@pytest.mark.parametrize("surface", SURFACES)
class TestGoingOn:
    def test_a_last_message_that_goes_on_is_stable(self, surface: Surface) -> None:
        comparison = compared(surface, [User("A long question.")], [User("A long question. And more.")])
        assert comparison.stable
        assert comparison.first is None
        assert comparison.common_bytes == comparison.parent_bytes

    def test_also_when_messages_follow(self, surface: Surface) -> None:
        after: list[Item] = [User("A long question. And more."), Assistant(ANSWER), User("go on")]
        assert compared(surface, [User("A long question.")], after).stable

    def test_an_older_message_that_goes_on_is_a_break(self, surface: Surface) -> None:
        before: list[Item] = [User("A long question."), Assistant(ANSWER)]
        comparison = compared(surface, before, [User("A long question. And more."), *before[1:]])
        assert not comparison.stable
        assert (found(comparison).cause, found(comparison).harmless) == ("history_rewritten", False)

    def test_a_shorter_last_message_is_no_extension(self, surface: Surface) -> None:
        assert not compared(surface, [User("A long question.")], [User("A long")]).stable


@pytest.mark.parametrize("surface", SURFACES)
class TestBranches:
    def test_another_first_message_is_another_conversation(self, surface: Surface) -> None:
        before: list[Item] = [User("Where is it?"), Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, before, [User("Write the docs.")]))
        assert (first.cause, first.kinds) == ("history_rewritten", ("new_conversation",))
        assert (first.harmless, first.confidence) == (True, Confidence.INFERRED)
        assert (first.lost_bytes, first.later) == (0, ())

    def test_another_newest_message_is_a_fork(self, surface: Surface) -> None:
        front: list[Item] = [User("Where is it?"), Assistant(ANSWER)]
        first = found(compared(surface, [*front, User("Fix it.")], [*front, User("Leave it.")]))
        assert (first.cause, first.kinds, first.harmless) == ("history_rewritten", ("fork",), True)

    def test_a_fork_may_leave_much_behind(self, surface: Surface) -> None:
        front: list[Item] = [User("Where is it?"), Assistant(ANSWER)]
        left: list[Item] = [
            User("Fix it."),
            Assistant("", ("c1", "alpha", '{"path":"depot"}')),
            Result("c1", ANSWER),
        ]
        first = found(compared(surface, [*front, *left], [*front, User("Leave it."), Assistant("So be it.")]))
        assert (first.kinds, first.harmless) == (("fork",), True)

    def test_another_prompt_and_another_history_is_a_sub_agent(self, surface: Surface) -> None:
        systems = PADDING, "Search the web for what you are asked.\n" * 20
        first = found(compared(surface, [User("Where is it?")], [User("Search depots.")], *systems))
        assert (first.cause, first.kinds, first.harmless) == ("system_replaced", ("new_conversation",), True)

    def test_reminders_that_every_conversation_has_do_not_count(self, surface: Surface) -> None:
        note = "<system-reminder>The list of things to do is empty just now.</system-reminder>"
        before: list[Item] = [User("Where is it?", note), Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, before, [User("Write the docs.", note), Assistant("Done.")]))
        assert (first.kinds, first.harmless) == (("new_conversation",), True)


@pytest.mark.parametrize("surface", SURFACES)
class TestBreaks:
    """What is sent again behind the place is paid again."""

    def test_an_edited_message_with_later_ones_repeated(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, [User("Where is it?"), *rest], [User("How is it?"), *rest]))
        assert (first.cause, first.harmless, first.kinds) == ("history_rewritten", False, ())
        assert first.lost_bytes > len(ANSWER)

    def test_a_message_edited_in_front_of_its_long_end(self, surface: Surface) -> None:
        first = found(compared(surface, [User(f"First. {ANSWER}")], [User(f"Second. {ANSWER}")]))
        assert not first.harmless

    def test_a_message_edited_around_a_long_line(self, surface: Surface) -> None:
        first = found(
            compared(surface, [User(f"First.\n{ANSWER}\nOne.")], [User(f"Second.\n{ANSWER}\nTwo.")])
        )
        assert not first.harmless

    def test_an_edited_prompt_in_front_of_another_conversation(self, surface: Surface) -> None:
        systems = f"You help.\n{PADDING}", f"You search.\n{PADDING}"
        first = found(compared(surface, [User("Where is it?")], [User("Search depots.")], *systems))
        assert (first.zone.value, first.harmless) == ("system", False)

    def test_another_prompt_in_front_of_the_same_history(self, surface: Surface) -> None:
        history: list[Item] = [User("Where is it?"), Assistant(ANSWER)]
        first = found(compared(surface, history, history, PADDING, "Search the web.\n" * 40))
        assert (first.cause, first.harmless) == ("system_replaced", False)

    def test_another_prompt_with_nothing_else_changed(self, surface: Surface) -> None:
        first = found(compared(surface, [User("Hi")], [User("Hi")], PADDING, "Search the web.\n" * 40))
        assert (first.cause, first.harmless) == ("system_replaced", False)

    def test_a_clock_keeps_its_verdict(self, surface: Surface) -> None:
        systems = "## Current Time\n10:01", "## Current Time\n10:02"
        first = found(compared(surface, [User("Where is it?")], [User("Search depots.")], *systems))
        assert (first.cause, first.harmless) == ("clock_in_prefix", False)

    def test_a_compaction_keeps_its_verdict(self, surface: Surface) -> None:
        before: list[Item] = [User("Where is it?"), Assistant(ANSWER), User("Thanks."), Assistant("Fine.")]
        first = found(compared(surface, before, [User("Summary of the conversation so far: it left.")]))
        assert (first.cause, first.harmless) == ("compaction", False)
