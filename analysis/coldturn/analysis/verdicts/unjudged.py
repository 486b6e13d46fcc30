"""Settings of which no rule says what they do to a cache: they are named before the provider is blamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from coldturn.analysis.breaks.settings import changed_settings
from coldturn.analysis.verdicts.model import Case
from coldturn.analysis.verdicts.settings import PATHS, Changed

_KNOWN = frozenset({"model", *(path for paths in PATHS.values() for path in paths)})
_HARMLESS = frozenset(
    {
        "additionalModelResponseFieldPaths",
        "best_of",
        "frequency_penalty",
        "inferenceConfig",
        "labels",
        "logit_bias",
        "prediction",
        "presence_penalty",
        "reasoning.generate_summary",
        "reasoning.summary",
        "repetition_penalty",
        "requestMetadata",
        "safetySettings",
        "safety_settings",
        "thinking.display",
        "usage",
        *(
            f"generationConfig.{key}"
            for key in (
                *("candidateCount", "frequencyPenalty", "logprobs", "maxOutputTokens", "presencePenalty"),
                *("responseLogprobs", "seed", "stopSequences", "temperature", "topK", "topP"),
            )
        ),
    }
)
"""How an answer is drawn and told, besides what no list of changed settings holds."""


def unjudged_settings(case: Case) -> list[Changed]:
    """Settings that differ and that neither rules nor the tables of causes know; cause ``unknown``."""
    was, now = case.parent.settings, case.child.settings
    return [
        Changed("unknown", path, _words(before), _words(after), None)
        for key in changed_settings(case.parent, case.child)
        for path, before, after in _differing(key, was.get(key), now.get(key))
        if not _is_known(path)
    ]


def _differing(
    path: str, before: bytes | None, after: bytes | None
) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    """The innermost keys that differ; a value that is no object on one side stands for itself."""
    was, now = _object(before), _object(after)
    if path in _HARMLESS or was is None or now is None:
        yield path, before, after
        return
    for key in sorted(was.keys() | now.keys()):
        older, newer = was.get(key), now.get(key)
        if older != newer:
            yield from _differing(f"{path}.{key}", older, newer)


def _object(value: bytes | None) -> Mapping[str, bytes] | None:
    """The members of an object; none where there is nothing, so that a new object is told by its keys."""
    if value is None:
        return {}
    try:
        found = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return {key: bytes(raw) for key, raw in found.items()}


def _is_known(path: str) -> bool:
    """Whether a table knows it, or what it stands in: then it has been judged, or costs nothing for sure."""
    parts = path.split(".")
    outer = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return not outer.isdisjoint(_KNOWN | _HARMLESS)


def _words(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
