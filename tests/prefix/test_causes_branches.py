"""Requests that begin alike and part: another conversation, a fork, a text that goes on. No breaks."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Comparison, Confidence, Surface
from prefix.bodies import PADDING, Assistant, Item, Result, User, body, read, request, tool
from prefix.surfaces import SURFACES

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

    def test_another_task_under_the_same_template(self, surface: Surface) -> None:
        end = "Solve it step by step, and show the final answer in a box at the end.\n" * 3
        before: list[Item] = [User(f"Task: add 2 and 3.\n{end}"), Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, before, [User(f"Task: name a depot.\n{end}")]))
        assert (first.kinds, first.harmless) == (("new_conversation",), True)

    def test_a_message_sent_again_with_other_words_leaves_the_answer(self, surface: Surface) -> None:
        front: list[Item] = [User("Where is it?"), Assistant(ANSWER)]
        before = [*front, User(f"Fix it. {ANSWER}"), Assistant(f"No. {ANSWER}"), User("Go on.")]
        first = found(compared(surface, before, [*front, User(f"Leave it. {ANSWER}")]))
        assert (first.kinds, first.harmless) == (("fork",), True)

    def test_what_a_program_says_after_each_failure_is_nobodys_conversation(self, surface: Surface) -> None:
        again = "Your last output did not call a tool. Please call exactly one tool."
        before: list[Item] = [User("q"), Assistant(f"I fixed it. {ANSWER}"), User(again)]
        after: list[Item] = [User("q"), Assistant("", ("c1", "alpha", "{}")), Result("c1", "no"), User(again)]
        first = found(compared(surface, before, [*after, Assistant("So I did.")]))
        assert (first.kinds, first.harmless) == (("fork",), True)

    def test_the_same_call_in_another_conversation_has_another_id(self, surface: Surface) -> None:
        read_it = '{"path":"the/same/file/for/everybody.py"}'
        before: list[Item] = [User("Fix a."), Assistant("", ("c1", "alpha", read_it)), Result("c1", ANSWER)]
        after: list[Item] = [User("Name b."), Assistant("", ("d2", "alpha", read_it)), Result("d2", ANSWER)]
        first = found(compared(surface, before, after))
        assert (first.kinds, first.harmless) == (("new_conversation",), True)

    def test_one_line_of_many_makes_no_conversation(self, surface: Surface) -> None:
        line = "Answer with one of these words: yes, no, perhaps.\n"
        texts = ["".join(f"{word} number {n} of the text to judge\n" for n in range(20)) for word in "AB"]
        first = found(compared(surface, [User(f"A{texts[0]}{line}!")], [User(f"B{texts[1]}{line}?")]))
        assert (first.kinds, first.harmless) == (("new_conversation",), True)

    def test_one_short_answer_is_anybodys(self, surface: Surface) -> None:
        before: list[Item] = [User("Fix a."), Assistant("Yes.")]
        first = found(compared(surface, before, [User("Name b."), Assistant("Yes."), User("Go.")]))
        assert first.harmless

    def test_short_messages_that_people_send_anywhere(self, surface: Surface) -> None:
        rest: list[Item] = [User("Go."), User("On.")]
        first = found(compared(surface, [User("Fix a."), *rest], [User("Name b."), *rest]))
        assert first.harmless

    def test_a_last_message_that_moves_along_at_the_end(self, surface: Surface) -> None:
        last = User("Who of the team speaks next? Answer with a name and a reason.\n" * 3)
        front: list[Item] = [User("q"), Assistant(ANSWER)]
        first = found(compared(surface, [*front, last], [*front, Assistant(f"Me. {ANSWER}"), last]))
        assert (first.kinds, first.harmless) == (("moved_suffix",), True)
        said = "Who of the team speaks next? Answer with a name and a reason."
        one = found(compared(surface, [User(f"Log:\nA.\n{said}")], [User(f"Log:\nA.\nB was here.\n{said}")]))
        assert (one.kinds, one.harmless) == (("moved_suffix",), True)
        left = found(
            compared(surface, [*front, last, Assistant(f"You. {ANSWER}")], [*front, Assistant("I am."), last])
        )
        assert left.kinds == ("fork",)

    def test_reminders_that_every_conversation_has_do_not_count(self, surface: Surface) -> None:
        note = "<system-reminder>The list of things to do is empty just now.</system-reminder>"
        before: list[Item] = [User("Where is it?", note), Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, before, [User("Write the docs.", note), Assistant("Done.")]))
        assert (first.kinds, first.harmless) == (("new_conversation",), True)


TITLE = "You write titles of at most five words for what people ask about.\n" * 8


@pytest.mark.parametrize("surface", SURFACES)
class TestSideCalls:
    """Another agent: another prompt, and none of the tools."""

    QUESTION = User(f"Where is it? {PADDING}")

    def side(self, surface: Surface, before: list[Item], after: list[Item], model: str = "") -> Break:
        value = body(surface, system=TITLE, history=after)
        if model and "model" in value:
            value["model"] = model
        return found(compare(request(surface, tools=TOOLS, history=before), read(value, surface)))

    def test_a_title_made_of_the_first_message(self, surface: Surface) -> None:
        before: list[Item] = [self.QUESTION, Assistant(f"{PADDING}{ANSWER}"), User("Thanks.")]
        first = self.side(surface, before, [self.QUESTION])
        assert (first.cause, first.kinds, first.harmless) == ("tool_removed", ("side_call",), True)
        assert (first.lost_bytes, first.later, first.confidence) == (0, (), Confidence.INFERRED)

    def test_a_smaller_model_that_looks_at_all_of_it(self, surface: Surface) -> None:
        before: list[Item] = [self.QUESTION]
        in_the_body = surface not in {Surface.GENERATE_CONTENT, Surface.CONVERSE}
        # Elsewhere the model stands in the address, which a body alone does not tell.
        assert self.side(surface, before, before, "tiny").harmless is in_the_body
        assert not self.side(surface, before, before).harmless

    def test_a_look_at_more_than_half_is_no_side_call(self, surface: Surface) -> None:
        before: list[Item] = [self.QUESTION, Assistant(PADDING[: len(PADDING) // 2])]
        assert not self.side(surface, before, [self.QUESTION]).harmless

    def test_another_prompt_with_the_tools_kept_is_no_side_call(self, surface: Surface) -> None:
        before: list[Item] = [self.QUESTION]
        first = found(compared(surface, before, before, PADDING, TITLE))
        assert (first.cause, first.harmless) == ("system_replaced", False)
        talked: list[Item] = [self.QUESTION, Assistant(f"{PADDING}{ANSWER}"), User("Thanks.")]
        assert not found(compared(surface, talked, before, PADDING, TITLE)).harmless

    def test_a_sub_agent_of_its_own(self, surface: Surface) -> None:
        first = self.side(surface, [self.QUESTION, Assistant(ANSWER)], [User("Search depots.")])
        assert (first.kinds, first.harmless) == (("new_conversation",), True)

    def test_an_agent_that_takes_the_conversation_over_breaks_it(self, surface: Surface) -> None:
        before: list[Item] = [self.QUESTION, Assistant(ANSWER)]
        first = self.side(surface, before, [*before, User("Now you.")])
        assert (first.cause, first.harmless) == ("tool_removed", False)
        assert [one.cause for one in first.later] == ["system_replaced"]


@pytest.mark.parametrize("surface", SURFACES)
class TestBreaks:
    """What is sent again behind the place is paid again."""

    def test_an_edited_message_with_later_ones_repeated(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant(ANSWER), User("Thanks.")]
        first = found(compared(surface, [User("Where is it?"), *rest], [User("How is it?"), *rest]))
        assert (first.cause, first.harmless, first.kinds) == ("history_rewritten", False, ())
        assert first.lost_bytes > len(ANSWER)

    def test_a_history_without_its_answers(self, surface: Surface) -> None:
        asked = [User(f"Question {number}: {ANSWER}") for number in range(4)]
        before: list[Item] = [item for one in asked for item in (one, Assistant(f"{ANSWER} {one.text}"))]
        first = found(compared(surface, before, [*asked, Assistant("So it is.")]))
        assert (first.harmless, first.lost_bytes > 0) == (False, True)

    def test_answers_that_all_changed_between_messages_that_did_not(self, surface: Surface) -> None:
        asked = [User(f"Question {number}: {ANSWER}") for number in range(3)]
        before: list[Item] = [item for one in asked for item in (one, Assistant(f"Yes, {ANSWER} {one.text}"))]
        after: list[Item] = [item for one in asked for item in (one, Assistant("(answered)"))]
        assert not found(compared(surface, before, after)).harmless

    def test_an_edited_message_with_short_ones_repeated_in_order(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant("Yes."), User("Go.")]
        first = found(compared(surface, [User("Where is it?"), *rest], [User("Fix a."), *rest]))
        assert (first.cause, first.harmless) == ("history_rewritten", False)

    def test_an_answer_edited_in_front_of_its_long_end(self, surface: Surface) -> None:
        before: list[Item] = [User("q"), Assistant(f"First. {ANSWER}"), User("go on")]
        after: list[Item] = [User("q"), Assistant(f"Second. {ANSWER}"), User("go on"), Assistant("So.")]
        assert not found(compared(surface, before, after)).harmless

    def test_calls_sent_again_behind_an_edited_message(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant("", ("c1", "alpha", "{}")), Result("c1", "ok")]
        first = found(compared(surface, [User("Where is it?"), *rest], [User("How is it?"), *rest]))
        assert not first.harmless

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
