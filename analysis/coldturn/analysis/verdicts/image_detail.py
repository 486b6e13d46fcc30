"""An image that is sent again with another `detail`: a setting that stands in the middle of a message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import anchor_of
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.reference.prefix.model import BlockKind, Break, Confidence
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens

CAUSE = "image_detail_changed"
_KEY = b'"detail"'
_USUAL = "auto"
_UNSURE = frozenset({"history_rewritten", "unknown"})


def told_by_detail(
    found: Finding | None, first: Break | None, parent: PromptRequest, child: PromptRequest
) -> Finding | None:
    """A finding at an image that differs in its detail only, under that name; others as they are."""
    if found is None or first is None or first.cause not in _UNSURE or _KEY not in child.body:
        return found
    was, now = _image(parent, first.path), _image(child, first.path)
    if was is None or now is None or _plain(was) != _plain(now):
        return found
    if _detail(was) == _detail(now):
        return replace(
            found,
            cause=CAUSE,
            confidence=Confidence.OBSERVED.value,
            verdict=Verdict.BROKEN_HARMLESS,
            kinds=(),
            lost_tokens_estimated=EstimatedTokens(0),
            evidence="to leave the detail out says auto as well",
            remedy=ALL_REMEDIES[CAUSE],
            anchor=anchor_of(CAUSE),
        )
    return replace(
        found,
        cause=CAUSE,
        confidence=Confidence.OBSERVED.value,
        verdict=Verdict.BROKEN,
        kinds=(),
        lost_bytes=max(min(parent.content_bytes, child.content_bytes) - first.offset, 0),
        remedy=ALL_REMEDIES[CAUSE],
        anchor=anchor_of(CAUSE),
    )


def _image(request: PromptRequest, path: str) -> dict[str, Any] | None:
    for block in request.blocks:
        if block.path == path and block.kind is BlockKind.IMAGE:
            try:
                found = msgspec.json.decode(block.facts.content)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None
            return found if isinstance(found, dict) else None
    return None


def _detail(image: dict[str, Any]) -> object:
    """The detail that is asked for, in the image or one level below; the usual one where none is."""
    inner = (value for value in image.values() if isinstance(value, dict))
    return next((one["detail"] for one in (image, *inner) if one.get("detail") is not None), _USUAL)


def _plain(image: dict[str, Any]) -> dict[str, Any]:
    """The image without its detail, which stands in it or one level below."""
    return {
        key: _plain(value) if isinstance(value, dict) else value
        for key, value in image.items()
        if key != "detail"
    }
