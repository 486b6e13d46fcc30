"""Histories that were sorted, joined, compacted, or whose media say the same under another address."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare, remedy_of
from coldturn.reference.prefix.causes.remedies import AS_SENT, BY_KIND
from coldturn.reference.prefix.model import Break, Comparison, Confidence, Surface, Zone
from prefix.bodies import PADDING, Assistant, Item, Result, User, body, history_key, read, request, tool
from prefix.surfaces import SURFACES

TOOLS = [tool(name) for name in ("alpha", "beta", "gamma")]
ANSWER = "The parcel left the depot this morning and will be there by noon."
LONG = "a line of the result\n" * 40


def broken(surface: Surface, before: list[Item], after: list[Item]) -> Break:
    found = compare(request(surface, history=before), request(surface, history=after)).first
    assert found is not None
    return found


def bodies(surface: Surface, before: dict[str, Any], after: dict[str, Any]) -> Break:
    found = compare(read(before, surface), read(after, surface)).first
    assert found is not None
    return found


def replaced(value: dict[str, Any], surface: Surface, items: list[Any]) -> dict[str, Any]:
    """The body with other messages; what stands in front of the first user's stays."""
    key = history_key(surface)
    return {**value, key: [*(one for one in value[key] if one.get("role") == "system"), *items]}


def calls(*names: str) -> list[Item]:
    return [User("q"), *(Assistant("", (name, "read_file", '{"path":"a"}')) for name in names)]


def results(*names: str) -> list[Item]:
    return [Result(name, f"what {name} found, and more of the same") for name in names]


LATER: list[list[Item]] = [
    [],
    [Assistant("done")],
    [Assistant("done"), User("next"), Assistant("so it is"), User("and more")],
    [Assistant("", ("c9", "read_file", '{"path":"b"}')), Result("c9", "ok")],
]


@pytest.mark.parametrize("surface", SURFACES)
class TestOrderAtTheEnd:
    """Results arrive as their calls end, and are sorted when they are sent again."""

    @pytest.mark.parametrize("later", LATER)
    @pytest.mark.parametrize(
        ("was", "now"), [("12", "21"), ("123", "321"), ("123", "231"), ("123", "312"), ("132", "123")]
    )
    def test_results_that_changed_places(
        self, surface: Surface, was: str, now: str, later: list[Item]
    ) -> None:
        front = calls(*sorted(was))
        found = broken(surface, [*front, *results(*was)], [*front, *results(*now), *later])
        assert (found.cause, found.later, found.delta_bytes) == ("message_block_reorder", (), 0)
        assert found.side == "child"

    @pytest.mark.parametrize("later", LATER)
    def test_messages_of_a_person(self, surface: Surface, later: list[Item]) -> None:
        one, two = User("The first of two questions."), User("And the second one, a little longer.")
        front: list[Item] = [User("q"), Assistant(ANSWER)]
        found = broken(surface, [*front, one, two], [*front, two, one, *later])
        assert (found.cause, found.later, found.delta_bytes) == ("message_block_reorder", (), 0)

    def test_one_that_is_gone_is_missing(self, surface: Surface) -> None:
        front = calls("1", "2")
        before = [*front, *results("1", "2")]
        found = broken(surface, before, [*front, *results("2"), Assistant(ANSWER), User("next")])
        assert (found.cause, found.later) == ("block_missing", ())

    def test_what_is_said_again_and_again_did_not_move(self, surface: Surface) -> None:
        before: list[Item] = [User("q"), Assistant("a"), User("go on"), Assistant("b"), User("go on")]
        after: list[Item] = [User("q"), Assistant("a"), Assistant("b"), User("go on"), User("go on")]
        assert broken(surface, before, after).cause == "block_missing"


@pytest.mark.parametrize("surface", [Surface.MESSAGES, Surface.GENERATE_CONTENT, Surface.CONVERSE])
@pytest.mark.parametrize("later", LATER)
def test_results_of_one_message_that_changed_places(surface: Surface, later: list[Item]) -> None:
    key = "parts" if surface is Surface.GENERATE_CONTENT else "content"

    def sent(order: str, more: list[Item]) -> dict[str, Any]:
        value = body(surface, history=[*calls("1", "2"), *results(*order), *more])
        messages = value[history_key(surface)]
        first, second = messages[3:5]
        joined = {**first, key: [*first[key], *second[key]]}
        return {**value, history_key(surface): [*messages[:3], joined, *messages[5:]]}

    found = bodies(surface, sent("12", []), sent("21", later))
    assert (found.cause, found.later, found.delta_bytes) == ("message_block_reorder", (), 0)


COMPACTION = {
    Surface.RESPONSES: {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB" * 20},
    Surface.MESSAGES: {
        "role": "assistant",
        "content": [{"type": "compaction", "content": "The depot was searched; nothing was found."}],
    },
}


@pytest.mark.parametrize("surface", COMPACTION)
class TestCompactionItems:
    """An item that a provider writes for earlier messages, with some of them beside it."""

    def turns(self) -> list[Item]:
        front: list[Item] = []
        for number in range(3):
            call = Assistant("", (f"c{number}", "read_file", '{"path":"a"}'), "Let me read that file first.")
            front += [User(f"question {number}"), call, Result(f"c{number}", LONG), Assistant(ANSWER)]
        return front

    def compacted(self, surface: Surface, *kept: Item, behind: tuple[Item, ...] = ()) -> Break:
        value = body(surface, history=self.turns())
        items = [
            *body(surface, history=list(kept))[history_key(surface)][: len(kept)],
            COMPACTION[surface],
            *body(surface, history=[*behind, User("and now the tests")])[history_key(surface)],
        ]
        return bodies(surface, value, replaced(value, surface, items))

    def test_nothing_else_is_kept(self, surface: Surface) -> None:
        found = self.compacted(surface)
        assert (found.cause, found.planned, found.later) == ("compaction", True, ())
        assert found.confidence is Confidence.OBSERVED

    def test_what_people_said_is_kept(self, surface: Surface) -> None:
        kept = [User(f"question {number}") for number in range(3)]
        found = self.compacted(surface, *kept)
        assert (found.cause, found.planned, found.later) == ("compaction", True, ())
        gone = request(surface, history=self.turns()[1:])
        again = request(surface, history=kept[1:])
        item = read(replaced(body(surface), surface, [COMPACTION[surface]]), surface)
        extra = request(surface, history=[User("q")]).content_bytes - 1
        assert found.delta_bytes == item.content_bytes + again.content_bytes - extra - gone.content_bytes

    def test_the_latest_of_it_is_kept(self, surface: Surface) -> None:
        found = self.compacted(surface, User("question 2"))
        assert (found.cause, found.planned, found.later) == ("compaction", True, ())

    def test_the_end_is_kept_behind_it(self, surface: Surface) -> None:
        kept, behind = (User("question 0"),), tuple(self.turns()[8:])
        found = self.compacted(surface, *kept, behind=behind)
        assert (found.cause, found.planned, found.later) == ("compaction", True, ())
        gone = request(surface, history=self.turns()[1:8])
        item = read(replaced(body(surface), surface, [COMPACTION[surface]]), surface)
        assert found.delta_bytes == item.content_bytes - gone.content_bytes

    def test_one_that_was_there_before_explains_nothing(self, surface: Surface) -> None:
        value = body(surface)
        front, behind = (
            body(surface, history=more)[history_key(surface)] for more in (self.turns()[:1], self.turns())
        )
        lost = body(surface, history=[User("a question that is left out")])[history_key(surface)]
        before = replaced(value, surface, [*front, *lost, COMPACTION[surface], *behind])
        found = bodies(surface, before, replaced(value, surface, [*front, COMPACTION[surface], *behind]))
        assert (found.cause, found.planned) == ("block_missing", False)

    def test_a_later_one_takes_the_place_of_an_earlier_one(self, surface: Surface) -> None:
        value = body(surface, history=[User("go on")])
        other = json.loads(
            json.dumps(COMPACTION[surface]).replace("gAAAAB", "gAAAAC").replace("depot", "harbour")
        )
        before, after = (
            replaced(value, surface, [one, *body(surface, history=more)[history_key(surface)]])
            for one, more in ((COMPACTION[surface], self.turns()[:1]), (other, self.turns()))
        )
        found = bodies(surface, before, after)
        assert (found.cause, found.planned, found.later) == ("compaction", True, ())

    def test_one_appended_behind_a_rewritten_message_explains_nothing(self, surface: Surface) -> None:
        value = body(surface, history=[User("q"), Assistant(f"As I said: {ANSWER}"), User("next")])
        after = body(surface, history=[User("q"), Assistant(f"I say so: {ANSWER}"), User("next")])
        after[history_key(surface)] += [COMPACTION[surface], *body(surface)[history_key(surface)]]
        found = bodies(surface, value, after)
        assert (found.cause, found.planned) == ("history_rewritten", False)


GLUE = ["", "\n", "\n\n", " "]


@pytest.mark.parametrize("surface", SURFACES)
class TestJoined:
    ONE, TWO = "The first of two questions.", "And the second one, a little longer."

    @pytest.mark.parametrize("glue", GLUE)
    @pytest.mark.parametrize("later", LATER)
    def test_two_messages_in_one(self, surface: Surface, glue: str, later: list[Item]) -> None:
        before: list[Item] = [User(self.ONE), User(self.TWO)]
        after: list[Item] = [User(f"{self.ONE}{glue}{self.TWO}")]
        found = broken(surface, before, [*after, *later])
        assert (found.cause, found.later, found.delta_bytes) == ("message_merge", (), len(glue))

    @pytest.mark.parametrize("glue", GLUE)
    def test_also_with_messages_behind(self, surface: Surface, glue: str) -> None:
        rest: list[Item] = [Assistant(ANSWER), User("next")]
        before: list[Item] = [User(self.ONE), User(self.TWO), *rest]
        after: list[Item] = [User(f"{self.ONE}{glue}{self.TWO}"), *rest, Assistant("done")]
        assert broken(surface, before, after).cause == "message_merge"
        assert broken(surface, after[:-1], [*before, Assistant("done")]).cause == "message_merge"

    def test_the_boundary_is_shown(self, surface: Surface) -> None:
        joined: list[Item] = [User(self.ONE + self.TWO), Assistant(ANSWER)]
        apart: list[Item] = [User(self.ONE), User(self.TWO), Assistant(ANSWER)]
        for before, after, shows in ((apart, joined, "was"), (joined, apart, "now")):
            found = broken(surface, before, [*after, User("next")])
            texts = {"was": found.was, "now": found.now}
            changed = {"was": found.was_changed, "now": found.now_changed}[shows]
            assert '"role":"user"' in texts.pop(shows)
            assert changed
            assert "role" not in texts.popitem()[1]

    @pytest.mark.parametrize("later", LATER)
    def test_two_messages_as_two_parts_of_one(self, surface: Surface, later: list[Item]) -> None:
        before: list[Item] = [User(self.ONE), User(self.TWO)]
        found = broken(surface, before, [User(self.ONE, self.TWO), *later])
        assert (found.cause, found.later, found.delta_bytes) == ("message_merge", (), 0)

    def test_other_words_are_no_merge(self, surface: Surface) -> None:
        before: list[Item] = [User(self.ONE), User(self.TWO), Assistant(ANSWER)]
        after: list[Item] = [User(f"{self.ONE} And another one."), Assistant(ANSWER)]
        assert broken(surface, before, after).cause == "history_rewritten"

    def test_two_speakers_are_no_merge(self, surface: Surface) -> None:
        before: list[Item] = [User("q"), Assistant(self.ONE), User(self.TWO), Assistant(ANSWER)]
        after: list[Item] = [User("q"), Assistant(self.ONE + self.TWO), Assistant(ANSWER)]
        assert broken(surface, before, after).cause != "message_merge"


def test_a_text_that_joins_the_results_in_front_of_it() -> None:
    front = [*calls("1"), *results("1")]
    before = body(Surface.MESSAGES, history=[*front, User("go on"), Assistant("done")])
    joined = {
        "role": "user",
        "content": [*before["messages"][2]["content"], *before["messages"][3]["content"]],
    }
    after = {**before, "messages": [*before["messages"][:2], joined, before["messages"][4]]}
    for was, now in ((before, after), (after, before)):
        found = bodies(Surface.MESSAGES, was, now)
        assert (found.cause, found.later) == ("message_merge", ())


SIGNED = "https://files.example.com/depot/{}.png?Expires={}&Signature={}"


def media(surface: Surface, address: str) -> dict[str, Any]:
    """A message with an image that the provider fetches."""
    part = {
        Surface.MESSAGES: {"type": "image", "source": {"type": "url", "url": address}},
        Surface.CHAT_COMPLETIONS: {"type": "image_url", "image_url": {"url": address}},
        Surface.RESPONSES: {"type": "input_image", "image_url": address},
        Surface.GENERATE_CONTENT: {"fileData": {"mimeType": "image/png", "fileUri": address}},
        Surface.CONVERSE: {
            "document": {"format": "pdf", "name": "d", "source": {"s3Location": {"uri": address}}}
        },
    }[surface]
    return {"role": "user", "parts" if surface is Surface.GENERATE_CONTENT else "content": [part]}


@pytest.mark.parametrize("surface", SURFACES)
class TestAddresses:
    def pair(self, surface: Surface, was: str, now: str, *later: Item) -> Break:
        value = body(surface, history=[User("look at this"), Assistant(ANSWER)])
        rest = body(surface, history=[Assistant(ANSWER), User("next"), *later])[history_key(surface)]
        rest = [one for one in rest if one.get("role") != "system"]
        before = replaced(value, surface, [media(surface, was), *rest[:1]])
        return bodies(surface, before, replaced(value, surface, [media(surface, now), *rest]))

    def test_signed_anew(self, surface: Surface) -> None:
        was, now = SIGNED.format("a", 1000, "ab12" * 8), SIGNED.format("a", 2000, "cd34" * 8)
        found = self.pair(surface, was, now, Assistant("ok"))
        assert (found.cause, found.kinds, found.harmless) == ("history_rewritten", ("url",), False)
        assert found.later == ()

    def test_as_the_last_that_was_sent(self, surface: Surface) -> None:
        value = body(surface)
        was, now = SIGNED.format("a", 1000, "ab12" * 8), SIGNED.format("a", 2000, "cd34" * 8)
        found = bodies(
            surface,
            replaced(value, surface, [media(surface, was)]),
            replaced(value, surface, [media(surface, now), *body(surface)[history_key(surface)][-1:]]),
        )
        assert (found.kinds, found.harmless) == (("url",), False)

    def test_another_file_is_another_text(self, surface: Surface) -> None:
        was, now = SIGNED.format("a", 1000, "ab12" * 8), SIGNED.format("b", 2000, "cd34" * 8)
        assert "url" not in self.pair(surface, was, now, Assistant("ok")).kinds


@pytest.mark.parametrize("surface", [Surface.MESSAGES, Surface.CONVERSE])
def test_citations_turned_on(surface: Surface) -> None:
    def sent(**more: object) -> dict[str, Any]:
        source = {"type": "text", "media_type": "text/plain", "data": LONG}
        part = {
            Surface.MESSAGES: {"type": "document", "source": source, **more},
            Surface.CONVERSE: {"document": {"name": "d", "source": {"text": LONG}, **more}},
        }[surface]
        value = body(surface, history=[User("q"), Assistant(ANSWER)])
        value["messages"][0]["content"].insert(0, part)
        return value

    on = {"citations": {"enabled": True}}
    for was, now in (({}, on), (on, {}), (on, {"citations": {"enabled": False}})):
        found = bodies(surface, sent(**was), sent(**now))
        assert (found.cause, found.kinds, found.harmless) == ("history_rewritten", ("citations",), False)
        assert remedy_of(found.cause, found.zone, found.kinds) == BY_KIND["citations"]
    assert bodies(surface, sent(), sent(title="a")).kinds == ()
    assert bodies(surface, sent(), sent(title="a", **on)).kinds == ()


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "alpha", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": LONG}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAB" * 20}
NEXT = {"role": "user", "content": "next"}


class TestItemReferences:
    """The Responses format takes the id of a stored item in place of the item."""

    def pair(self, was: Sequence[object], now: Sequence[object]) -> Break:
        def sent(items: Sequence[object]) -> dict[str, Any]:
            return {
                "model": "m",
                "instructions": PADDING,
                "input": [{"role": "user", "content": "q"}, *items],
            }

        return bodies(Surface.RESPONSES, sent(was), sent(now))

    def reference(self, name: str) -> dict[str, Any]:
        return {"type": "item_reference", "id": name}

    def test_in_place_of_the_items_that_it_names(self) -> None:
        whole = [THOUGHT, CALL, RESULT]
        named = [self.reference("rs_1"), self.reference("fc_1"), RESULT]
        for was, now in (
            (whole, [*named, NEXT]),
            (named, [*whole, NEXT]),
            (whole[:2], named),
            (named[:2], [*whole, NEXT]),
        ):
            found = self.pair(was, now)
            assert (found.cause, found.kinds) == ("history_rewritten", ("item_reference",))
            assert (found.harmless, found.confidence) == (True, Confidence.INFERRED)
            assert found.later == ()
            assert remedy_of(found.cause, found.zone, found.kinds) == BY_KIND["item_reference"]

    def test_of_other_items_it_is_a_break(self) -> None:
        found = self.pair([CALL, RESULT], [self.reference("fc_2"), RESULT, NEXT])
        assert (found.kinds, found.harmless) == (("item_reference",), False)
        assert found.confidence is Confidence.OBSERVED

    def test_beside_another_item_it_is_no_shorthand(self) -> None:
        other = {"role": "user", "content": "a question that was put in between"}
        found = self.pair([CALL, RESULT, NEXT], [self.reference("fc_1"), other, RESULT, NEXT])
        assert (found.cause, found.kinds, found.harmless) == ("history_rewritten", (), False)

    def test_with_another_change_behind_it_is_no_harmless_one(self) -> None:
        was = [CALL, RESULT, {"role": "assistant", "content": "a\r\nb"}, NEXT]
        now = [self.reference("fc_1"), RESULT, {"role": "assistant", "content": "a\nb"}, NEXT]
        found = self.pair(was, now)
        assert (found.kinds, found.harmless) == (("item_reference",), False)
        assert [one.cause for one in found.later] == ["whitespace_drift"]


@pytest.mark.parametrize("surface", SURFACES)
class TestOtherConversations:
    FIRST = User("Find out why the parcel from the depot is late.")
    OTHER = User("List the files in which the depot's address stands.")
    CLOCKS = f"It is 10:01.\n{PADDING}", f"It is 10:02.\n{PADDING}"

    def compared(
        self,
        surface: Surface,
        before: list[Item],
        after: list[Item],
        *,
        kept: tuple[int, ...] = (1,),
        systems: tuple[str, str] = (PADDING, PADDING),
    ) -> Comparison:
        parent = request(surface, system=systems[0], tools=TOOLS, history=before)
        some = [TOOLS[number] for number in kept]
        return compare(parent, request(surface, system=systems[1], tools=some, history=after))

    @pytest.mark.parametrize("kept", [(0,), (1,), (0, 2), (2, 1)])
    @pytest.mark.parametrize("rest", [[], [Assistant(ANSWER), User("next")]])
    def test_a_helper_with_some_of_the_tools(
        self, surface: Surface, kept: tuple[int, ...], rest: list[Item]
    ) -> None:
        found = self.compared(surface, [self.FIRST, *rest], [self.OTHER], kept=kept).first
        assert found is not None
        assert (found.cause, found.kinds) == ("tool_removed", ("new_conversation",))
        assert (found.harmless, found.lost_bytes, found.later) == (True, 0, ())

    def test_one_that_takes_the_conversation_over_is_a_break(self, surface: Surface) -> None:
        talk: list[Item] = [self.FIRST, Assistant(ANSWER), User("next")]
        for after in (talk, [*talk, Assistant("so it is"), self.OTHER], [*talk[1:], self.OTHER], talk[:1]):
            found = self.compared(surface, talk, after).first
            assert found is not None
            assert (found.cause, found.harmless) == ("tool_removed", False)

    def test_a_helper_whose_question_is_written_by_the_same_template(self, surface: Surface) -> None:
        end = "\n\nSolve it step by step, and say at the end where you looked and what is not sure."
        rest: list[Item] = [Assistant(ANSWER), User("next")]
        found = self.compared(
            surface, [User(self.FIRST.text + end), *rest], [User(self.OTHER.text + end)]
        ).first
        assert found is not None
        assert (found.kinds, found.harmless) == (("new_conversation",), True)

    def test_nor_is_one_that_repeats_a_call(self, surface: Surface) -> None:
        call: list[Item] = [Assistant("", ("c1", "alpha", "{}")), Result("c1", "ok")]
        found = self.compared(surface, [self.FIRST, *call], [self.OTHER, *call]).first
        assert found is not None
        assert (found.cause, found.harmless) == ("tool_removed", False)

    def test_with_a_clock_besides_it_is_a_break(self, surface: Surface) -> None:
        found = self.compared(surface, [self.FIRST], [self.OTHER], systems=self.CLOCKS).first
        assert found is not None
        assert (found.cause, found.harmless) == ("tool_removed", False)
        assert [one.cause for one in found.later] == ["clock_in_prefix"]

    def test_a_message_left_out_behind_a_clock_is_told(self, surface: Surface) -> None:
        talk: list[Item] = [self.FIRST, Assistant(ANSWER), User("next"), Assistant(LONG), User("more")]
        found = self.compared(
            surface, talk, [talk[0], *talk[2:], Assistant("ok")], kept=(0, 1, 2), systems=self.CLOCKS
        ).first
        assert found is not None
        assert [one.cause for one in found.later] == ["block_missing"]

    def test_an_address_signed_anew_behind_a_clock_is_told(self, surface: Surface) -> None:
        before, after = (
            replaced(
                body(surface, system=system), surface, [media(surface, SIGNED.format("a", at, "ab12" * 8))]
            )
            for system, at in zip(self.CLOCKS, (1000, 2000), strict=True)
        )
        if surface is Surface.CHAT_COMPLETIONS:
            assert before["messages"][0]["role"] == "system"
        found = bodies(surface, before, after)
        assert [one.cause for one in found.later] == ["history_rewritten"]

    def test_a_compaction_beside_it_is_no_helper(self, surface: Surface) -> None:
        talk: list[Item] = [self.FIRST, Assistant(LONG), User("next"), Assistant(LONG), User("more")]
        summary: list[Item] = [User("Summary of the conversation so far: the depot was searched.")]
        found = self.compared(surface, talk, summary).first
        assert found is not None
        assert (found.cause, found.harmless) == ("tool_removed", False)
        assert [one.cause for one in found.later] == ["compaction"]

    @pytest.mark.parametrize(
        "rest", [[], [Assistant(ANSWER), User("next")], [Assistant("Yes."), User("next")]]
    )
    def test_a_clock_in_front_of_another_conversation_stands_alone(
        self, surface: Surface, rest: list[Item]
    ) -> None:
        before: list[Item] = [self.FIRST, *rest]
        after: list[Item] = [self.OTHER]
        found = self.compared(surface, before, after, kept=(0, 1, 2), systems=self.CLOCKS).first
        assert found is not None
        assert (found.cause, found.harmless, found.later) == ("clock_in_prefix", False, ())

    def test_nor_are_thoughts_of_the_other_one_stripped(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant(ANSWER, thought="Let me see what it says there."), User("next")]
        for kept, systems in (((0, 1, 2), self.CLOCKS), ((1,), (PADDING, PADDING))):
            found = self.compared(
                surface, [self.FIRST, *rest], [self.OTHER], kept=kept, systems=systems
            ).first
            assert found is not None
            assert (found.harmless, found.later) == (len(kept) == 1, ())

    def test_in_front_of_a_rewritten_history_it_does_not(self, surface: Surface) -> None:
        rest: list[Item] = [Assistant(ANSWER), User("next")]
        before, after = [self.FIRST, *rest], [self.OTHER, *rest, Assistant("so it is")]
        found = self.compared(surface, before, after, kept=(0, 1, 2), systems=self.CLOCKS).first
        assert found is not None
        assert [one.cause for one in found.later] == ["history_rewritten"]

    def test_nor_where_the_rest_is_too_short_to_tell(self, surface: Surface) -> None:
        before: list[Item] = [self.FIRST, Assistant("Yes.")]
        after: list[Item] = [self.OTHER, Assistant("Yes."), User("next")]
        found = self.compared(surface, before, after, kept=(0, 1, 2), systems=self.CLOCKS).first
        assert found is not None
        assert [one.cause for one in found.later] == ["history_rewritten"]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_time_in_a_result_is_sent_as_it_was_first_sent(surface: Surface) -> None:
    def sent(time: str) -> list[Item]:
        return [*calls("1"), Result("1", f"fetched at 2026-11-25T{time}Z, all is well"), Assistant(ANSWER)]

    found = broken(surface, sent("14:10:09"), [*sent("14:11:42"), User("next")])
    assert (found.cause, found.zone) == ("clock_in_prefix", Zone.HISTORY)
    assert remedy_of(found.cause, found.zone, found.kinds) == AS_SENT
    assert remedy_of(found.cause, Zone.SYSTEM, found.kinds) != AS_SENT


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("was", "now"),
    [
        (
            "fetched at 2026-11-25T14:10:09Z\nfrom the depot\nall is well",
            "fetched at 2026-11-25T14:11:42Z\nfrom the depot\nall of it is lost",
        ),
        ("request 3f2504e0-4f89-41d3-9a0c-0305e82c3301", "request 9c5b94b1-35ad-49bb-b118-8e8fc24abf80"),
    ],
)
def test_a_result_that_says_anything_else_anew_is_rewritten(surface: Surface, was: str, now: str) -> None:
    before, after = ([*calls("1"), Result("1", text), Assistant(ANSWER)] for text in (was, now))
    found = broken(surface, before, [*after, User("next")])
    causes = {found.cause, *(one.cause for one in found.later)}
    assert "history_rewritten" in causes
    assert "random_id_in_system" not in causes
