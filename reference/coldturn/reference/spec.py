"""The published, immutable configuration of an agent: ``[spec]`` of a session file, or agent.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coldturn.reference.prefix.model import Surface


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ConnectionSpec(_Frozen):
    """One MCP server as the author of an agent names it.

    Attributes:
        id: Key of the catalogue and prefix of exposed names; never the name that a server gives itself.
        preload: True, False, or None = decided from the size of the discovered catalogue.
        eager: Names of tools that a deferred server injects anyway.
        grants: Names that the Spec permits; None = all.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")
    description: str = ""
    preload: bool | None = None
    eager: tuple[str, ...] = ()
    grants: tuple[str, ...] | None = None
    mode: Literal["auto", "legacy"] = "auto"
    command: tuple[str, ...] = ()
    url: str | None = None


class SkillSpec(_Frozen):
    """A skill: the prompt shows name and description, `read_skill` the body."""

    name: str
    description: str
    body: str


class SubagentSpec(_Frozen):
    """One line of the subagent roster."""

    name: str
    description: str


class LocalToolSpec(_Frozen):
    """A tool that the host runs itself (Bash, a todo list), with its JSON schema."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = ""
    input_schema: Mapping[str, Any] = Field(default_factory=lambda: {"type": "object"})


class AgentSpec(_Frozen):
    """A Spec version. Publishing it is constructing it: what is inconsistent is refused with its path."""

    name: str = "agent"
    version: int = 1
    surface: Surface = Surface.RESPONSES
    model: str = "gpt-5.5"
    instructions: str = ""
    connections: tuple[ConnectionSpec, ...] = ()
    skills: tuple[SkillSpec, ...] = ()
    subagents: tuple[SubagentSpec, ...] = ()
    local_tools: tuple[LocalToolSpec, ...] = ()
    max_output_tokens: int = Field(default=4096, ge=1)

    @model_validator(mode="after")
    def _unique(self) -> AgentSpec:
        for field, names in (
            ("connections", [c.id for c in self.connections]),
            ("skills", [s.name for s in self.skills]),
            ("local_tools", [t.name for t in self.local_tools]),
        ):
            if repeated := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{field}: {', '.join(repeated)} named more than once")
        return self
