"""What a cause needs to be named: digits are no clock, a heading no catalogue, a few characters no drift."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.model import Break, Confidence, Labels, Surface, Zone
from coldturn.reference.prefix.request import read_request
from prefix.bodies import PADDING, read, request, tool
from prefix.surfaces import SURFACES


def broken(before: str, after: str) -> Break:
    found = compare(
        request(Surface.RESPONSES, system=f"{before}\n{PADDING}"),
        request(Surface.RESPONSES, system=f"{after}\n{PADDING}"),
    ).first
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Keep the ratio 1:20.", "Keep the ratio 1:30."),
        ("See verse 3:16.", "See verse 3:17."),
        ("Odds of 10:01", "Odds of 10:02"),
        ("Support: 1712345678", "Support: 1712345999"),
        ("Support: 4712345678", "Support: 4712345999"),
        ("Sometimes 1:20 overtimes", "Sometimes 1:30 overtimes"),
    ],
)
def test_digits_without_a_word_of_time_are_no_clock(before: str, after: str) -> None:
    assert broken(before, after).cause == "system_micro_drift"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## Current Time\n\n10:01", "## Current Time\n\n10:02"),
        ("<now>\n9:01\n</now>", "<now>\n9:02\n</now>"),
        ("currentTime=9:01", "currentTime=9:02"),
        ("current_time: 9:01", "current_time: 9:02"),
        ("Run 10:01:59", "Run 10:02:03"),
        ("Run 9:01 AM", "Run 9:02 AM"),
        ("Run 10:01Z", "Run 10:02Z"),
        ("Run 2026-05-26 10:01", "Run 2026-05-26 10:02"),
        ("Run 2026-05-26T10:01", "Run 2026-05-26T10:02"),
        ("Last run at 10:01", "Last run at 10:02"),
        ("Timestamp: 1712345678", "Timestamp: 1712345999"),
        ("## Now\n1712345678", "## Now\n1712345999"),
        ("Run 1712345678123", "Run 1712345679999"),
    ],
)
def test_times_that_say_so_are_clocks(before: str, after: str) -> None:
    assert broken(before, after).cause == "clock_in_prefix"


def test_a_word_of_time_counts_on_its_own_line_and_nearby_only() -> None:
    assert (
        broken("The time is short.\nRatio 1:20", "The time is short.\nRatio 1:30").cause
        == "system_micro_drift"
    )
    far = f"The time is short. {'Go on. ' * 10}"
    assert broken(f"{far}1:20", f"{far}1:30").cause == "system_micro_drift"


def test_in_a_tool_the_key_may_say_that_it_is_a_time() -> None:
    def told(before: str, after: str, key: str) -> str:
        rows = [tool("t", "Does it.", **{key: {"const": value}}) for value in (before, after)]
        found = compare(*(request(Surface.RESPONSES, tools=[row]) for row in rows)).first
        assert found is not None
        return found.cause

    assert told("9:01", "9:02", "start_time") == "clock_in_prefix"
    assert told("9:01", "9:02", "aspect") == "tool_edited"
    lines = "The time is short.\nRatio {}\nof the time"
    assert told(lines.format("9:01"), lines.format("9:02"), "aspect") == "tool_edited"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("gitStatus: dirty\nM a.py", "gitStatus: dirty\nM a.py\nM b.py"),
        ("gitStatus: dirty\nM a.py\n?? b.py", "gitStatus: dirty\nM a.py"),
        ("gitStatus: clean", "gitStatus: dirty"),
        ("Status:\n(clean)", "Status:\nM src/a.py\n?? b.py"),
        ("Recent commits:\n3f2b8c1 one", "Recent commits:\n99ab8c1 two\n3f2b8c1 one"),
        ("git branch: main\nLast commit: 3f2b8c1 fix", "git branch: main\nLast commit: 99ab8c1 add"),
        ("Last commit: 3f2b8c1a9 fix", "Last commit: 99ab8c1d7 fix"),
        ("Open files:\n- src/a.py", "Open files:\n- src/a.py\n- src/b.py"),
    ],
)
def test_the_state_of_a_working_copy(before: str, after: str) -> None:
    assert broken(before, after).cause == "env_state"


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("gitStatus: dirty\n\nM for Monday", "gitStatus: dirty\n\nM for Monday\nM for May", "system_edited"),
        ("Rules:\nM a.py", "Rules:\nM a.py\nM b.py", "system_edited"),
        ("gitStatus: dirty\nKeep still.", "gitStatus: dirty\nKeep still.\nBe kind.", "system_edited"),
        (
            "gitStatus: dirty\nKeep still.\nM a.py",
            "gitStatus: dirty\nKeep still.\nM a.py\nM b.py",
            "system_edited",
        ),
        ("Rules:\n3f2b8c1a9 one", "Rules:\n99ab8c1d7 one", "random_id_in_system"),
        ("Build 3f2b8c1a9", "Build 99ab8c1d7", "random_id_in_system"),
    ],
)
def test_what_only_looks_like_it(before: str, after: str, cause: str) -> None:
    assert broken(before, after).cause == cause


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("## Todo\n\n- write docs", "## Todo\n\n- write docs\n- call grep", "system_edited"),
        ("## Todo\n\n- write docs\n- grep", "## Todo\n\n- write docs", "system_edited"),
        ("Version 3", "Version 4", "system_micro_drift"),
    ],
)
def test_a_whole_line_is_no_micro_drift(before: str, after: str, cause: str) -> None:
    assert broken(before, after).cause == cause
    assert broken(after, before).cause == cause


@pytest.mark.parametrize(
    "heading", ["## Tools to avoid", "## Forbidden tools", "<never_use_tools>", "## Do not call"]
)
def test_a_list_of_what_not_to_use_is_no_catalogue(heading: str) -> None:
    before = f"{heading}\n\n- rm: no\n- dd: no"
    assert broken(before, f"{before}\n- kill: no").cause == "system_edited"
    assert broken("Tools to avoid: rm, dd", "Tools to avoid: rm, dd, kill").cause == "system_micro_drift"


def test_a_catalogue_is_still_one() -> None:
    before = "## Tools\n\n- rm: removes\n- dd: copies"
    found = broken(before, f"{before}\n- kill: ends")
    assert (found.cause, found.names, found.confidence) == ("catalog_growth", ("kill",), Confidence.OBSERVED)


@pytest.mark.parametrize("surface", SURFACES)
def test_lone_surrogates_that_differ_are_no_white_space(surface: Surface) -> None:
    body = request(surface, system=f"KEY {PADDING}").body
    ends = (b"a\\ud800b", b"a\\ud801b")
    found = compare(*(read_request(body.replace(b"KEY", end), surface=surface) for end in ends)).first
    assert found is not None
    assert found.cause == "system_micro_drift"
    assert "\ufffd" in found.was
    found.was.encode()


def _messages(*messages: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"model": "claude-opus-5", "max_tokens": 9, "system": PADDING, "messages": list(messages), **more}


def _told(before: dict[str, Any], after: dict[str, Any], surface: Surface = Surface.MESSAGES) -> Break:
    found = compare(read(before, surface), read(after, surface)).first
    assert found is not None
    return found


USER, DONE = {"role": "user", "content": "x"}, {"role": "assistant", "content": "Done."}
LAST = {"role": "user", "content": "And then?"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" * 50}}
TEXT = {"type": "text", "text": "see"}


@pytest.mark.parametrize("gone", [IMAGE, {"type": "text", "text": "and look"}])
def test_the_end_of_a_message_that_is_gone_while_others_follow(gone: dict[str, Any]) -> None:
    before = _messages({"role": "user", "content": [TEXT, gone]})
    after = _messages({"role": "user", "content": [TEXT]}, {"role": "assistant", "content": [TEXT]}, USER)
    found = _told(before, after)
    assert (found.cause, found.path, found.side) == ("block_missing", "$.messages[0].content[1]", "parent")
    assert (found.harmless, found.later) == (False, ())
    place = first_difference(read(before, Surface.MESSAGES), read(after, Surface.MESSAGES))
    assert place is not None
    assert (place.path, place.side) == (found.path, "parent")


def test_the_end_of_a_message_that_became_something_else() -> None:
    said = {"role": "user", "content": [TEXT, {"type": "text", "text": "[Image: a door]"}]}
    found = _told(_messages({"role": "user", "content": [TEXT, IMAGE]}), _messages(said, DONE, USER))
    assert (found.cause, found.path, found.side) == ("image_replaced", "$.messages[0].content[1]", "child")


@pytest.mark.parametrize("more", [[], [USER], [USER, DONE, LAST]])
def test_no_content_and_an_empty_text_are_an_empty_field(more: list[dict[str, Any]]) -> None:
    none, empty = {"role": "assistant", "content": []}, {"role": "assistant", "content": ""}
    for before, after in ((none, empty), (empty, none)):
        found = _told(_messages(USER, before, *more[:1]), _messages(USER, after, *more))
        assert (found.cause, found.path, found.later) == ("empty_field", "$.messages[1]", ())


def test_a_system_prompt_in_another_shape() -> None:
    blocks = [{"type": "text", "text": PADDING}]
    string, listed = _messages(USER), _messages(USER, system=blocks)
    for before, after in ((string, listed), (listed, string)):
        found = _told(before, after)
        assert (found.cause, found.zone.value, found.delta_bytes, found.later) == (
            "content_shape",
            "system",
            0,
            (),
        )

    def chat(content: object) -> dict[str, Any]:
        return {"model": "gpt-5.4", "messages": [{"role": "system", "content": content}, USER]}

    found = _told(chat(PADDING), chat(blocks), Surface.CHAT_COMPLETIONS)
    assert (found.cause, found.zone.value, found.later) == ("content_shape", "system", ())


def test_a_system_prompt_cut_in_two() -> None:
    whole = _messages(USER, system=[{"type": "text", "text": PADDING}])
    halves = [{"type": "text", "text": half} for half in (PADDING[:100], PADDING[100:])]
    found = _told(whole, _messages(USER, system=halves))
    assert (found.cause, found.path, found.block_offset, found.later) == (
        "content_shape",
        "$.system[0]",
        100,
        (),
    )
    other = [*halves, {"type": "text", "text": "And more."}]
    assert _told(whole, _messages(USER, system=other)).cause != "content_shape"


def test_a_role_is_no_shape() -> None:
    def chat(role: str) -> dict[str, Any]:
        return {"model": "gpt-5.4", "messages": [{"role": role, "content": PADDING}, USER]}

    system, developer = chat("system"), chat("developer")
    listed = [{"type": "text", "text": PADDING}]
    halves = [{"role": "developer", "content": half} for half in (PADDING[:100], PADDING[100:])]
    for after in (
        developer,
        {**developer, "messages": [{"role": "developer", "content": listed}, USER]},
        {**developer, "messages": [*halves, USER]},
    ):
        assert _told(system, after, Surface.CHAT_COMPLETIONS).cause == "system_edited"
    assert _told(system, developer, Surface.CHAT_COMPLETIONS).kinds == ("role",)


def test_a_part_that_gains_a_key_is_no_shape() -> None:
    cited = [{"type": "text", "text": PADDING, "citations": []}]
    found = _told(_messages(USER), _messages(USER, system=cited))
    assert (found.cause, found.kinds) == ("system_edited", ("header",))


def test_a_part_that_became_a_message_is_not_missing() -> None:
    other = {"type": "text", "text": "and look"}
    before = _messages({"role": "user", "content": [TEXT, other]})
    after = _messages({"role": "user", "content": [TEXT]}, {"role": "user", "content": [other]})
    found = _told(before, after)
    assert (found.cause != "block_missing", found.path, found.side) == (
        True,
        "$.messages[1].content[0]",
        "child",
    )
    place = first_difference(read(before, Surface.MESSAGES), read(after, Surface.MESSAGES))
    assert place is not None
    assert place.side == "child"


def test_what_only_begins_alike_does_not_go_on() -> None:
    """Another role of an empty text, and a number with another digit."""
    empty, other = {"role": "user", "content": ""}, {"role": "assistant", "content": ""}
    assert not compare(
        *(read(_messages(USER, DONE, last), Surface.MESSAGES) for last in (empty, other))
    ).stable
    rows = (_messages({"role": "user", "content": [number]}) for number in (1, 12))
    assert not compare(*(read(row, Surface.MESSAGES) for row in rows)).stable


def test_labels_decide_which_blocks_stand_in_a_zone() -> None:
    value = _messages(USER, DONE, LAST)
    plain = read(value, Surface.MESSAGES).lazy_blocks
    assert (plain.within({Zone.SYSTEM}), plain.within({Zone.HISTORY})) == ([0], [1, 2, 3])
    labelled = read(value, Surface.MESSAGES, Labels(zones={"$.messages[2]": Zone.TRANSIENT})).lazy_blocks
    assert (labelled.within({Zone.TRANSIENT}), labelled.within({Zone.HISTORY})) == ([3], [1, 2])
