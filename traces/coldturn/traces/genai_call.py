"""The arguments of google-genai's ``generate_content`` as the request that it sends for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from coldturn.traces.slices import NotJsonError, array_parts, object_parts

_INSTRUCTION = ("system_instruction", "systemInstruction")
_TOP = frozenset({
    "tools", "tool_config", "toolConfig", "cached_content", "cachedContent", "safety_settings",
    "safetySettings", "labels", "service_tier", "serviceTier", "model_armor_config", "modelArmorConfig",
})  # fmt: skip
"""Members of the configuration that stand at the top of the request."""
_NOT_SENT = frozenset({
    "http_options", "httpOptions", "automatic_function_calling", "automaticFunctionCalling",
    "should_return_http_response", "shouldReturnHttpResponse",
})  # fmt: skip

_HEAD = 1_024


def as_sent(body: bytes) -> bytes | None:
    """The request body for ``{model, contents, config}``, None for what is no such call.

    As google-genai builds it: system instruction, tools and some others of the configuration at the top, the
    rest under ``generationConfig``; texts and bare parts wrapped into contents. Every value keeps its bytes,
    and `null` is not sent.
    """
    head = body[:_HEAD]
    # One of the two comes first, or behind the model's name: long bodies of others are not searched.
    if b'"config"' not in head and b'"contents"' not in head:
        return None
    if b'"config"' not in body or b'"contents"' not in body:
        return None
    try:
        parts = object_parts(body)
        config = parts.pop("config", b"")
        if "contents" not in parts or config[:1] != b"{":
            return None
        return _object(_request(parts, object_parts(config)))
    except NotJsonError:
        return None


def _request(parts: dict[str, bytes], config: dict[str, bytes]) -> dict[str, bytes]:
    request = {**parts, "contents": _list(_contents(_elements(parts["contents"])))}
    generation: dict[str, bytes] = {}
    for key, value in config.items():
        if value == b"null" or key in _NOT_SENT:
            continue
        if key in _INSTRUCTION:
            request[key] = _instruction(value)
        elif key in _TOP:
            request[key] = value
        else:
            generation[key] = value
    if generation:
        request["generationConfig"] = _object(generation)
    return request


def _instruction(value: bytes) -> bytes:
    """A text, a part or a list of them as one content; a content as it stands."""
    elements = _elements(value)
    if len(elements) == 1 and _is_content(elements[0]):
        return elements[0]
    return _object({"parts": _list(map(_part, elements))})


def _contents(elements: Sequence[bytes]) -> Iterator[bytes]:
    """Contents as they stand; neighbouring texts and bare parts as one content of the user's."""
    loose: list[bytes] = []
    for element in elements:
        if not _is_content(element):
            loose.append(_part(element))
            continue
        if loose:
            yield _said(loose)
            loose = []
        yield element
    if loose:
        yield _said(loose)


def _said(parts: Sequence[bytes]) -> bytes:
    return _object({"role": b'"user"', "parts": _list(parts)})


def _is_content(element: bytes) -> bool:
    return element[:1] == b"{" and not {"parts", "role"}.isdisjoint(object_parts(element))


def _part(element: bytes) -> bytes:
    return _object({"text": element}) if element[:1] == b'"' else element


def _elements(value: bytes) -> list[bytes]:
    return array_parts(value) if value[:1] == b"[" else [value]


def _list(values: Iterator[bytes] | Sequence[bytes]) -> bytes:
    return b"[" + b",".join(values) + b"]"


def _object(values: dict[str, bytes]) -> bytes:
    return b"{" + b",".join(json.dumps(key).encode() + b":" + value for key, value in values.items()) + b"}"
