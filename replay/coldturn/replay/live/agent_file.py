"""Agent files, such as ``agent.toml``: a Spec, and what the host of a live agent needs beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coldturn.reference.complaints import plain_complaint
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.spec import AgentSpec
from coldturn.replay.live.host_tools import HOST_TOOL_NAMES
from coldturn.replay.runs.policies import policy_named


class AgentFileError(ColdturnError):
    """An agent file that cannot be used."""

    slug = "agent-file"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the agent file {path} cannot be used: {reason}")


class AgentFile(BaseModel):
    """What ``coldturn run`` starts from. `[spec]` is that of a session file.

    Attributes:
        memory: What is remembered of the user at the start.
        policy: A policy's name or TOML file, which is looked for beside the agent file.
        environment: Connection id -> environment variables that its command is handed.
        tokens: Connection id -> environment variable that holds the bearer token of its url.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: AgentSpec
    memory: str = ""
    policy: str = "stable"
    environment: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    tokens: Mapping[str, str] = Field(default_factory=dict)


def read_agent_file(path: str | Path) -> AgentFile:
    """Read an agent file.

    Raises:
        AgentFileError: It cannot be opened, is no TOML, or says something that an agent does not have; the
            field is named.
    """
    source = str(path)
    try:
        fields = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "cannot be opened").lower()
        raise AgentFileError(
            source, f"{reason}; `coldturn docs agent.toml` prints one to begin with"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AgentFileError(source, f"it is no TOML: {error}") from error
    if "spec" not in fields:
        raise AgentFileError(source, "it has no [spec]; `coldturn docs agent.toml` prints one")
    try:
        agent = AgentFile.model_validate(fields)
    except ValidationError as error:
        raise AgentFileError(source, _problems(error)) from error
    for problem in (_connections(agent), _local_tools(agent), _named(agent)):
        if problem is not None:
            raise AgentFileError(source, problem)
    return agent


def policy_of(agent: AgentFile, path: str | Path) -> Policy:
    """Give the policy that an agent file names; a file's path is relative to the agent file.

    Raises:
        PolicyError: There is none of that name, or the file is wrong.
    """
    named = agent.policy
    return policy_named(str(Path(path).parent / named) if named.endswith(".toml") else named)


def _problems(error: ValidationError) -> str:
    return "; ".join(_problem(one) for one in error.errors(include_url=False))


def _problem(one: Any) -> str:  # noqa: ANN401 - pydantic's own dict of details
    where = [str(part) for part in one["loc"]]
    if (finer := one.get("ctx", {}).get("path")) is not None:
        where = [*where[:-1], str(finer)]
    return f"{'.'.join(where)}: {plain_complaint(one['msg'])}"


def _connections(agent: AgentFile) -> str | None:
    for index, connection in enumerate(agent.spec.connections):
        if bool(connection.command) == bool(connection.url):
            several = "both" if connection.command else "neither"
            return f"spec.connections.{index}: it has {several} of command and url; give it one of them"
    return None


def _local_tools(agent: AgentFile) -> str | None:
    for index, tool in enumerate(agent.spec.local_tools):
        if tool.name not in HOST_TOOL_NAMES:
            return (
                f"spec.local_tools.{index}.name: this program cannot run {tool.name!r}; it has "
                f"{' and '.join(HOST_TOOL_NAMES)}, and a host of your own can have others"
            )
        if "input_schema" in tool.model_fields_set:
            return f"spec.local_tools.{index}.input_schema: {tool.name} has a schema of its own; leave it out"
    return None


def _named(agent: AgentFile) -> str | None:
    commands = {one.id for one in agent.spec.connections if one.command}
    urls = {one.id for one in agent.spec.connections if one.url}
    for table, named, known, kind in (
        ("environment", agent.environment, commands, "a command"),
        ("tokens", agent.tokens, urls, "a url"),
    ):
        for connection in named:
            if connection not in known:
                return f"{table}.{connection}: the spec has no connection of that id with {kind}"
    return None
