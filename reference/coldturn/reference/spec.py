"""The published, immutable configuration of an agent: ``[spec]`` of a session file, or agent.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import RENDERED_SURFACES

LONGEST_TOOL_NAME = 128
"""Characters that a server may give a tool's name (MCP, 2026-07-28)."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _at(path: str, problem: str) -> PydanticCustomError:
    """A problem whose place is finer than the field that is being validated."""
    return PydanticCustomError("inconsistent", "{problem}", {"path": path, "problem": problem})


def _read_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the text is no JSON: {error}") from error


JsonObject: TypeAlias = Annotated[Mapping[str, Any], BeforeValidator(_read_json)]
"""An object, or JSON text of one: TOML has no null."""


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

    @field_validator("eager")
    @classmethod
    def _are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for index, name in enumerate(names):
            if not name or name != name.strip() or not name.isprintable() or len(name) > LONGEST_TOOL_NAME:
                raise _at(f"eager.{index}", f"{name!r} is no name that a tool can have")
            if name in names[:index]:
                raise _at(f"eager.{index}", f"{name!r} is named more than once")
        return names


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
    input_schema: JsonObject = Field(default_factory=lambda: {"type": "object"})


class AgentSpec(_Frozen):
    """A Spec version: constructing it refuses what is inconsistent in itself.

    `coldturn.reference.publish` builds one together with its policy, and tells every problem with its path.

    Attributes:
        grants: Connection id -> names that are permitted on it, besides what the connection itself grants;
            a connection that is not named here is not narrowed by it.
    """

    name: str = "agent"
    version: int = 1
    surface: Surface = Surface.RESPONSES
    model: str = "gpt-5.5"
    instructions: str = ""
    connections: tuple[ConnectionSpec, ...] = ()
    grants: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    skills: tuple[SkillSpec, ...] = ()
    subagents: tuple[SubagentSpec, ...] = ()
    local_tools: tuple[LocalToolSpec, ...] = ()
    max_output_tokens: int = Field(default=4096, ge=1)

    @field_validator("surface")
    @classmethod
    def _is_rendered(cls, surface: Surface) -> Surface:
        if surface not in RENDERED_SURFACES:
            known = ", ".join(RENDERED_SURFACES)
            raise _at("surface", f"requests of {surface.value} are only read; an agent speaks {known}")
        return surface

    @field_validator("connections")
    @classmethod
    def _ids_differ(cls, connections: tuple[ConnectionSpec, ...]) -> tuple[ConnectionSpec, ...]:
        _refuse_repeated("connections", "id", [one.id for one in connections])
        return connections

    @field_validator("skills", "subagents", "local_tools")
    @classmethod
    def _names_differ(cls, named: tuple[_Named, ...], info: ValidationInfo) -> tuple[_Named, ...]:
        _refuse_repeated(str(info.field_name), "name", [one.name for one in named])
        return named

    @field_validator("grants")
    @classmethod
    def _are_of_connections(
        cls, grants: Mapping[str, tuple[str, ...]], info: ValidationInfo
    ) -> Mapping[str, tuple[str, ...]]:
        if "connections" not in info.data:
            # They are wrong themselves, and told of as such.
            return grants
        known = [one.id for one in info.data["connections"]]
        for connection in grants:
            if connection not in known:
                there = f"there are {', '.join(known)}" if known else "there are none"
                raise _at(f"grants.{connection}", f"{connection!r} is no connection of this Spec; {there}")
        return grants


_Named: TypeAlias = SkillSpec | SubagentSpec | LocalToolSpec


def _refuse_repeated(field: str, key: str, names: list[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise _at(f"{field}.{index}.{key}", f"{name!r} is named more than once")
