"""Whole conversations with a real server in memory: what moves in the prompt, policy by policy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import mcp_types as types
import pytest
from mcp.server.lowlevel import Server as LowLevelServer

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.observer import StepInfo
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.records import Described, ToolResult
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec, SkillSpec
from coldturn.reference.wire.model import RENDERED_SURFACES, Reply, ToolCall
from steps import Steps

HOUR = 3600 * 10**9
MODELS = {
    Surface.MESSAGES: "claude-opus-5",
    Surface.CHAT_COMPLETIONS: "gpt-5.6",
    Surface.RESPONSES: "gpt-5.5",
}


class Server(Protocol):
    """What this file uses of conftest's ToolServer."""

    server: LowLevelServer[Any]
    calls: list[tuple[str, dict[str, Any]]]
    answers: dict[str, Callable[[dict[str, Any]], types.CallToolResult]]


class Clock:
    """Moves on by 61 seconds whenever it is asked, so that every step has a minute of its own."""

    def __init__(self, start: int) -> None:
        self.now = start

    def time_ns(self) -> int:
        self.now += 61 * 10**9
        return self.now


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


@asynccontextmanager
async def talking(
    server: Server,
    policy: Policy,
    *replies: Reply,
    surface: Surface = Surface.RESPONSES,
    start: int = 1_780_315_200_000_000_000,
    preload: bool | None = False,
) -> AsyncIterator[tuple[Run, Steps]]:
    spec = AgentSpec(
        instructions="Be kind.",
        surface=surface,
        model=MODELS[surface],
        connections=(ConnectionSpec(id="git", description="Version control", preload=preload),),
        skills=(SkillSpec(name="review", description="How to review", body="Look twice."),),
    )
    store, observer = CatalogueStore(), Steps()
    try:
        async with Hub(Limits(backoff=None)) as hub:
            await hub.connect(spec.connections[0], lambda: server.server)
            yield (
                open_run(
                    spec,
                    policy,
                    Host(hub, store),
                    ScriptedModel(replies),
                    observer,
                    Clock(start),
                    memory="tea",
                ),
                observer,
            )
    finally:
        store.close()


def zone(info: StepInfo, name: Zone) -> str:
    return next(zone.hash for zone in info.ledger.zones if zone.zone is name)


def prefix(info: StepInfo, name: Zone) -> str:
    return next(zone.prefix_hash for zone in info.ledger.zones if zone.zone is name)


DISCOVERY = (
    Reply("", (call("mcp_list_tools", server="git"),)),
    Reply("", (call("mcp_describe_tool", server="git", tool="log"),)),
    Reply("", (call("mcp_describe_tool", server="git", tool="blame"),)),
    Reply("Found."),
    Reply("Again."),
)


@pytest.fixture
def git(tool_server: Callable[..., Server], tool: Callable[..., types.Tool]) -> Server:
    return tool_server(
        tool("log", "Shows the log.\nAt length.", path="string"), tool("blame", "Blames.", path="string")
    )


@pytest.mark.anyio
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_end_to_end_a_deferred_tool_is_listed_described_and_called(
    git: Server, surface: Surface
) -> None:
    replies = (
        *DISCOVERY[:2],
        Reply("", (call("mcp_call_tool", server="git", tool="log", input={"path": "a"}),)),
        Reply("Three commits."),
    )
    async with talking(git, POLICIES["stable"], *replies, surface=surface) as (run, observer):
        outcome = await run_turn(run, "What happened?")
        assert (outcome.answer, outcome.error, outcome.steps) == ("Three commits.", None, 4)
        results = [record for record in run.records if isinstance(record, ToolResult)]
        assert [(result.route, result.is_error) for result in results] == [("meta", False)] * 3
        assert git.calls == [("log", {"path": "a"})]
        assert [r for r in run.records if isinstance(r, Described)] == [Described(0, 1, "git", "log")]
        for info in observer.infos:
            assert prefix(info, Zone.TAIL) == prefix(observer.infos[0], Zone.TAIL)
            assert info.comparison is None or info.comparison.stable
        assert b"git: Version control" in observer.infos[0].body


def _prefix_stands_still(observer: Steps) -> bool:
    return len({prefix(info, Zone.SYSTEM) for info in observer.infos}) == 1


def _system_stands_still(observer: Steps) -> bool:
    return len({zone(info, Zone.SYSTEM) for info in observer.infos}) == 1


def _hints_stand_in_the_suffix_only(observer: Steps) -> bool:
    last = json.loads(observer.infos[3].body)
    hints = "- git__log: Shows the log."
    in_suffix = any(hints in part["text"] for row in last["input"] for part in row.get("content", ()))
    return in_suffix and hints not in last["instructions"]


@pytest.mark.requirement("RES-4")
@pytest.mark.anyio
@pytest.mark.parametrize(("name", "holds"), [("catalog-in-system", False), ("catalog-in-suffix", True)])
async def test_discovered_hints_leave_the_system_text_alone_only_in_the_suffix(
    name: str,
    holds: bool,
    git: Server,
) -> None:
    async with talking(git, POLICIES[name], *DISCOVERY) as (run, observer):
        await run_turn(run, "Look")
        assert _system_stands_still(observer) is holds
        assert _hints_stand_in_the_suffix_only(observer) is holds
        causes = {
            info.comparison.first.cause
            for info in observer.infos
            if info.comparison and info.comparison.first
        }
        later = {
            later.cause
            for info in observer.infos
            if info.comparison and info.comparison.first
            for later in info.comparison.first.later
        }
        # The schemas still go into the array, in front of everything: the fix is necessary, not sufficient.
        assert "tool_promoted" in causes
        assert ("catalog_growth" in later) is not holds


@pytest.mark.requirement("RES-3")
@pytest.mark.anyio
@pytest.mark.parametrize("name", ["stable", "catalog-in-system", "catalog-in-suffix"])
async def test_adjacent_turns_without_a_change_share_array_and_system_text(name: str, git: Server) -> None:
    async with talking(git, POLICIES[name], Reply("One"), Reply("Two"), Reply("Three")) as (run, observer):
        for text in "abc":
            await run_turn(run, text)
        assert _prefix_stands_still(observer)
        assert {prefix(info, Zone.TAIL) for info in observer.infos} == {prefix(observer.infos[0], Zone.TAIL)}


@pytest.mark.requirement("ZONE-2")
@pytest.mark.anyio
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_two_assemblies_an_hour_apart_share_the_hashes_of_zones_1_to_3(
    git: Server, surface: Surface
) -> None:
    seen: list[list[str]] = []
    transient: set[str] = set()
    for start in (1_780_315_200_000_000_000, 1_780_315_200_000_000_000 + HOUR):
        async with talking(git, POLICIES["stable"], *DISCOVERY, surface=surface, start=start) as (
            run,
            observer,
        ):
            await run_turn(run, "Look")
            await run_turn(run, "Again")
            seen.append([prefix(info, Zone.HISTORY) for info in observer.infos])
            transient.add(zone(observer.infos[0], Zone.TRANSIENT))
    assert seen[0] == seen[1]
    assert len(transient) == 2, "the hour shows where it belongs"


@pytest.mark.requirement("RES-2")
@pytest.mark.anyio
async def test_under_stable_memory_moves_between_turns_only_and_only_zone_2(git: Server) -> None:
    async with talking(git, POLICIES["stable"], *DISCOVERY) as (run, observer):
        await run_turn(run, "Look")
        run.set_memory("coffee")
        await run_turn(run, "Again")
    first, *within, after = observer.infos
    assert {prefix(info, Zone.TAIL) for info in within} == {prefix(first, Zone.TAIL)}
    assert prefix(after, Zone.SYSTEM) == prefix(first, Zone.SYSTEM)
    assert prefix(after, Zone.TAIL) != prefix(first, Zone.TAIL)
    assert after.comparison is not None
    assert after.comparison.first is not None
    assert after.comparison.first.cause == "memory_injection"


@pytest.mark.requirement("ZONE-6")
@pytest.mark.anyio
async def test_a_suffix_in_the_last_user_message_grows_after_a_discovery_and_is_gone_next_turn(
    git: Server,
) -> None:
    async with talking(git, POLICIES["catalog-in-suffix"], *DISCOVERY) as (run, observer):
        await run_turn(run, "Look")
        run.set_reminder("todo", "late")
        await run_turn(run, "Again")
    suffixes = [_user_parts(info, "Look")[1:] for info in observer.infos]
    assert suffixes[0] == suffixes[1], "frozen although the clock went on"
    assert "## Discovered Tools" not in suffixes[1][0]
    assert suffixes[2][0].count("\n- ") == 1
    assert suffixes[3][0].count("\n- ") == 2
    assert suffixes[3][0].startswith(suffixes[0][0].removesuffix("\n</system-reminder>"))
    assert suffixes[4] == []
    last = observer.infos[4].comparison
    assert last is not None
    assert last.first is not None
    assert last.first.cause == "transient_tail_removed"


def _user_parts(info: StepInfo, text: str) -> list[str]:
    rows = [row for row in json.loads(info.body)["input"] if row.get("role") == "user"]
    return next(
        [part["text"] for part in row["content"]] for row in rows if row["content"][0]["text"] == text
    )


@pytest.mark.requirement("ZONE-6")
@pytest.mark.anyio
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_persisted_suffixes_only_ever_append(git: Server, surface: Surface) -> None:
    policy = Policy(suffix_placement="persisted")
    async with talking(git, policy, *DISCOVERY, surface=surface) as (run, observer):
        await run_turn(run, "Look")
        run.set_reminder("todo", "[ ] tidy")
        await run_turn(run, "Again")
    for info in observer.infos[1:]:
        assert info.comparison is not None
        assert info.comparison.first is None
    assert observer.infos[-1].body.count(b"[ ] tidy") == 1


@pytest.mark.anyio
async def test_read_skill_and_the_reader_are_at_hand(git: Server) -> None:
    long = types.CallToolResult(content=[types.TextContent(type="text", text="0123456789" * 3000)])
    git.answers["log"] = lambda _given: long
    replies = (
        Reply("", (call("read_skill", name="review"), call("read_skill", name="nope"))),
        Reply("", (call("mcp_call_tool", server="git", tool="log", input={"path": "a"}),)),
        Reply("Long."),
    )
    async with talking(git, POLICIES["stable"], *replies) as (run, observer):
        await run_turn(run, "Look")
        skill, missing, log = [record for record in run.records if isinstance(record, ToolResult)]
        assert (skill.text, skill.is_error) == ("Look twice.", False)
        assert missing.is_error
        run.model = ScriptedModel(
            [Reply("", (call("read_tool_output", handle=log.handle, offset=800, limit=7),)), Reply("Read.")]
        )
        await run_turn(run, "Read on")
        (answer,) = [r for r in run.records if isinstance(r, ToolResult) and r.name == "read_tool_output"]
        assert answer.text.partition("\n")[2] == log.text[800:807]
        assert log.handle.encode() in observer.infos[3].body, "the preview gives the handle"


SCRIPT = """
import hashlib, anyio, json
from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.policy import POLICIES
from coldturn.reference.run import Host, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec, SkillSpec
from coldturn.reference.surface.model import HostResult, HostTool
from coldturn.reference.wire.model import RENDERED_SURFACES, Reply, ToolCall, ToolDefinition

class Clock:
    def time_ns(self):
        return 1_780_315_200_000_000_000

async def get(arguments):
    return HostResult("x" * arguments["n"])

names = ["zeta", "alpha", "mid", "beta"]
tools = tuple(HostTool(ToolDefinition(n, n, b'{"type":"object"}'), n, get) for n in names)
digest = hashlib.sha256()

async def main():
    for surface in RENDERED_SURFACES:
        for policy in POLICIES.values():
            model = ScriptedModel([
                Reply("", (ToolCall("a", "zeta", '{"n":30000}'), ToolCall("b", "mid", '{"n":5}'))),
                Reply("ok"), Reply("bye"),
            ])
            gone = (ConnectionSpec(id="gone"), ConnectionSpec(id="away"))
            spec = AgentSpec(surface=surface, connections=gone)
            store = CatalogueStore()
            async with Hub() as hub:
                run = open_run(spec, policy, Host(hub, store, tools), model, None, Clock(), memory="tea")
                for name in names:
                    run.set_reminder(name, name)
                await run_turn(run, "a")
                await run_turn(run, "b")
            store.close()
            for request in model.requests:
                digest.update(request.body)

anyio.run(main)
print(digest.hexdigest())
"""


@pytest.mark.requirement("ZONE-8")
def test_requests_are_the_same_bytes_under_three_hash_seeds() -> None:
    found = {
        subprocess.run(  # noqa: S603 - our own interpreter with our own script
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(found) == 1
    assert len(next(iter(found)).strip()) == 64
