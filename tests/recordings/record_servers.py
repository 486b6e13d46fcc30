"""Record real MCP servers for the tests: ``make record-servers``.

Installs the servers that `servers.toml` names below ``/tmp/coldturn-servers``, starts each behind the stdio
bridge in every protocol era that it speaks, asks what the file says, and writes one recording per server and
era beside it. Nothing else of a machine is in them, and the tests start none of these servers.
"""

from __future__ import annotations

import base64
import logging
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import anyio
from mcp import Client, MCPError
from pydantic import BaseModel

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.capture.clients import captured_stdio
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.demo_recording.scrub import ensure_clean, machine_names, scrub
from coldturn.replay.demo_recording.servers import install, launch

HERE = Path(__file__).parent
ROOT = Path("/tmp/coldturn-servers")  # noqa: S108 - a neutral path: paths are part of results
DATE = "1780000000 +0000"
_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

logger = logging.getLogger(__name__)


class Call(BaseModel):
    """One call that is recorded."""

    tool: str
    arguments: dict[str, Any]


class Server(BaseModel):
    """A server to record: where it comes from, how it is started, what it is asked."""

    id: str
    npm: str | None = None
    pypi: str | None = None
    command: list[str]
    modes: list[Literal["auto", "legacy"]]
    calls: list[Call]


def read_servers() -> list[Server]:
    """The servers of `servers.toml`."""
    text = (HERE / "servers.toml").read_text(encoding="utf-8")
    return [Server.model_validate(server) for server in tomllib.loads(text)["server"]]


def file_name(server: str, mode: str) -> str:
    """Where the recording of a server in one era stands."""
    return f"{server}.jsonl" if mode == "auto" else f"{server}-handshake.jsonl"


async def _build_workspace(environment: Mapping[str, str]) -> Path:
    """A repository with two commits and a change, the same bytes every time."""
    folder = ROOT / "workspace"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    async def git(*arguments: str) -> None:
        await anyio.run_process(["git", *arguments], cwd=folder, env=environment, stderr=None)

    await git("init", "--quiet", "--initial-branch=main")
    (folder / "notes.md").write_text("# Tides\n\nHigh water at noon.\n", encoding="utf-8")
    await git("add", "notes.md")
    await git("commit", "--quiet", "--message", "Note the tides")
    (folder / "dot.png").write_bytes(_DOT)
    await git("add", "dot.png")
    await git("commit", "--quiet", "--message", "A dot")
    (folder / "notes.md").write_text("# Tides\n\nHigh water at one.\n", encoding="utf-8")
    return folder


async def _record(server: Server, mode: Literal["auto", "legacy"]) -> Path:
    started = launch(ROOT, server.command, DATE)
    workspace = await _build_workspace(started.environment)
    raw = ROOT / file_name(server.id, mode)
    with Recorder(raw, servers={stdio_url(server.id): server.id}, overwrite=True) as recorder:
        transport = captured_stdio(
            recorder, server.id, started.command, env=started.environment, cwd=workspace
        )
        async with Client(transport, mode=mode, cache=None) as client:
            logger.info("%s speaks %s", server.id, client.protocol_version)
            await client.list_tools()
            for call in server.calls:
                await _ask(client, call)
    names = machine_names()
    clean = scrub(raw.read_bytes(), names)
    ensure_clean(clean, names)
    target = HERE / raw.name
    target.write_bytes(clean)
    return target


async def _ask(client: Client, call: Call) -> None:
    try:
        result = await client.call_tool(call.tool, call.arguments, progress_callback=_progress)
    except MCPError as error:
        logger.info("  %s: %s", call.tool, error)
    else:
        logger.info("  %s: %s", call.tool, "error" if result.is_error else "fine")


async def _progress(progress: float, total: float | None, message: str | None) -> None:
    logger.info("  %s of %s %s", progress, total, message or "")


async def _main(arguments: Iterable[str]) -> None:
    servers = read_servers()
    if "--installed" not in arguments:
        await install(
            ROOT,
            npm=[server.npm for server in servers if server.npm],
            pypi=[server.pypi for server in servers if server.pypi],
        )
    for server in servers:
        for mode in server.modes:
            target = await _record(server, mode)
            logger.info("%s: %d bytes", target.name, target.stat().st_size)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name in ("httpx2", "mcp", "vcr"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        anyio.run(_main, sys.argv[1:])
    except ColdturnError as error:
        sys.exit(f"record-servers: {error}")
