"""What a server leaves out of a prompt that was sent whole: cleared results, compacted text, reasoning."""

from __future__ import annotations

from collections.abc import Iterator

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.estimates.layout import setting
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.model import BYTES_PER_TOKEN, Case, Named, tokens_words
from coldturn.analysis.verdicts.remedies import DRIFT_BY_DESIGN
from coldturn.reference.prefix.model import BlockKind, Confidence, Surface
from coldturn.reference.prefix.request import PromptRequest

_COMPACTION = b'{"type":"compaction"'
_STEP = 128
"""Within so many tokens two estimates say the same."""
_CLEAR_RARELY = (
    "Nothing to mend: ask for more to be cleared at once (clear_at_least), so that it is worth it."
)
_SHRUNK = (
    "Look at what the provider leaves out (truncation, context management); shorten the history yourself."
)


def edits_told(case: Case) -> Iterator[Named]:
    """Edits that the recording itself tells of, where all of the older request was sent again.

    Nothing without a report of reads: what such an edit took shows in nothing else.
    """
    if not case.comparison.stable or case.now.usage.read is None:
        return
    was, now = case.was.signs.cleared, case.now.signs.cleared
    if now > was:
        evidence = f"the server left out {tokens_words(now)} of the prompt by its own word"
        evidence += f", before {was:,}" if was else " (context_management)"
        yield _planned("planned_elision", evidence, _CLEAR_RARELY)
    if _compacted(case):
        evidence = (
            "a compaction block of the server is sent back: what stands in front of it is not read any more"
        )
        yield _planned("compaction", evidence)


def left_out(case: Case, read: int, report: str) -> Named | None:
    """What explains a reported miss by words that are sent and no longer counted; None when nothing does.

    Args:
        case: The pair.
        read: Tokens that the provider reported as read.
        report: The same in words, beside what could have been read.
    """
    fewer, by_design = fewer_words(case), _drops_by_design(case)
    if _reasoning_ends(case) and (fewer or (by_design and _stops_at_reasoning(case, read))):
        evidence = f"{report}; a new user message follows, and the reasoning before it is left out"
        return Named(
            "template_history_drift",
            Verdict.PROVIDER_SIDE_SUSPECTED,
            Confidence.INFERRED,
            f"{evidence}: {fewer}" if fewer else evidence,
            remedy=DRIFT_BY_DESIGN if by_design else None,
        )
    if fewer is None:
        return None
    named = _truncates(case.child)
    evidence = f"{report}; {fewer}, so something was left out"
    evidence += f" ({named})" if named else ""
    return Named("unknown", Verdict.UNKNOWN, Confidence.UNKNOWN, evidence, remedy=_SHRUNK)


def _planned(cause: str, evidence: str, remedy: str | None = None) -> Named:
    return Named(cause, Verdict.PLANNED, Confidence.OBSERVED, evidence, remedy=remedy)


def fewer_words(case: Case) -> str | None:
    """Both inputs in words, where the newer one is smaller though it holds all that the older one held."""
    was, now = case.was.input, case.now.input
    whole = case.comparison.stable and case.stable_bytes == case.was.bytes <= case.now.bytes
    if was is None or now is None or now >= was or not whole or case.by_reference or not case.same_cache:
        return None
    return f"the provider counts {now:,} input tokens and before {was:,}, though text was only added"


def _compacted(case: Case) -> bool:
    """Whether a server's compaction stands in what the newer request adds."""
    added = case.child.contents[len(case.parent.contents) :]
    if not any(facts.content.startswith(_COMPACTION) for content in added for facts in content.facts):
        return False
    blocks = case.child.blocks[len(case.parent.blocks) :]
    return any(one.kind is not BlockKind.TEXT and one.facts.content.startswith(_COMPACTION) for one in blocks)


def _truncates(request: PromptRequest) -> str | None:
    """The setting by which a request lets the provider drop what does not fit."""
    value = setting(request.settings, "truncation")
    return None if value in (None, b'"disabled"') else "truncation is set to auto"


def _drops_by_design(case: Case) -> bool:
    """Whether the provider itself says that it drops the reasoning of earlier turns."""
    return case.known.provider == "openai" and case.child.surface is Surface.RESPONSES


def _reasoning_ends(case: Case) -> bool:
    """Whether reasoning stood in the latest turn, and a new user message ends that."""
    behind = case.child.blocks[len(case.parent.blocks) :]
    return _first_reasoning(case.parent) is not None and any(
        one.role == "user" and one.kind is not BlockKind.TOOL_RESULT for one in behind
    )


def _first_reasoning(request: PromptRequest) -> int | None:
    """Content bytes in front of the first reasoning behind the last user message; None when there is none."""
    total, found = 0, None
    for block in request.blocks:
        if block.role == "user" and block.kind is not BlockKind.TOOL_RESULT:
            found = None
        elif block.kind is BlockKind.REASONING and found is None:
            found = total
        total += len(block.facts.content)
    return found


def _stops_at_reasoning(case: Case, read: int) -> bool:
    """Whether a read goes as far as the reasoning that is left out and no further.

    How many tokens lie in front is an estimate: what is encrypted counts fewer tokens than its bytes say.
    """
    if case.known.model is not EntryModel.LONGEST_PREFIX:
        return False
    front = _first_reasoning(case.parent) or 0
    least, most = sorted((case.tokens_estimated(front), front // BYTES_PER_TOKEN))
    return least - least // 10 - _STEP <= read <= most + most // 10 + _STEP
