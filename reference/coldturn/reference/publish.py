"""Publishing a Spec version: the agent and its policy together, refused with a path to each problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.previews import READER_NAME
from coldturn.reference.prompt.skills import SKILL_TOOL_NAME
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface import meta

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (``spec.connections.1.id``), and what."""

    path: str
    message: str


class InvalidSpecError(ColdturnError):
    """A Spec that cannot be published.

    Attributes:
        problems: All that was found, each with its path.
    """

    slug = "invalid-spec"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        told = "; ".join(f"{one.path}: {one.message}" for one in problems)
        super().__init__(f"the Spec cannot be published: {told}; mend these fields and publish it again")


@dataclass(frozen=True, slots=True)
class Published:
    """A Spec version: what the agent is, and the thresholds and choices its prompts are made with."""

    spec: AgentSpec
    policy: Policy


def publish(
    spec: AgentSpec | Mapping[str, Any], policy: Policy | Mapping[str, Any] | None = None
) -> Published:
    """Check a Spec and its policy, each by itself and both together.

    Args:
        spec: The agent, built already or as data (from TOML, say).
        policy: ``stable`` when None.

    Raises:
        InvalidSpecError: Something is wrong; it lists every problem with its path.
    """
    found: list[Problem] = []
    built = _built(AgentSpec, spec, "spec", found)
    chosen = _built(Policy, Policy() if policy is None else policy, "policy", found)
    if built is not None and chosen is not None:
        found.extend(_together(built, chosen))
    if found or built is None or chosen is None:
        raise InvalidSpecError(tuple(found))
    return Published(built, chosen)


def _built(
    kind: type[Model], given: Model | Mapping[str, Any], name: str, found: list[Problem]
) -> Model | None:
    if isinstance(given, kind):
        return given
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            at = [str(part) for part in one["loc"]]
            if (finer := one.get("ctx", {}).get("path")) is not None:
                # A validator knows its place only from its own model's fields on.
                at = [*at[:-1], *str(finer).split(".", maxsplit=2)]
            found.append(Problem(".".join([name, *at]), one["msg"].removeprefix("Value error, ")))
        return None


def _together(spec: AgentSpec, policy: Policy) -> Iterator[Problem]:
    if policy.promotion == "native" and spec.surface is Surface.CHAT_COMPLETIONS:
        yield Problem(
            "policy.promotion",
            "'native' needs a provider that loads tools in mid-conversation, and chat_completions has no way "
            "to say so; use 'bridge' or 'append', or the surface messages or responses",
        )
    reserved = meta.META_NAMES | meta.SEARCH_NAMES | {READER_NAME, SKILL_TOOL_NAME}
    for index, tool in enumerate(spec.local_tools):
        if tool.name in reserved:
            yield Problem(f"spec.local_tools.{index}.name", f"{tool.name!r} belongs to the runtime")
