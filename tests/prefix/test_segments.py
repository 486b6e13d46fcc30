"""Where texts are cut, what a segment's section is, and how much an edit leaves shared."""

from __future__ import annotations

import json
import random
import re

import pytest

from coldturn.reference.prefix import segments
from coldturn.reference.prefix.model import Segment
from coldturn.reference.prefix.segments import LONG, cut_json, cut_text


def pieces(text: str) -> list[tuple[str, str | None]]:
    content = text.encode()
    return [(content[one.start : one.end].decode(), one.section) for one in cut_text(content)]


def test_headings_and_blank_lines_cut_and_headings_name_what_follows() -> None:
    assert pieces("intro\n# One\nfirst\n\nsecond\n\n\n## Two\n- a\n- b\n") == [
        ("intro\n", None),
        ("# One\nfirst\n\n", "# One"),
        ("second\n\n\n", "# One"),
        ("## Two\n- a\n- b\n", "## Two"),
    ]


def test_tags_on_lines_of_their_own_name_what_they_hold() -> None:
    assert pieces(
        "# Top\nx\n<memory scope='user'>\nlikes tea\n## Facts\nmore\n</memory>\nrest <b>bold</b>\n"
    ) == [
        ("# Top\nx\n", "# Top"),
        ("<memory scope='user'>\nlikes tea\n", "<memory>"),
        ("## Facts\nmore\n</memory>\n", "## Facts"),
        ("rest <b>bold</b>\n", "# Top"),
    ]


def test_a_closing_tag_that_nothing_opened_changes_no_section() -> None:
    assert pieces("<a>\nx\n</b>\ny\n</a>\nz")[-2:] == [("y\n</a>\n", "<a>"), ("z", None)]


def test_a_tag_closed_on_its_own_line_holds_nothing_else() -> None:
    assert pieces("<note>x</note>\nafter\n") == [("<note>x</note>\nafter\n", None)]


@pytest.mark.parametrize("fence", ["```", "~~~~", "   ```"])
def test_code_fences_hide_headings_tags_and_blank_lines(fence: str) -> None:
    code = f"{fence}python\n# no heading\n\n<memory>\n```python\n{fence}\n"
    found = pieces(f"# Real\n{code}after\n## Next\n")
    assert found == [(f"# Real\n{code}after\n", "# Real"), ("## Next\n", "## Next")]


def test_line_ends_of_windows_are_line_ends() -> None:
    assert pieces("# One\r\na\r\n\r\nb\r\n## Two\r\nc") == [
        ("# One\r\na\r\n\r\n", "# One"),
        ("b\r\n", "# One"),
        ("## Two\r\nc", "## Two"),
    ]


def test_no_content_has_no_segments() -> None:
    assert cut_text(b"") == ()
    assert cut_json(b"") == ()


def shared(was: str, now: str) -> float:
    """The part of `now` whose segments `was` has too."""
    known = {one.digest for one in cut_text(was.encode())}
    return _size(one for one in cut_text(now.encode()) if one.digest in known) / len(now.encode())


def _size(segments: object) -> int:
    return sum(one.end - one.start for one in segments)  # type: ignore[attr-defined]


LINES = [f"- tool_{number}: does thing number {number} for the user" for number in range(120)]
SENTENCES = [f"Sentence number {number} says something; nothing much." for number in range(120)]


@pytest.mark.parametrize("separator", ["\n", "\n\n"])
def test_one_changed_line_leaves_the_rest_shared(separator: str) -> None:
    text = separator.join(LINES)
    assert len(text) > LONG
    for number in (0, 60, 119):
        edited = [*LINES[:number], "- other: line", *LINES[number + 1 :]]
        assert shared(text, separator.join(edited)) > 0.98
        inserted = [*LINES[:number], "- one: more", *LINES[number:]]
        assert shared(text, separator.join(inserted)) > 0.98


@pytest.mark.parametrize("number", [0, 60, 119])
def test_a_change_in_one_long_line_leaves_most_of_it_shared(number: int) -> None:
    text = " ".join(SENTENCES)
    edited = [
        *SENTENCES[:number],
        "Something else, at another length.",
        *SENTENCES[number + 1 :],
    ]
    assert shared(text, " ".join(edited)) > 0.5


def test_cuts_in_one_line_of_json_fall_in_step_again() -> None:
    for seed in range(20):
        numbers = random.Random(seed)  # noqa: S311 - made-up rows
        rows = [{"id": numbers.randrange(10**6), "note": _words(numbers), "on": True} for _ in range(150)]
        was = json.dumps(rows, separators=(",", ":")).encode()
        rows[numbers.randrange(100)]["note"] = _words(numbers)
        now = json.dumps(rows, separators=(",", ":")).encode()
        known = {one.digest for one in cut_json(was)}
        assert _size(one for one in cut_json(now) if one.digest in known) > 0.6 * len(now)


def _words(numbers: random.Random) -> str:
    return " ".join(
        numbers.choices(["one", "two", "three", "four", "five", "six", "seven"], k=numbers.randrange(3, 14))
    )


def test_padding_without_separators_is_shared_too() -> None:
    assert shared("10:01 " + "x" * 8000, "10:02 " + "x" * 8000) > 0.7


def test_no_cut_splits_a_character() -> None:
    content = ("é😀" * 3000).encode()
    for cut in (cut_text, cut_json):
        found = cut(content)
        assert len(found) > 2
        assert "".join(content[one.start : one.end].decode() for one in found).encode() == content


def test_equal_bytes_have_equal_digests_wherever_they_stand() -> None:
    first: tuple[Segment, ...] = cut_text(b"a\n\nb\n\n")
    second = cut_text(b"b\n\na\n\n")
    assert {one.digest for one in first} == {one.digest for one in second}
    assert len({one.digest for one in first}) == 2


@pytest.mark.parametrize("separator", [b" ", b", ", b". ", b"\\n", b"] ", b"x"])
def test_long_lines_are_cut_where_trying_every_place_would_cut(separator: bytes) -> None:
    half = b"[%b]" % re.escape(bytes(byte for byte in range(256) if byte.bit_count() % 2))
    slow = re.compile(rb"%b.%b(?:[.!?;:]\s|\\n|[,}\]>])" % (half, half), re.DOTALL)
    words = [b"%x" % (number * 2654435761 % 4294967296) for number in range(4000)]
    content = separator.join(words)
    cuts, position = [], 0
    while len(content) - position > segments.LONG:
        window = position + segments.STRIDE, position + segments.LONG
        found = slow.search(content, *window) or re.compile(rb"[\s,]").search(content, *window)
        position = window[1] if found is None else found.end()
        cuts.append(position)
    assert [one.end for one in cut_json(content)][:-1] == cuts
