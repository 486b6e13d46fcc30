"""The demo's servers: installed into a folder of their own, with an environment that tells nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from coldturn.reference.prefix.errors import ColdturnError

NPM_PACKAGES = ("@azure/mcp@2.0.5", "@modelcontextprotocol/server-filesystem@2026.8.31")
GIT_SERVER = "mcp-server-git==2026.10.19"


class ProgramMissingError(ColdturnError):
    """A program that making the recording needs."""

    slug = "program-missing"

    def __init__(self, program: str) -> None:
        self.program = program
        super().__init__(
            f"{program} is not on the PATH; recording the demo needs git, node and npm: install it"
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """How one server is started: the command with real paths, and what it finds in its environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def quiet_environment(root: Path) -> dict[str, str]:
    """Variables for every program that the recording starts: a home of its own, no telemetry, no user."""
    home = root / "nobody"
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "USER": "demo",
        "LOGNAME": "demo",
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_NOLOGO": "1",
        "AZURE_MCP_COLLECT_TELEMETRY": "false",
        "PYTHONUNBUFFERED": "1",
    }


async def install(
    root: Path, *, npm: Sequence[str] = NPM_PACKAGES, pypi: Sequence[str] = (GIT_SERVER,)
) -> None:
    """Install servers below `root` with npm and pip; by default the demo's, in the versions named above.

    Raises:
        ProgramMissingError: Without git, node or npm.
    """
    for program in ("git", "node", "npm"):
        if shutil.which(program) is None:
            raise ProgramMissingError(program)
    servers = root / "servers"
    servers.mkdir(parents=True, exist_ok=True)
    npm_install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(servers)]
    await anyio.run_process([*npm_install, *npm], stdout=None, stderr=None)
    python = servers / "python"
    await anyio.run_process([sys.executable, "-m", "venv", str(python)], stdout=None, stderr=None)
    pip = [str(python / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    await anyio.run_process([*pip, *pypi], stdout=None, stderr=None)


def launch(root: Path, command: Sequence[str], commit_date: str) -> Launch:
    """Return how to start a server that the session file names by its plain command.

    Args:
        root: The recording's folder.
        command: Program and arguments as the session file has them.
        commit_date: In git's own form, seconds and offset.
    """
    program, *arguments = command
    bin_npm = root / "servers" / "node_modules" / ".bin" / program
    bin_python = root / "servers" / "python" / "bin" / program
    installed = bin_npm if bin_npm.exists() else bin_python
    found = sys.executable if program == "python" else str(installed)
    who = {"NAME": "Repository Keeper", "EMAIL": "keeper@example.org", "DATE": commit_date}
    dated = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return Launch((found, *arguments), quiet_environment(root) | dated)
