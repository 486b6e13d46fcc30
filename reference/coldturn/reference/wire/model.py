"""The words of the wire: a prompt in zones goes in as request bytes, response bytes come out as a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from coldturn.reference.prefix.model import Labels, Surface
from coldturn.reference.tokens import ReportedTokens

RENDERED_SURFACES = (Surface.MESSAGES, Surface.CHAT_COMPLETIONS, Surface.RESPONSES)
"""The request formats that a `Prompt` can be written in. Requests and replies of the others are read only."""

Setting: TypeAlias = "str | int | float | bool | Mapping[str, Setting]"
"""The value of a request member that is no prompt; objects keep the key order they are given in."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` is JSON text and may be malformed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider reported, normalised: `input_tokens` includes cached and written ones.

    None means not reported; zero means reported as zero. `raw` is the provider's own object as JSON.
    """

    input_tokens: ReportedTokens | None = None
    output_tokens: ReportedTokens | None = None
    cache_read_tokens: ReportedTokens | None = None
    cache_write_tokens: ReportedTokens | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CacheDiagnosis:
    """What a provider itself says of how this request met its cache; every field as the provider sent it.

    Attributes:
        source: Whose diagnosis it is, a ``gen_ai.provider.name``.
        type: What came of the comparison, in OpenAI's words: ``cache_hit``, ``cache_miss``,
            ``comparison_response_not_found``, ``unavailable``. ``pending`` when Anthropic's comparison was
            still running. A word that we do not know stands as it was sent.
        reason: The provider's own word for what changed, known to us or not; None when it gave none.
        missed_tokens: Input tokens behind the first divergence, as the provider estimates them.
        reusable_tokens: Tokens of the prefix that could have been read.
        comparison_id: The response that was compared with, where the answer repeats it
            (`coldturn.reference.wire.replies.diagnosis.comparison_asked` reads it from a request).
    """

    source: str
    type: str
    reason: str | None = None
    missed_tokens: ReportedTokens | None = None
    reusable_tokens: ReportedTokens | None = None
    comparison_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's answer, normalised."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    diagnosis: CacheDiagnosis | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the prompt shows it. `schema` is JSON bytes, rendered as they are.

    A `deferred` one is defined for the provider, which shows it to the model where a result refers to it.
    """

    name: str
    description: str
    schema: bytes
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class UserItem:
    """A user message; `suffix` is a variable suffix placed inside it, an extra block behind the text."""

    text: str
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class AssistantItem:
    """An assistant message with its tool calls."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResultItem:
    """One tool result as rendered: whole, or elided.

    `loads` is a tool that this result makes callable where the provider itself loads deferred tools; `text`
    then stands only where the surface has no reference to say it with.
    """

    call_id: str
    text: str
    is_error: bool = False
    elided: bool = False
    loads: ToolDefinition | None = None


@dataclass(frozen=True, slots=True)
class SuffixItem:
    """A variable suffix that stays in the history as a message of its own (placement ``persisted``)."""

    text: str


HistoryItem: TypeAlias = UserItem | AssistantItem | ToolResultItem | SuffixItem


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything one request says, in zones, before any provider's format.

    Attributes:
        system: Zone 1. `tail`: zone 2, empty when there is none.
        history: Zone 3.
        suffix: Zone 4 as one trailing message; empty when there is none.
        newly_elided: Indices into `history` of results whose rendering flipped at this turn's boundary.
        markers: Whether to set cache breakpoints where the surface has them.
        settings: Members that are no prompt, such as ``stream``; they stand in the order of their names.
        last_user: Index of the last user message in `history`, from a caller that knows it; else sought.
    """

    model: str
    tools: tuple[ToolDefinition, ...]
    system: str
    tail: str
    history: tuple[HistoryItem, ...]
    suffix: str
    max_output_tokens: int
    newly_elided: frozenset[int] = frozenset()
    deferred: frozenset[str] = frozenset()
    markers: bool = True
    settings: Mapping[str, Setting] = field(default_factory=dict)
    last_user: int | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """Request bytes, with what we know about them for the prefix core."""

    body: bytes
    labels: Labels


Role: TypeAlias = Literal["system", "user", "assistant", "tool", "developer"]
