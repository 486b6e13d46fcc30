"""What the recording program is made of: the changing server, the repository, the scrubber."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
import pytest
from mcp import Client

from coldturn.replay.demo_recording.changing_server import build_server
from coldturn.replay.demo_recording.scrub import UncleanRecordingError, ensure_clean, machine_names, scrub
from coldturn.replay.demo_recording.servers import launch, quiet_environment
from coldturn.replay.demo_recording.workspace import build_workspace, tariff

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="building the repository takes git")


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


async def text(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    return "".join(block.text for block in result.content if block.type == "text")


@pytest.mark.anyio
async def test_each_change_of_the_trackers_tools_is_announced() -> None:
    async with (
        Client(build_server(), cache=None) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        before = await names(client)
        announced = aiter(changes)

        await text(client, "start_milestone", name="spring")
        await anext(announced)
        unlocked = await names(client)
        assert unlocked - before == {"assign_to_milestone", "milestone_status"}

        await text(client, "set_issue_template", sections=["where", "what"])
        await anext(announced)
        edited = {tool.name: tool.description for tool in (await client.list_tools()).tools}
        assert edited.keys() == unlocked
        assert (edited["create_issue"] or "").endswith("in this order: where, what.")

        await text(client, "finish_import")
        await anext(announced)
        assert unlocked - await names(client) == {"import_legacy_issue"}


@pytest.mark.anyio
async def test_the_tracker_keeps_what_it_is_told() -> None:
    async with Client(build_server(), cache=None) as client:
        assert "Created #53" in await text(client, "create_issue", title="New", body="One")
        await text(client, "add_comment", number=53, text="Seen")
        await text(client, "start_milestone", name="spring")
        await text(client, "assign_to_milestone", number=53)
        assert await text(client, "milestone_status") == "spring: 1 open\n#53 open [spring] New (1 comments)"
        assert "> Seen" in await text(client, "get_issue", number=53)
        assert "#53" not in await text(client, "list_issues", label="backlog")


@pytest.mark.anyio
async def test_a_mistake_is_an_ordinary_tool_error_that_helps() -> None:
    async with Client(build_server(), cache=None) as client:
        result = await client.call_tool("get_issue", {"number": 7})
        assert result.is_error
        assert "list_issues shows the open ones" in await text(client, "get_issue", number=7)


def test_a_tariff_changes_one_zone_a_month_and_every_zone_in_april() -> None:
    def zones_changed(month: int) -> set[str]:
        before, after = (tariff(months).splitlines() for months in (month, month + 1))
        return {new.split(",")[0] for old, new in zip(before, after, strict=True) if old != new}

    assert zones_changed(12) == {"1", "2", "3", "4", "5", "6"}
    assert [len(zones_changed(month)) for month in (1, 2, 3, 13)] == [1, 1, 1, 1]


@needs_git
@pytest.mark.anyio
async def test_the_repository_is_the_same_whoever_builds_it(tmp_path: Path) -> None:
    heads = []
    for folder in ("one", "two"):
        environment = quiet_environment(tmp_path / folder)
        built = await build_workspace(tmp_path / folder, environment)
        git = await anyio.run_process(["git", "rev-parse", "HEAD"], cwd=built.repository, env=environment)
        heads.append(git.stdout)
        status = await anyio.run_process(
            ["git", "status", "--porcelain"], cwd=built.repository, env=environment
        )
        assert status.stdout == b""
        assert (built.wiki / "conventions.md").is_file()
    assert heads[0] == heads[1]


def test_servers_learn_nothing_of_whoever_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "made-up")
    started = launch(tmp_path, ("azmcp", "server", "start"), "0 +0000")
    assert started.environment["HOME"] == str(tmp_path / "nobody")
    assert "made-up" not in started.environment.values()
    assert started.environment["PATH"] == os.environ["PATH"]
    assert started.command[1:] == ("server", "start")


def test_scrubbing_keeps_the_length() -> None:
    clean = scrub(b"built on ci-runner-7 by ci-runner", ["ci-runner-7", "ci-runner"])
    assert clean == b"built on xxxxxxxxxxx by xxxxxxxxx"


def test_the_longest_name_is_replaced_first() -> None:
    names = machine_names()
    assert list(names) == sorted(names, key=lambda name: (-len(name), name))


@pytest.mark.parametrize(
    "bad",
    [
        b"sk-proj-0123456789abcdef0123",
        b"ghp_0123456789abcdefghij",
        b"AKIA0123456789ABCDEF",
        b"AccountKey=abcdefghijklmnopqrstuvwxyz",
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"/home/somebody/project",
        b"the host myhost",
    ],
)
def test_what_must_not_be_shipped_is_refused_and_named(bad: bytes) -> None:
    with pytest.raises(UncleanRecordingError) as refused:
        ensure_clean(b"before " + bad + b" after", ["myhost"])
    assert len(refused.value.found) == 1


def test_what_is_clean_passes() -> None:
    ensure_clean(b"max_tokens progressToken input_tokens /tmp/coldturn-demo/workspace", ["myhost"])
