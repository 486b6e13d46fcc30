"""The words of the prefix core: zones, blocks, segments, breaks.

How data flows: body bytes -> `PromptRequest` (blocks in render order, markers aside) -> ledger (digests)
-> lineage (best parent) -> difference (first place) -> breaks (causes). All of it is pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Zone(StrEnum):
    """Where in the rendered prompt a byte stands (``docs/concepts.md``)."""

    TOOLS = "tools"
    SYSTEM = "system"
    TAIL = "tail"
    HISTORY = "history"
    TRANSIENT = "transient"
    SETTINGS = "settings"
    NONE = "none"


class Surface(StrEnum):
    """A provider's request format. OpenAI's two are named as in ``openai.api.type``.

    `GENERATE_CONTENT` is Gemini's, on the Gemini API and on Vertex; `CONVERSE` is Amazon Bedrock's own. What
    Bedrock's invoke takes is the format of the model's maker, so Claude there is `MESSAGES`.
    """

    MESSAGES = "messages"
    CHAT_COMPLETIONS = "chat_completions"
    RESPONSES = "responses"
    GENERATE_CONTENT = "generate_content"
    CONVERSE = "converse"

    @property
    def provider(self) -> str:
        """The ``gen_ai.provider.name`` that defined this format."""
        match self:
            case Surface.MESSAGES:
                return "anthropic"
            case Surface.CHAT_COMPLETIONS | Surface.RESPONSES:
                return "openai"
            case Surface.GENERATE_CONTENT:
                return "gcp.gemini"
            case Surface.CONVERSE:
                return "aws.bedrock"


class Fidelity(StrEnum):
    """How much of the sent bytes a recording kept."""

    WIRE = "wire"
    CANONICAL = "canonical"
    MESSAGES = "messages"
    NUMBERS = "numbers"


class BlockKind(StrEnum):
    """What a block is; decides which causes can apply to it.

    A compaction stands for earlier messages that are no longer sent.
    """

    TOOL = "tool"
    TEXT = "text"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    REASONING = "reasoning"
    IMAGE = "image"
    COMPACTION = "compaction"
    OTHER = "other"


class Confidence(StrEnum):
    """How a cause is known."""

    OBSERVED = "observed"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Labels:
    """What the runtime knows about its own request and bytes cannot tell: an argument, not a second path.

    Attributes:
        zones: JSON path of a block (``$.messages[3].content[1]``) or of its message -> zone. Only what
            differs from the dialect's default (tail and transient) needs an entry.
        planned: JSON paths of tool results whose rendering was elided at this turn's boundary.
        deferred: Names of tools that this request knows but does not define in its tools array.
        owners: Name of a tool in the array, or of a facade -> the connection that it comes from.
        tiers: Connection -> how its tools stand in the prompt (``direct``, ``facade``, ``search``...).
        turn: Index of the turn, when known.
        step: Index of the step within the turn, when known.
        compacted: Whether a summary took the place of the history on purpose: a compaction that is planned.
    """

    zones: Mapping[str, Zone] = field(default_factory=dict)
    planned: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()
    owners: Mapping[str, str] = field(default_factory=dict)
    tiers: Mapping[str, str] = field(default_factory=dict)
    turn: int | None = None
    step: int | None = None
    compacted: bool = False


NO_LABELS = Labels()


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of a block's content that is hashed as one.

    Attributes:
        start: First content byte within the block.
        end: Content byte behind the last one.
        digest: xxh3-128 of the content bytes.
        section: Nearest Markdown heading or tag at or above `start` in the same block.
    """

    start: int
    end: int
    digest: bytes
    section: str | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class BlockFacts:
    """What is true of a block wherever it stands; shared between requests by wire digest.

    Attributes:
        content: Decoded UTF-8 text of a text block; of anything else compact JSON in the sent key order.
            Markers are not part of it.
        is_text: Whether `content` is plain text.
        header: Compact JSON of role, ids and the like that belong to the block but are not content.
        digest: xxh3-128 of header and content: equal digests cannot break a prefix.
        segments: Cover `content` without gaps, in order.
    """

    content: bytes
    is_text: bool
    header: bytes
    digest: bytes
    segments: tuple[Segment, ...]


class Block(NamedTuple):
    """One unit of a rendered prompt at its place in one request.

    A named tuple and no dataclass, because naming a break makes one for every message of two requests.

    Attributes:
        path: JSON path in its request, such as ``$.tools[12]``.
        label: What a person reads: ``tools[12] web_search``.
        message: Ordinal of the message or input item; None for tools and system parameters.
        name: Tool name of a tool or tool call.
        call_id: Id that ties a tool call to its result.
        span: Start and end of its bytes in the sent body.
    """

    zone: Zone
    kind: BlockKind
    path: str
    label: str
    role: str | None
    message: int | None
    name: str | None
    call_id: str | None
    span: tuple[int, int]
    facts: BlockFacts


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache breakpoint, taken out of the text before anything is compared.

    Attributes:
        path: JSON path of the object that carried it.
        block: Index of the block it stands behind; None when it applies to the whole request.
        value: The marker as sent, compact JSON.
    """

    path: str
    block: int | None
    value: bytes


@dataclass(frozen=True, slots=True)
class LaterCause:
    """A cause that stands behind the first one and shows once that is masked."""

    cause: str
    zone: Zone
    path: str
    block_offset: int | None
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """The first difference between a request and its parent, with its cause.

    Offsets count content bytes (``docs/concepts.md``); `wire_offset` counts bytes of the child's body.

    Attributes:
        offset: Content bytes in common, in render order.
        block_offset: Bytes into the content of the block at `path`.
        side: ``child``, or ``parent`` when the thing at `path` is gone from the child.
        planned: A deliberate move (see causes) that never fails a check.
        harmless: The bytes alone show that nothing readable was lost (a tagged block at the very end).
        lost_bytes: Content bytes of the child that the parent's cache entry could have served and now cannot:
            the smaller of the parent's stable content and the child's, less `offset`.
        delta_bytes: Content bytes that the explained change added (negative: removed).
        before: Up to 40 common characters in front; `was` and `now`: 80 characters from the difference on.
            Keys and passwords in them are asterisks.
        was_changed: Characters from and to of `was` that the newer request lacks; `now_changed`: of `now`
            that are new. What only stands elsewhere, since text in front of it came or went, does not count.
        alongside: Causes whose rule fits the same place too, less specific ones last.
        evidence: Figures behind the cause, in words and without prompt text.
    """

    zone: Zone
    segment: str
    path: str
    side: str
    section: str | None
    offset: int
    block_offset: int | None
    wire_offset: int | None
    cause: str
    confidence: Confidence
    planned: bool
    harmless: bool
    lost_bytes: int
    delta_bytes: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    before: str
    was: str
    now: str
    later: tuple[LaterCause, ...]
    alongside: tuple[str, ...] = ()
    evidence: str | None = None
    was_changed: tuple[tuple[int, int], ...] = ()
    now_changed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the bytes of a pair tell.

    Attributes:
        common_bytes: Content bytes in common from the start.
        parent_bytes: The parent's content bytes in all; `child_bytes` the child's.
        stable: The parent's stable part is a prefix of the child.
        first: The break, or None. A stable pair can still carry a harmless one.
        wire_drift: Content is equal over the common prefix but wire bytes are not (white space, escapes).
    """

    common_bytes: int
    parent_bytes: int
    child_bytes: int
    stable: bool
    first: Break | None
    wire_drift: bool
