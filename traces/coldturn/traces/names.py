"""Every span attribute that coldturn writes or reads: its name, type, when it stands, and an example.

``docs/spans.md`` is generated from this module: ``python -m coldturn.traces.names > docs/spans.md``.
``gen_ai.*`` and ``mcp.*`` are used as the OpenTelemetry conventions define them (open-telemetry/
semantic-conventions-genai) and never extended; everything of our own stands under ``coldturn.*``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

SCHEMA_VERSION: Final = 1
SCOPE: Final = "coldturn"
HASH_ALGORITHM_NAME: Final = "xxh3-128"


class On(StrEnum):
    """Which spans carry an attribute."""

    EVERY = "every span"
    CHAT = "chat"
    TURN = "invoke_agent"
    TOOL = "execute_tool"
    LIST = "tools/list"
    CALLS = "execute_tool, tools/list"
    LABELLED = "invoke_agent, chat"
    RESOURCE = "resource"


class Attribute(str):
    """An attribute's name, which also knows its type and place. The meaning is the constant's docstring.

    Attributes:
        type: OTLP type: string, int, bool, double, or one of these with ``[]``.
        on: The spans that carry it.
        when: The condition under which it stands.
        example: A value, as text.
    """

    __slots__ = ("example", "on", "type", "when")

    type: str
    on: On
    when: str
    example: str

    def __new__(cls, name: str, kind: str, on: On, when: str, example: str) -> Self:
        """Make the name; what its value says is the docstring below the constant."""
        made = super().__new__(cls, name)
        made.type, made.on, made.when, made.example = kind, on, when, example
        return made


_A = Attribute

# Identity
SERVICE_NAME: Final = _A("service.name", "string", On.RESOURCE, "always", "coldturn")
"""Who wrote the file."""
SCHEMA: Final = _A("coldturn.schema.version", "int", On.EVERY, "always", "1")
"""Version of this schema."""
RUN_ID: Final = _A("coldturn.run.id", "string", On.EVERY, "a turn is open", "run-1")
"""The Run (a conversation)."""
TURN_INDEX: Final = _A("coldturn.turn.index", "int", On.EVERY, "a turn is open", "3")
"""The turn, from 0."""
STEP_INDEX: Final = _A("coldturn.step.index", "int", On.CHAT, "always", "0")
"""The step in its turn, from 0."""
CACHE_SCOPE: Final = _A("coldturn.cache.scope", "string", On.CHAT, "always", "openai/gpt-5.5")
"""Requests of one scope can share a provider's cache: provider, model, key."""
REPLAY_CASSETTE: Final = _A(
    "coldturn.replay.cassette", "string", On.LABELLED, "in a replay, or converted", "demo"
)
"""The recording that was replayed or converted."""
REPLAY_POLICY: Final = _A("coldturn.replay.policy", "string", On.LABELLED, "a policy is known", "stable")
"""How prompts were assembled."""
WIRE_FORMAT: Final = _A("coldturn.wire.format", "string", On.CHAT, "always", "responses")
"""Request format: messages, chat_completions or responses."""
WIRE_BYTES: Final = _A("coldturn.wire.bytes", "int", On.CHAT, "always", "20480")
"""Bytes of the request body as sent."""
WIRE_HASH: Final = _A("coldturn.wire.hash", "string", On.CHAT, "always", "9f86d081884c7d659a2feaa0c55ad015")
"""Hash of the request body as sent."""
HASH_ALGORITHM: Final = _A("coldturn.hash.algorithm", "string", On.CHAT, "always", HASH_ALGORITHM_NAME)
"""Algorithm of every hash on the span."""
FIDELITY: Final = _A("coldturn.recording.fidelity", "string", On.CHAT, "converted from a recording", "wire")
"""How much of the sent bytes the recording kept: wire, canonical or messages."""
REQUEST_INDEX: Final = _A("coldturn.recording.request", "int", On.CHAT, "converted from a recording", "5")
"""Number among the model requests of its recording, from 0."""
PARAMS_HASH: Final = _A(
    "coldturn.request.params_hash", "string", On.CHAT, "always", "60303ae22b998861bce3b28f33eec1be"
)
"""Hash of the settings: every top-level key that holds no prompt text."""

# Zones and segments
ZONE_NAMES: Final = _A(
    "coldturn.zone.names", "string[]", On.CHAT, "always", "tools,system,tail,history,transient"
)
"""The zones; the four arrays below run parallel to it."""
ZONE_BYTES: Final = _A("coldturn.zone.bytes", "int[]", On.CHAT, "always", "6474,16468,0,2048,120")
"""Content bytes of each zone."""
ZONE_SEGMENT_COUNTS: Final = _A("coldturn.zone.segment_counts", "int[]", On.CHAT, "always", "12,40,0,6,1")
"""Segments in each zone."""
ZONE_HASHES: Final = _A("coldturn.zone.hashes", "string[]", On.CHAT, "always", "60303ae2...")
"""Hash of each zone alone, 32 hex digits."""
ZONE_PREFIX_HASHES: Final = _A("coldturn.zone.prefix_hashes", "string[]", On.CHAT, "always", "d5579c46...")
"""Rolling hash from byte 0 to the end of each zone: equal means that everything up to there is equal."""
SEGMENT_COUNT: Final = _A("coldturn.segment.count", "int", On.CHAT, "always", "59")
"""Segments of the prompt, in render order; the packed strings below must agree with it."""
SEGMENT_HASHES: Final = _A("coldturn.segment.hashes", "string", On.CHAT, "always", "9f86d081884c7d65...")
"""First 16 hex digits of each segment's digest, one behind the other; a block's first covers role and ids."""
SEGMENT_BYTES: Final = _A("coldturn.segment.bytes", "string", On.CHAT, "always", "812,204")
"""Content bytes of each segment."""
SEGMENT_ZONES: Final = _A(
    "coldturn.segment.zones", "string", On.CHAT, "always", "tools:12,system:40,history:6,transient:1"
)
"""Runs of segments in one zone, in render order (a suffix inside a message splits history)."""
SEGMENT_DEFINITIONS: Final = _A(
    "coldturn.segment.definitions",
    "string",
    On.CHAT,
    "a hash is new to this file",
    '[["9f86d081884c7d65","tools[0] search","tool","tools"]]',
)
"""JSON rows [hash, key, kind, zone]: where this file first met the hash."""

# What the provider itself says of its cache
DIAGNOSIS_SOURCE: Final = _A("coldturn.cache.diagnosis.source", "string", On.CHAT, "diagnosed", "openai")
"""Whose diagnosis it is: a provider's name."""
DIAGNOSIS_TYPE: Final = _A("coldturn.cache.diagnosis.type", "string", On.CHAT, "diagnosed", "cache_miss")
"""cache_hit, cache_miss, comparison_response_not_found, unavailable, pending, or the provider's own word."""
DIAGNOSIS_REASON: Final = _A(
    "coldturn.cache.diagnosis.reason", "string", On.CHAT, "diagnosed, and a reason is given", "tools_changed"
)
"""The provider's own word for what changed."""
DIAGNOSIS_MISSED_TOKENS: Final = _A(
    "coldturn.cache.diagnosis.missed_tokens", "int", On.CHAT, "diagnosed, and it is told", "10052"
)
"""Input tokens behind the first difference, as the provider estimates them."""
DIAGNOSIS_REUSABLE_TOKENS: Final = _A(
    "coldturn.cache.diagnosis.reusable_tokens", "int", On.CHAT, "diagnosed, and it is told", "9984"
)
"""Tokens of the prefix that could have been read, as the provider counts them."""
DIAGNOSIS_COMPARISON_ID: Final = _A(
    "coldturn.cache.diagnosis.comparison_id", "string", On.CHAT, "diagnosed, and it is told", "resp_122"
)
"""The response that the provider compared with."""

# Comparison with an earlier request
BASE_SPAN_ID: Final = _A("coldturn.prefix.base.span_id", "string", On.CHAT, "compared", "00f067aa0ba902b7")
"""Span of the earlier request that this one was compared with (also a span link)."""
BASE_TRACE_ID: Final = _A(
    "coldturn.prefix.base.trace_id", "string", On.CHAT, "compared", "4bf92f3577b34da6a3ce929d0e0e4736"
)
"""Its trace."""
BASE_TURN_INDEX: Final = _A("coldturn.prefix.base.turn_index", "int", On.CHAT, "compared", "2")
"""Its turn."""
BASE_AGE_MS: Final = _A("coldturn.prefix.base.age_ms", "int", On.CHAT, "compared", "31000")
"""Milliseconds between the starts of the two."""
COMMON_BYTES: Final = _A("coldturn.prefix.common_bytes", "int", On.CHAT, "compared", "22942")
"""Content bytes in common from the start."""
STABLE: Final = _A("coldturn.prefix.stable", "bool", On.CHAT, "compared", "true")
"""The stable part of the earlier request is a prefix of this one."""
HARMLESS_CAUSE: Final = _A(
    "coldturn.prefix.harmless_cause",
    "string",
    On.CHAT,
    "stable, yet a block at the very end differs",
    "transient_tail_removed",
)
"""Cause of a difference that no cache entry could have served."""
BREAK_OFFSET: Final = _A("coldturn.prefix.break.offset", "int", On.CHAT, "not stable, place known", "18396")
"""Content bytes before the first difference."""
BREAK_ZONE: Final = _A("coldturn.prefix.break.zone", "string", On.CHAT, "not stable", "system")
"""Zone of the first difference."""
BREAK_SEGMENT: Final = _A("coldturn.prefix.break.segment", "string", On.CHAT, "not stable", "system[0]")
"""Block of the first difference, as a person reads it."""
BREAK_PATH: Final = _A("coldturn.prefix.break.path", "string", On.CHAT, "not stable", "$.instructions")
"""JSON path of that block."""
BREAK_BLOCK_OFFSET: Final = _A(
    "coldturn.prefix.break.block_offset", "int", On.CHAT, "not stable, place known", "11922"
)
"""Bytes into that block's content."""
BREAK_SECTION: Final = _A(
    "coldturn.prefix.break.section",
    "string",
    On.CHAT,
    "not stable, under a heading or tag",
    "## Tool Catalog",
)
"""Nearest heading or tag above the place."""
BREAK_CAUSE: Final = _A("coldturn.prefix.break.cause", "string", On.CHAT, "not stable", "catalog_growth")
"""Why the prefix broke (docs/causes.md)."""
BREAK_CONFIDENCE: Final = _A("coldturn.prefix.break.confidence", "string", On.CHAT, "not stable", "observed")
"""How the cause is known: observed, inferred or unknown."""
BREAK_PLANNED: Final = _A("coldturn.prefix.break.planned", "bool", On.CHAT, "not stable", "false")
"""A deliberate move, such as the elision of a past turn's results."""
BREAK_LOST_BYTES: Final = _A("coldturn.prefix.break.lost_bytes", "int", On.CHAT, "not stable", "4546")
"""Content bytes that the earlier request could have served and now cannot."""
BREAK_DELTA_BYTES: Final = _A("coldturn.prefix.break.delta_bytes", "int", On.CHAT, "not stable", "108")
"""Content bytes that the change added (negative: removed)."""
BREAK_LATER_CAUSES: Final = _A(
    "coldturn.prefix.break.later_causes", "string[]", On.CHAT, "not stable, more behind it", "catalog_growth"
)
"""Causes that show once the first is masked."""

# Markers and elision
CACHE_MODE: Final = _A("coldturn.cache.mode", "string", On.CHAT, "always", "explicit")
"""What the cache markers say: explicit (behind blocks), automatic (for the whole request) or none."""
CACHE_TTL: Final = _A("coldturn.cache.ttl", "string[]", On.CHAT, "markers sent", "1h,5m")
"""Lifetime that each marker asks for as sent; empty where it names none."""
CACHE_BREAKPOINTS: Final = _A("coldturn.cache.breakpoint_segments", "int[]", On.CHAT, "markers sent", "12,52")
"""Segments in front of each marker; 0 where it applies to the whole request."""
ELISION_COUNT: Final = _A("coldturn.elision.count", "int", On.CHAT, "always", "2")
"""Tool results that this prompt shows shortened."""
ELISION_ORIGINAL_BYTES: Final = _A("coldturn.elision.original_bytes", "int", On.CHAT, "always", "90112")
"""Their bytes in the log."""
ELISION_SENT_BYTES: Final = _A("coldturn.elision.sent_bytes", "int", On.CHAT, "always", "3640")
"""Their bytes in the prompt."""
ELISION_BOUNDARY: Final = _A("coldturn.elision.boundary_message", "int", On.CHAT, "there is a boundary", "14")
"""History item before which results are eligible."""
ELISION_RECORDS: Final = _A("coldturn.elision.records", "string[]", On.CHAT, "count > 0", "call_0003")
"""Handles of the shortened results."""

# Turns and servers
TURN_STEP_COUNT: Final = _A("coldturn.turn.step_count", "int", On.TURN, "always", "4")
"""Steps of the turn."""
TURN_FIRST_HASHES: Final = _A(
    "coldturn.turn.first_prefix_hashes", "string[]", On.TURN, "it had a step", "d5579c46..."
)
"""Prefix hashes of its first step, in the order of coldturn.zone.names."""
TURN_LAST_HASHES: Final = _A(
    "coldturn.turn.last_prefix_hashes", "string[]", On.TURN, "it had a step", "d5579c46..."
)
"""Prefix hashes of its last step."""
TURN_BREAKS_PLANNED: Final = _A("coldturn.turn.breaks_planned", "int", On.TURN, "always", "1")
"""Steps whose first break was planned."""
TURN_BREAKS_UNPLANNED: Final = _A("coldturn.turn.breaks_unplanned", "int", On.TURN, "always", "0")
"""Steps whose first break was not planned."""
SERVER_NAMES: Final = _A("coldturn.server.names", "string[]", On.TURN, "servers known", "files,git")
"""Connection ids; the arrays below run parallel to it."""
SERVER_VERSIONS: Final = _A("coldturn.server.catalog_versions", "int[]", On.TURN, "servers known", "3,1")
"""Catalogue version of each."""
SERVER_HASHES: Final = _A(
    "coldturn.server.catalog_hashes", "string[]", On.TURN, "servers known", "5feceb66..."
)
"""Hash of each catalogue."""
SERVER_TOOL_COUNTS: Final = _A("coldturn.server.tool_counts", "int[]", On.TURN, "servers known", "12,27")
"""Tools of each that are not removed."""
SERVER_TIERS: Final = _A("coldturn.server.tiers", "string[]", On.TURN, "servers known", "direct,deferred")
"""How each is shown: direct, facade, search, deferred or none."""
SERVER_PRELOADS: Final = _A("coldturn.server.preloads", "string[]", On.TURN, "servers known", "true,unset")
"""Whether its tools are loaded into the prompt up front."""
SERVER_STATES: Final = _A("coldturn.server.states", "string[]", On.TURN, "servers known", "ready,lost")
"""State of each connection."""
SERVER_PROMPT_BYTES: Final = _A("coldturn.server.prompt_bytes", "int[]", On.TURN, "servers known", "9120,180")
"""Bytes that each takes in the prompt."""
SERVER_MISSING_EAGER: Final = _A(
    "coldturn.server.missing_eager",
    "string[]",
    On.TURN,
    "a catalogue lacks an eager name",
    "files:read_fiel",
)
"""Names that the Spec wants injected and that cannot be, as connection id, colon, name."""

# Tool calls and catalogue refreshes
SERVER_NAME: Final = _A("coldturn.server.name", "string", On.CALLS, "a server is concerned", "files")
"""Connection id of the MCP server."""
SERVER_TOOL: Final = _A("coldturn.tool.name", "string", On.TOOL, "an MCP tool is concerned", "read_file")
"""The server's own name of the tool."""
TOOL_ROUTE: Final = _A("coldturn.tool.route", "string", On.TOOL, "always", "meta")
"""How it was reached: direct, meta, facade, search or local."""
TOOL_BYTES: Final = _A("coldturn.tool.result.bytes", "int", On.TOOL, "it returned", "5120")
"""Bytes of the whole result's text."""
TOOL_TOKENS_ESTIMATED: Final = _A(
    "coldturn.tool.result.tokens_estimated", "int", On.TOOL, "it returned", "1280"
)
"""Estimate that elision acts on; the only estimate on any span."""
TOOL_HASH: Final = _A(
    "coldturn.tool.result.hash", "string", On.TOOL, "it returned", "4bf5122f344554c53bde2ebb8cd2b7e3"
)
"""Hash of the result's text."""
TOOL_HANDLE: Final = _A("coldturn.tool.result.handle", "string", On.TOOL, "it returned", "call_0003")
"""Names the result for read_tool_output."""
TOOL_ELIDED: Final = _A("coldturn.tool.result.elided", "bool", On.TOOL, "it returned", "false")
"""The model saw it shortened from the first step on. Later elision stands on the chat span."""
TOOL_REFUSAL: Final = _A("coldturn.tool.refusal", "string", On.TOOL, "refused", "unknown_tool")
"""Why the call was not made."""
CATALOG_VERSION: Final = _A("coldturn.catalog.version", "int", On.CALLS, "known", "3")
"""Catalogue version that was committed, or that the call went by."""
CATALOG_PREVIOUS: Final = _A("coldturn.catalog.previous_version", "int", On.LIST, "it finished", "2")
"""Version before this refresh; 0 for none."""
CATALOG_HASH: Final = _A(
    "coldturn.catalog.hash", "string", On.LIST, "it finished", "5feceb66ffc86f38d952786c6d696c79"
)
"""Hash over the definitions; order does not matter."""
CATALOG_TOOL_COUNT: Final = _A("coldturn.catalog.tool_count", "int", On.LIST, "it finished", "27")
"""Tools that are not removed."""
CATALOG_ADDED: Final = _A("coldturn.catalog.added", "string[]", On.LIST, "some", "search")
"""Tools that are new."""
CATALOG_REMOVED: Final = _A("coldturn.catalog.removed", "string[]", On.LIST, "some", "search")
"""Tools that are gone."""
CATALOG_CHANGED: Final = _A("coldturn.catalog.changed", "string[]", On.LIST, "some", "search")
"""Tools whose definition is another."""
CATALOG_TRIGGER: Final = _A("coldturn.catalog.trigger", "string", On.LIST, "always", "list_changed")
"""Why it was fetched: connect, sweep, demand, list_changed or reconnect."""

# Conventions
OPERATION: Final = _A("gen_ai.operation.name", "string", On.EVERY, "not tools/list", "chat")
"""chat, invoke_agent or execute_tool."""
AGENT_NAME: Final = _A("gen_ai.agent.name", "string", On.TURN, "always", "reviewer")
"""Name of the agent."""
CONVERSATION_ID: Final = _A("gen_ai.conversation.id", "string", On.LABELLED, "always", "run-1")
"""The Run."""
PROVIDER: Final = _A("gen_ai.provider.name", "string", On.CHAT, "always", "openai")
"""Provider whose format the request has."""
API_TYPE: Final = _A("openai.api.type", "string", On.CHAT, "OpenAI formats", "responses")
"""Which of OpenAI's two formats."""
REQUEST_MODEL: Final = _A("gen_ai.request.model", "string", On.CHAT, "always", "gpt-5.5")
"""Model asked for."""
RESPONSE_MODEL: Final = _A("gen_ai.response.model", "string", On.CHAT, "reported", "gpt-5.5-2026-09-01")
"""Model that answered."""
RESPONSE_ID: Final = _A("gen_ai.response.id", "string", On.CHAT, "reported", "resp_123")
"""Id of the answer."""
FINISH_REASONS: Final = _A("gen_ai.response.finish_reasons", "string[]", On.CHAT, "reported", "stop")
"""Why the answer ended."""
INPUT_TOKENS: Final = _A("gen_ai.usage.input_tokens", "int", On.CHAT, "reported", "12000")
"""Input tokens, cached and written ones included."""
OUTPUT_TOKENS: Final = _A("gen_ai.usage.output_tokens", "int", On.CHAT, "reported", "210")
"""Output tokens."""
CACHE_READ_TOKENS: Final = _A(
    "gen_ai.usage.cache_read.input_tokens", "int", On.CHAT, "reported, also as 0", "9984"
)
"""Input tokens that the provider read from its cache."""
CACHE_WRITE_TOKENS: Final = _A(
    "gen_ai.usage.cache_write.input_tokens", "int", On.CHAT, "reported, also as 0", "0"
)
"""Input tokens that the provider wrote to its cache."""
CACHE_CREATION_TOKENS: Final = _A(
    "gen_ai.usage.cache_creation.input_tokens", "int", On.CHAT, "asked for (compat_names)", "0"
)
"""The same under its former name."""
USAGE_RAW: Final = _A("coldturn.usage.raw", "string", On.CHAT, "reported", '{"input_tokens":12000}')
"""The provider's own usage object as JSON."""
TOOL_NAME: Final = _A("gen_ai.tool.name", "string", On.TOOL, "always", "files__read_file")
"""Name by which the model called it."""
TOOL_CALL_ID: Final = _A("gen_ai.tool.call.id", "string", On.TOOL, "always", "call_0003")
"""Id of the call."""
TOOL_TYPE: Final = _A("gen_ai.tool.type", "string", On.TOOL, "always", "function")
"""function: run by the host or through MCP."""
MCP_METHOD: Final = _A("mcp.method.name", "string", On.CALLS, "it reaches an MCP server", "tools/list")
"""MCP method."""
ERROR_TYPE: Final = _A("error.type", "string", On.EVERY, "it failed", "tool_error")
"""Kind of failure."""

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    INPUT_TOKENS: ("llm.token_count.prompt", "gen_ai.usage.prompt_tokens"),
    OUTPUT_TOKENS: ("llm.token_count.completion", "gen_ai.usage.completion_tokens"),
    CACHE_READ_TOKENS: (
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "gen_ai.usage.details.cache_read_tokens",
    ),
    CACHE_WRITE_TOKENS: (
        CACHE_CREATION_TOKENS,
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "llm.token_count.prompt_details.cache_write",
        "gen_ai.usage.details.cache_write_tokens",
    ),
}
"""Other names of usage: the conventions' former ones, OpenInference, OpenLLMetry, Strands, pydantic-ai."""

if __name__ == "__main__":
    from coldturn.traces.names_page import page

    sys.stdout.write(page())
