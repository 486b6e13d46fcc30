"""Causes that it takes three requests to see, through `explain`; and what else the bytes of a talk decide."""

from __future__ import annotations

from analysis.exchanges import ANTHROPIC, exchange
from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.reference.prefix.model import Surface
from prefix.bodies import PADDING, Assistant, Item, User, body

MODE = "## Mode\nPlan first, and change no file before the plan is agreed on.\n"
ANSWER = "The parcel left the depot this morning and will be there by noon."


def found(*talks: tuple[str, list[Item]]) -> list[Finding]:
    bodies = [body(Surface.MESSAGES, system=system, history=history) for system, history in talks]
    report = explain(exchange(one, ANTHROPIC) for one in bodies)
    return [one for one in report.breaks if one.zone.value != "none"]


def test_a_section_that_goes_in_and_out_is_named_at_its_second_turn_over() -> None:
    talk: list[Item] = [User("q")]
    talks: list[tuple[str, list[Item]]] = []
    for number in range(4):
        system = f"{PADDING}\n{MODE if number % 2 else ''}"
        talks.append((system, list(talk)))
        talk += [Assistant(f"{number}: {ANSWER}"), User(f"and {number}?")]
    causes = [(one.request, one.cause, one.kinds, one.verdict) for one in found(*talks)]
    assert [cause[:3] for cause in causes] == [
        (1, "system_edited", ()),
        (2, "section_toggle", ("out",)),
        (3, "section_toggle", ("in",)),
    ]
    assert all(verdict.unplanned for *_, verdict in causes)
    toggled = found(*talks)[1]
    assert [beside.cause for beside in toggled.alongside] == ["system_edited"]
    assert toggled.remedy is not None
    assert toggled.remedy.startswith("Send the section always or never")


def test_an_attempt_that_was_given_up_alarms_nobody() -> None:
    again = User("Your last output did not call a tool. Please call exactly one tool, and say why.\n" * 4)
    front: list[Item] = [User("q")]
    taken: list[Item] = [*front, Assistant("So be it.")]
    talks = [
        (PADDING, front),
        (PADDING, [*front, Assistant(f"First: {ANSWER}"), again]),
        (PADDING, taken),
        (PADDING, [*taken, Assistant(f"Second: {ANSWER}"), again]),
    ]
    assert [one.verdict for one in found(*talks) if one.verdict is not Verdict.BROKEN_HARMLESS] == []
