"""One pair, whatever the two share: two recorded requests, or two plain texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TypeAlias

from coldturn.analysis.breaks.findings import Finding, LineageReport, ReadError, Report
from coldturn.analysis.breaks.pair import PairOptions, finding_of
from coldturn.analysis.breaks.settings import SettingsChange, changed_settings
from coldturn.analysis.fidelity import lowest
from coldturn.analysis.sources import NO_TEXT, holds_no_text, reply_of
from coldturn.analysis.verdicts.judge import Judge
from coldturn.analysis.verdicts.model import Known
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.tokens import estimate_tokens
from coldturn.traces.exchange import Exchange

PAIR = "pair"


class DifferentSurfacesError(ColdturnError):
    """Two requests in different providers' formats: no prefix of one can be a prefix of the other."""

    slug = "different-surfaces"

    def __init__(self, older: Surface, newer: Surface) -> None:
        super().__init__(
            f"a {older.value} request cannot be compared with a {newer.value} request; give two of one format"
        )


@dataclass(frozen=True, slots=True)
class NamedText:
    """A plain text with the name that reports use."""

    name: str
    content: bytes


def explain_pair(
    older: Exchange, newer: Exchange, options: PairOptions, judge: Judge | None = None
) -> Report:
    """Compare two requests, the older one as the parent; `LineageReport.older` keeps its name.

    Args:
        older: The parent.
        newer: The child.
        options: What the findings carry.
        judge: With rules and thresholds of one's own; the shipped ones when None.

    Raises:
        UnreadableBodyError: One is no request.
        DifferentSurfacesError: They are of different formats.
    """
    parent = read_request(older.request_body, url=older.url, fidelity=older.fidelity)
    child = read_request(newer.request_body, url=newer.url, fidelity=newer.fidelity)
    if parent.surface is not child.surface:
        raise DifferentSurfacesError(parent.surface, child.surface)
    lineage = LineageReport(
        id=PAIR,
        source=newer.source,
        older=older.source,
        provider=child.provider,
        surface=child.surface,
        model=child.model,
        fidelity=lowest(parent.fidelity, child.fidelity),
    )
    if keys := changed_settings(parent, child):
        lineage.settings_changed.append(SettingsChange(1, 0, keys))
    found, known = _judged((older, parent), (newer, child), options, judge or Judge())
    lineage.rules = known.name
    if known.elsewhere:
        lineage.rules_elsewhere[child.model or ""] = known.elsewhere
    report = _report(lineage, parent, child, found)
    report.errors += [
        ReadError(one.source, one.entry, NO_TEXT)
        for one, request in ((older, parent), (newer, child))
        if holds_no_text(request)
    ]
    return report


def explain_texts(older: NamedText, newer: NamedText, options: PairOptions) -> Report:
    """Compare two plain texts as if each were a whole system prompt.

    Offsets are bytes of the files; ``path`` is ``$``, the text itself.
    """
    parent, child = _as_instructions(older.content), _as_instructions(newer.content)
    lineage = LineageReport(
        id=PAIR,
        source=newer.name,
        older=older.name,
        provider=None,
        surface=None,
        model=None,
        fidelity=child.fidelity,
    )
    found = _compare(parent, child, options)
    if found is not None:
        later = tuple(replace(cause, path="$") for cause in found.later)
        found = replace(found, path="$", segment="text", wire_offset=found.block_offset, later=later)
    return _report(lineage, parent, child, found)


def _as_instructions(text: bytes) -> PromptRequest:
    body = json.dumps({"instructions": text.decode(), "input": []}, ensure_ascii=False).encode()
    return read_request(body, surface=Surface.RESPONSES)


def _compare(parent: PromptRequest, child: PromptRequest, options: PairOptions) -> Finding | None:
    return finding_of(parent, child, compare(parent, child), options)


_Read: TypeAlias = tuple[Exchange, PromptRequest]


def _judged(older: _Read, newer: _Read, options: PairOptions, judge: Judge) -> tuple[Finding | None, Known]:
    """The finding of a pair, and the rules that judged it."""
    judge.observe(*older, reply_of(*older), index=0)
    observed = judge.observe(*newer, reply_of(*newer), index=1, parent=0)
    found = judge.judge(observed, older[1], compare(older[1], newer[1]), options)
    return found, observed.sent.known


def _report(
    lineage: LineageReport, parent: PromptRequest, child: PromptRequest, found: Finding | None
) -> Report:
    lineage.requests = 2
    lineage.tokens.input_estimated = sum(
        estimate_tokens(request.content_bytes) for request in (parent, child)
    )
    if found is not None:
        lineage.breaks.append(replace(found, source=lineage.source))
    return Report([lineage])
