"""Settings that no prompt text shows, and which tiers of the cache a change of each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from coldturn.analysis.estimates.layout import setting, shows_image
from coldturn.analysis.estimates.ruleset import Parameters, Placement
from coldturn.analysis.verdicts.model import Case, Known, Sent
from coldturn.reference.prefix.model import Zone
from coldturn.reference.prefix.request import PromptRequest

TIERS = ("tools", "system", "messages")

PATHS: Mapping[str, tuple[str, ...]] = {
    "effort_changed": (
        "reasoning.effort",
        "reasoning_effort",
        "output_config.effort",
        "effort",
        "additionalModelRequestFields.output_config.effort",
        "additionalModelRequestFields.reasoning_effort",
        "generationConfig.thinkingConfig.thinkingLevel",
    ),
    "thinking_changed": (
        "thinking",
        "enable_thinking",
        "chat_template_kwargs",
        "additionalModelRequestFields.thinking",
        "additionalModelRequestFields.reasoning_config",
        "generationConfig.thinkingConfig.thinkingBudget",
        "generationConfig.thinkingConfig.includeThoughts",
    ),
    "verbosity_changed": ("text.verbosity", "verbosity"),
    "tool_choice_changed": (
        "tool_choice",
        "toolConfig.toolChoice",
        "toolConfig.functionCallingConfig",
        "function_call",
    ),
    "parallel_tool_calls_changed": ("parallel_tool_calls",),
    "response_format_changed": (
        "text.format",
        "response_format",
        "output_config.format",
        "output_format",
        "outputConfig",
        "generationConfig.responseMimeType",
        "generationConfig.responseSchema",
        "generationConfig.responseJsonSchema",
    ),
    "service_tier_changed": ("service_tier", "serviceTier", "speed", "performanceConfig"),
    "betas_changed": ("anthropic_beta", "betas", "additionalModelRequestFields.anthropic_beta"),
    "cache_key_changed": ("prompt_cache_key", "session_id", "promptCacheKey"),
    "scope_changed": ("cache_salt", "inference_geo", "cachedContent", "organization", "project"),
}
"""Cause -> where the setting stands on the request formats, top-level keys or dotted paths."""

HEADERS: Mapping[str, str] = {
    "anthropic-beta": "betas_changed",
    "x-grok-conv-id": "cache_key_changed",
    "session_id": "cache_key_changed",
    "session-id": "cache_key_changed",
    "conversation_id": "cache_key_changed",
    "x-session-id": "cache_key_changed",
    "x-session-affinity": "cache_key_changed",
    "x-claude-code-session-id": "cache_key_changed",
    "openai-organization": "scope_changed",
    "openai-project": "scope_changed",
}
"""Request headers that readers keep (`Exchange.request_headers`) -> cause."""

ORDER = (
    "model_changed",
    "scope_changed",
    "cache_key_changed",
    "betas_changed",
    "service_tier_changed",
    "response_format_changed",
    "effort_changed",
    "thinking_changed",
    "verbosity_changed",
    "parallel_tool_calls_changed",
    "tool_choice_changed",
    "image_toggle",
)
"""Which one is named first among those that take the same tiers."""

_DEFAULTS: Mapping[str, frozenset[bytes]] = {
    "tool_choice": frozenset({b'"auto"', b'{"type":"auto"}'}),
    "parallel_tool_calls": frozenset({b"true"}),
    "service_tier": frozenset({b'"auto"', b'"default"', b'"standard_only"'}),
    "speed": frozenset({b'"standard"'}),
    "thinking": frozenset({b'{"type":"disabled"}'}),
    "text.verbosity": frozenset({b'"medium"'}),
    "verbosity": frozenset({b'"medium"'}),
    "text.format": frozenset({b'{"type":"text"}'}),
    "response_format": frozenset({b'{"type":"text"}'}),
}
"""Values that say what leaving the setting out says too."""

_EFFORTS: tuple[tuple[re.Pattern[str], bytes], ...] = (
    (re.compile(r"(?:openai/)?(?:o[134](?:-|$)|gpt-5(?:-mini|-nano|-codex)?(?:-\d{4}|$))"), b'"medium"'),
    (re.compile(r"(?:openai/)?gpt-5\.[12](?:-\d{4}|$)"), b'"none"'),
)
"""Efforts that models of OpenAI's use when a request names none, by OpenAI's guide to reasoning models."""

_PARALLEL = "disable_parallel_tool_use"
_IMAGES = "@images"
AFFINITY = frozenset({"cache_key_changed", "scope_changed"})
"""Causes by which a request may go to another cache."""
_OWN_CACHE = frozenset(
    {"cache_salt", "cachedContent", "openai-organization", "openai-project", "organization", "project"}
)
"""What names a cache of its own, whoever the provider is."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One setting in which a request differs from its parent.

    Attributes:
        key: Path in the body, or name of a header.
        was: Compact JSON; None where it was not there. `now` likewise.
        tiers: What is lost by the rules; empty when nothing is, None when nobody says.
    """

    cause: str
    key: str
    was: str | None
    now: str | None
    tiers: tuple[str, ...] | None

    @property
    def rank(self) -> tuple[int, int]:
        """The one that takes most comes first."""
        first = TIERS.index(self.tiers[0]) if self.tiers else len(TIERS)
        return first, ORDER.index(self.cause)


def changed_settings(case: Case) -> list[Changed]:
    """All changed settings of a pair that a cache may see, the one that takes most first."""
    if are_equal(case.parent, case.child, case.was, case.now):
        return []
    found = [*_model(case), *_body(case), *_headers(case), *_images(case)]
    return sorted(found, key=lambda one: one.rank)


def are_equal(parent: PromptRequest, child: PromptRequest, was: Sent, now: Sent) -> bool:
    """Whether nothing needs to be looked at: most requests repeat the settings of the one before."""
    return (
        parent.settings is child.settings
        and was.known is now.known
        and was.routes == now.routes
        and _IMAGES not in now.known.parameters.tiers.messages
    )


def kept_bytes(request: PromptRequest, tiers: tuple[str, ...]) -> int:
    """Content bytes in front of the first tier that is lost."""
    if not tiers or tiers[0] == "tools":
        return 0
    wanted = (Zone.TOOLS,) if tiers[0] == "system" else (Zone.TOOLS, Zone.SYSTEM, Zone.TAIL)
    elements = 0
    for placed in request.groups:
        if placed.group.zone in wanted:
            elements += len(placed.elements)
            continue
        elements += placed.leading if Zone.SYSTEM in wanted else 0
        break
    return request.totals.bytes[elements]


def names_cache(known: Known, key: str) -> bool:
    """Whether a key or session id is known to lead to a cache of its own."""
    if key in _OWN_CACHE:
        return True
    return known.rules is not None and known.parameters.placement is not Placement.ANTHROPIC


def value_of(settings: Mapping[str, bytes], path: str) -> bytes | None:
    """A setting as compact JSON; None where it is left out, or says what leaving it out says too."""
    value = setting(settings, path)
    return None if value in _DEFAULTS.get(path, ()) else value


def _model(case: Case) -> Iterator[Changed]:
    was, now = case.was, case.now
    if case.parent.model != case.child.model:
        yield Changed("model_changed", "model", _json(was.model), _json(now.model), TIERS)
    if was.host != now.host and was.host and now.host:
        yield Changed("scope_changed", "host", was.host, now.host, TIERS)


def _body(case: Case) -> Iterator[Changed]:
    was, now = case.parent.settings, case.child.settings
    if was is now or was == now:
        return
    for cause, paths in PATHS.items():
        for path in paths:
            if was.get(first := path.partition(".")[0]) == now.get(first):
                continue
            before, after = value_of(was, path), value_of(now, path)
            if cause == "effort_changed" and _usual_effort(case, before) == _usual_effort(case, after):
                continue
            if before != after:
                yield from _at(case, cause, path, before, after)


def _usual_effort(case: Case, effort: bytes | None) -> bytes | None:
    """An effort, or the one that leaving it out asks of the model, where that is documented."""
    if effort is not None:
        return effort
    return next((usual for models, usual in _EFFORTS if models.match(case.now.model or "")), None)


def _at(case: Case, cause: str, path: str, before: bytes | None, after: bytes | None) -> Iterator[Changed]:
    if path == "tool_choice" and (parted := _parallel_only(before, after)) is not None:
        cause, path = "parallel_tool_calls_changed", parted
    tiers = _tiers(case, cause, path)
    yield Changed(cause, path, _words(before), _words(after), tiers)


def _headers(case: Case) -> Iterator[Changed]:
    was, now = dict(case.was.routes), dict(case.now.routes)
    for name in sorted(was.keys() | now.keys()):
        before, after = was.get(name), now.get(name)
        cause = HEADERS.get(name)
        if cause is not None and _as_set(before) != _as_set(after):
            yield Changed(cause, name, before, after, _affinity(case, cause, name))


def _images(case: Case) -> Iterator[Changed]:
    """A first image, or the last one gone, where the rules say that this counts."""
    tiers = _listed(case.known.parameters, _IMAGES)
    if tiers:
        was, now = (
            _has_image(request) if sent.places is None else sent.places.images
            for request, sent in ((case.parent, case.was), (case.child, case.now))
        )
        if was is not now:
            yield Changed("image_toggle", "images", str(was).lower(), str(now).lower(), tiers)


def _has_image(request: PromptRequest) -> bool:
    return any(
        shows_image(piece.kind, piece.facts.content)
        for placed in request.groups
        for element in placed.elements
        for piece in element.pieces
    )


def _tiers(case: Case, cause: str, path: str) -> tuple[str, ...] | None:
    asked = "tool_choice" if path.endswith(_PARALLEL) else path
    found = () if case.known.rules is None else _listed(case.known.parameters, asked)
    if found:
        return found
    tiers = case.known.parameters.tiers
    told = case.known.rules is not None and bool(tiers.tools or tiers.system or tiers.messages)
    if not told or cause in AFFINITY or cause == "betas_changed":
        return _affinity(case, cause, path)
    return ()


def _affinity(case: Case, cause: str, key: str) -> tuple[str, ...] | None:
    """What another place to be served costs: everything, where a provider is known to go by this key."""
    return TIERS if (cause in AFFINITY or key in _OWN_CACHE) and names_cache(case.known, key) else None


def _listed(parameters: Parameters, path: str) -> tuple[str, ...]:
    """Tiers from the first one on whose key holds this setting, or what stands above or below it."""
    tiers = parameters.tiers
    for index, names in enumerate((tiers.tools, tiers.system, tiers.messages)):
        if any(_covers(name, path) for name in names):
            return TIERS[index:]
    return ()


def _covers(name: str, path: str) -> bool:
    return name == path or path.startswith(f"{name}.") or path.endswith(f".{name}")


def _parallel_only(before: bytes | None, after: bytes | None) -> str | None:
    """The path of Anthropic's switch for parallel calls, when nothing else of the choice differs."""
    was, now = _object(before), _object(after)
    if was.pop(_PARALLEL, False) == now.pop(_PARALLEL, False):
        return None
    plain: list[dict[str, object]] = [{}, {"type": "auto"}]
    same = was == now or (was in plain and now in plain)
    return f"tool_choice.{_PARALLEL}" if same else None


def _object(value: bytes | None) -> dict[str, object]:
    try:
        found = msgspec.json.decode(value) if value else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_set(header: str | None) -> frozenset[str]:
    """Values of a header; their order says nothing."""
    return frozenset(part.strip() for part in (header or "").split(",") if part.strip())


def _json(text: str | None) -> str | None:
    return None if text is None else f'"{text}"'


def _words(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
