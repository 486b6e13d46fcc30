"""A last message that every request sends anew: that is where a moving text belongs."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes import compare, remedy_of
from coldturn.reference.prefix.causes.remedies import RENEWED
from coldturn.reference.prefix.model import Comparison, Confidence, Surface, Zone
from prefix.bodies import PADDING, Assistant, Item, Result, User, request
from prefix.surfaces import SURFACES

CALL = Assistant("", ("c1", "read_file", '{"path":"a"}'))
STEP: list[Item] = [CALL, Result("c1", "what the file holds")]
ANSWER = Assistant("The file was read, and there is nothing in it.")


def compared(surface: Surface, before: list[Item], after: list[Item]) -> Comparison:
    sides = (request(surface, system=PADDING, history=history) for history in (before, after))
    return compare(*sides)


def clock(minute: int) -> User:
    return User(f"Current time: 2026-11-30 09:{minute:02d}:00")


TODO = "What is open:\n\n- read all the files\n- write the report\n"


@pytest.mark.parametrize("surface", SURFACES)
class TestRenewedSuffix:
    @pytest.mark.parametrize(
        ("was", "now"),
        [
            (clock(1), clock(2)),
            (User("It is Monday."), User("It is Tuesday.")),
            (User(TODO), User(TODO + "- send the report\n")),
        ],
    )
    @pytest.mark.parametrize("between", [STEP, [*STEP, ANSWER], [ANSWER, User("And the other one?")]])
    def test_it_is_intact_and_told(self, surface: Surface, was: User, now: User, between: list[Item]) -> None:
        comparison = compared(surface, [User("q"), was], [User("q"), *between, now])
        found = comparison.first
        assert comparison.stable
        assert found is not None
        assert (found.cause, found.zone, found.kinds) == (
            "transient_tail_changed",
            Zone.TRANSIENT,
            ("renewed_suffix",),
        )
        assert (found.harmless, found.lost_bytes, found.confidence) == (True, 0, Confidence.INFERRED)
        assert found.delta_bytes == len(now.text) - len(was.text)
        assert remedy_of(found.cause, found.zone, found.kinds) == RENEWED

    def test_a_message_that_is_edited_is_none(self, surface: Surface) -> None:
        """Another message stands in its place, whatever the request ends with."""
        after = [User("q"), User("Read the second file."), *STEP, User("Read the third file.")]
        found = compared(surface, [User("q"), User("Read the first file.")], after).first
        assert found is not None
        assert "renewed_suffix" not in found.kinds

    def test_a_question_that_is_dropped_is_none(self, surface: Surface) -> None:
        after = [User("q"), *STEP, User("Something that has nothing to do with it at all, a new matter.")]
        comparison = compared(surface, [User("q"), User("Read the first file.")], after)
        assert comparison.first is None or "renewed_suffix" not in comparison.first.kinds

    def test_one_that_stays_in_the_history_as_well_is_no_suffix(self, surface: Surface) -> None:
        comparison = compared(surface, [User("q"), clock(1)], [User("q"), clock(1), *STEP, clock(2)])
        assert comparison.stable
        assert comparison.first is None

    def test_what_the_model_wrote_is_none(self, surface: Surface) -> None:
        before: list[Item] = [User("q"), Assistant("I begin at 09:01 and read.")]
        after: list[Item] = [User("q"), *STEP, Assistant("I begin at 09:02 and read.")]
        found = compared(surface, before, after).first
        assert found is not None
        assert "renewed_suffix" not in found.kinds

    def test_a_break_in_front_of_it_is_a_break(self, surface: Surface) -> None:
        before: list[Item] = [User("The first question, as it was."), *STEP, ANSWER, clock(1)]
        after: list[Item] = [User("The question, edited since."), *STEP, ANSWER, *STEP, clock(2)]
        comparison = compared(surface, before, after)
        assert not comparison.stable
        assert comparison.first is not None
        assert not comparison.first.harmless
