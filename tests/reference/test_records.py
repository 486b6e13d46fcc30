from __future__ import annotations

import dataclasses

import pytest

from coldturn.reference.records import AssistantMessage, RecordLog, ToolResult, UserMessage


def result(
    handle: str, text: str, *, binary: tuple[str, ...] = (), schema_problem: str | None = None
) -> ToolResult:
    return ToolResult(
        turn=0,
        step=0,
        call_id="call_0001",
        name="look",
        handle=handle,
        text=text,
        is_error=False,
        route="direct",
        binary=binary,
        schema_problem=schema_problem,
    )


def test_the_log_only_grows_and_gives_out_no_way_to_change_it() -> None:
    log = RecordLog("run-1")
    log.append(UserMessage(0, "Go"))
    seen = log.records
    log.append(AssistantMessage(0, 0, "Done."))
    assert seen == (UserMessage(0, "Go"),)
    assert log.records == (*seen, AssistantMessage(0, 0, "Done."))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(log.records[0], "text", "Stop")  # noqa: B010 - a type checker would refuse the plain form


def test_a_result_is_found_by_its_handle_and_nothing_else_is() -> None:
    log = RecordLog("run-1")
    handle = log.new_handle()
    assert log.result(handle) is None
    log.append(UserMessage(0, handle))
    assert log.result(handle) is None
    log.append(result(handle, "text"))
    assert log.result(handle) == result(handle, "text")
    assert log.result("call_0001") is None


@pytest.mark.requirement("BIG-6")
def test_what_is_shown_is_the_whole_text_and_what_is_told_of_the_rest() -> None:
    assert result("r1", "text").shown == "text"
    assert result("r1", "").shown == ""
    assert result("r1", "", binary=("[image]",)).shown == "[image]"
    shown = result("r1", "text", binary=("[image]",), schema_problem="n: not a number").shown
    assert shown == "text\n[image]\n[This result does not fit the tool's output schema: n: not a number]"
