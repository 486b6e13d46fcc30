"""The lint over zones 1 and 2: what will not stay as it is, and what it leaves alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.prompt.assembly import Assembly
from coldturn.reference.prompt.lint import lint_zones
from coldturn.reference.records import UserMessage
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import ToolSurface
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import RENDERED_SURFACES

NOON = 1_780_315_200_000_000_000
EMPTY = ToolSurface((), (), (), (), frozenset(), ())


def foreign(system: str, user: str = "hi") -> PromptRequest:
    body = {"system": system, "messages": [{"role": "user", "content": user}], "model": "m", "max_tokens": 1}
    return read_request(json.dumps(body).encode(), surface=Surface.MESSAGES)


def assembled(policy_name: str, surface: Surface, memory: str = "tea", reminder: str = "") -> PromptRequest:
    policy = POLICIES[policy_name]
    assembly = Assembly(AgentSpec(instructions="Be kind.", surface=surface), policy)
    assembly.add(UserMessage(0, "It is 12:34:56 and I am in /tmp/x"))
    assembly.begin_turn(memory)
    prompt = assembly.assemble(EMPTY, {"todo": reminder}, NOON).prompt
    encoded = encode(prompt, surface)
    return read_request(encoded.body, surface=surface, labels=encoded.labels)


@pytest.mark.requirement("ZONE-2")
@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("Current time: 10:01", "time", "10:01"),
        ("Log started 2026-05-26T04:39:04Z", "time", "2026-05-26T04:39:04Z"),
        ("at 04:39:04", "time", "04:39:04"),
        ("Today is Tuesday, May 26, 2026.", "date", "Tuesday, May 26, 2026"),
        ("It is now Monday, May 4, 2026 at 9:15 AM.", "time", "Monday, May 4, 2026 at 9:15 AM."),
        ("now=1780315200", "time", "1780315200"),
        ("Scratch: /var/folders/8f/x", "temp_path", "/var/folders/8f/x"),
        ("Run 123e4567-e89b-12d3-a456-426614174000", "id", "123e4567-e89b-12d3-a456-426614174000"),
        ("session sess_a1b2c3d4e5", "id", "sess_a1b2c3d4e5"),
        ("Is directory a git repo: yes", "git_state", "Is directory a git repo: yes"),
        ("Branch: main", "git_state", "Branch: main"),
        ("On branch feature/x", "git_state", "On branch feature/x"),
    ],
)
def test_what_will_move_is_found_with_its_place(text: str, kind: str, shown: str) -> None:
    first = lint_zones(foreign(f"# Agent\n\n## State\n\n{text}\n\n## Rules\n\nBe kind."))[0]
    assert (first.kind, first.text, first.zone, first.path) == (kind, shown, Zone.SYSTEM, "$.system")
    assert (first.section, first.mend != "") == ("## State", True)


@pytest.mark.requirement("ZONE-2")
@pytest.mark.parametrize(
    "text",
    [
        "The shop is open from 9:00 to 18:00.",
        "The law of 2016-04-27 holds; see Article 6.",
        "Use the colour 0a0b0c0d in charts.",
        "Prefer small branches: they merge well.",
        "Commit often. Write tests first.",
        "Ratio 3:45, port 8080, version 1.2.3",
    ],
)
def test_what_stands_still_is_left_alone(text: str) -> None:
    assert lint_zones(foreign(text)) == ()


@pytest.mark.requirement("ZONE-2")
def test_the_history_is_not_looked_at() -> None:
    assert lint_zones(foreign("Be kind.", "Current time: 10:01 in /tmp/x")) == ()


@pytest.mark.requirement("ZONE-2")
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
@pytest.mark.parametrize("name", list(POLICIES))
def test_the_runtimes_own_prompts_are_clean_unless_the_policy_puts_a_clock_on_top(
    name: str, surface: Surface
) -> None:
    found = lint_zones(assembled(name, surface))
    assert {one.kind for one in found} == ({"time"} if name == "naive" else set())
    if surface is not Surface.RESPONSES or name != "stable":
        return
    tail = lint_zones(assembled(name, surface, memory="Last seen now, 10:01"))
    assert [(one.kind, one.zone) for one in tail] == [("time", Zone.TAIL)]


def test_offsets_count_content_bytes() -> None:
    (found,) = lint_zones(foreign("é" * 10 + " now 10:01"))
    assert found.offset == len(("é" * 10 + " now ").encode())
    assert replace(found, text="").kind == "time"
