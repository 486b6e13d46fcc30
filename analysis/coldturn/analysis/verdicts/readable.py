"""What a request could have read of the one that it continues, and what is left of that."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.model import Case, Sent
from coldturn.reference.tokens import EstimatedTokens

LEAST = 128
"""Tokens below which a miss that a rule explains is no matter."""


@dataclass(frozen=True, slots=True)
class Readable:
    """Tokens, from bytes and what the provider counted. Times do not count here.

    Attributes:
        whole_estimated: What could have been read, had nothing changed and everything been found.
        left_estimated: What can still be read; at most `whole_estimated`.
    """

    whole_estimated: EstimatedTokens
    left_estimated: EstimatedTokens

    @property
    def lost_estimated(self) -> EstimatedTokens:
        """What the change took."""
        return EstimatedTokens(self.whole_estimated - self.left_estimated)


def readable_of(case: Case, kept_bytes: int, *, earlier: bool = False) -> Readable | None:
    """What is readable when the first `kept_bytes` of content still fit; None where no rules tell.

    Args:
        case: The pair. Its parent's own entries are the measure.
        kept_bytes: Content bytes of the child that stand as the parent sent them, under settings that fit.
        earlier: Whether requests before the parent count as well, under the settings that they had.
    """
    if case.known.rules is None or case.was.known.rules is None:
        return None
    whole = _whole(case)
    if whole is None:
        return None
    if not case.same_cache:
        kept_bytes = left = 0
    else:
        left = whole if kept_bytes >= case.stable_bytes and not _is_written(case) else _left(case, kept_bytes)
    size = earlier_bytes(case) if earlier else 0
    if size > kept_bytes:
        more, read = _left_by_earlier(case, size), case.now.usage.read
        left = max(left, more if read is None else min(more, read))
    return Readable(EstimatedTokens(whole), EstimatedTokens(max(min(left, whole), 0)))


def parent_tokens(case: Case) -> int:
    """Tokens of the parent's stable part: the provider's count where it stands for just that."""
    reported = case.was.input
    whole = case.stable_bytes == case.was.bytes or case.by_reference
    if reported is not None and whole:
        return reported
    return case.tokens_estimated(case.stable_bytes)


def nothing_yet(case: Case) -> str:
    """Why nothing of the parent could be read at all, in words."""
    minimum = case.known.parameters.minimum or 0
    places = case.was.places
    if _is_written(case) and places is not None and places.deepest is None:
        return "the older request wrote no entry: costs nothing yet"
    if parent_tokens(case) < minimum:
        return f"below the {minimum:,}-token minimum: costs nothing yet"
    return "shorter than the least that can be read: costs nothing yet"


def _is_written(case: Case) -> bool:
    return case.known.model is EntryModel.WRITTEN_ENTRIES


def _whole(case: Case) -> int | None:
    match case.was.known.model:
        case EntryModel.LONGEST_PREFIX:
            tokens = parent_tokens(case)
            return case.was.known.grid.read(min(tokens, case.input_tokens), case.input_tokens)
        case EntryModel.WHOLE_UNITS:
            return _unit(case, case.was, parent_tokens(case))
        case EntryModel.WRITTEN_ENTRIES:
            return written_tokens(case)
        case _:
            return None


def written_tokens(case: Case) -> int | None:
    """Tokens of the deepest entry that the parent left: as the provider counted, else by its markers."""
    usage = case.was.usage
    counted = (usage.read or 0) + (usage.written or 0)
    if usage.read is not None and usage.written is not None and counted and not case.was.counts_more:
        return counted
    if case.by_reference or case.was.places is None:
        return None
    deepest = case.was.places.deepest
    return 0 if deepest is None else _cached(case, deepest.bytes)


def _cached(case: Case, size: int) -> int:
    """Tokens of an entry of so many bytes; none when it is too small to be kept."""
    tokens = case.tokens_estimated(size)
    return tokens if tokens >= (case.known.parameters.minimum or 0) else 0


def _left(case: Case, kept_bytes: int) -> int:
    match case.known.model:
        case EntryModel.LONGEST_PREFIX:
            return case.known.grid.read(case.tokens_estimated(kept_bytes), case.input_tokens)
        case EntryModel.WHOLE_UNITS:
            fitting = (one for one in case.ancestors() if one.bytes <= kept_bytes)
            unit = next(fitting, None)
            return 0 if unit is None else _unit(case, unit, case.tokens_estimated(unit.bytes))
        case EntryModel.WRITTEN_ENTRIES:
            return _found(case, kept_bytes)
        case _:
            return 0


def earlier_bytes(case: Case) -> int:
    """Content bytes that any earlier request left to be read: with markers, those of the deepest entry."""
    if not _is_written(case):
        return case.earlier_bytes
    hit, now = None if case.look is None else case.look.hit, case.now.started
    return 0 if hit is None or hit.expired(now) or hit.early(now) else hit.bytes


def alive_tokens(case: Case) -> int:
    """Tokens that some earlier request left and that are still there at the request's time (estimated)."""
    return _left_by_earlier(case, earlier_bytes(case))


def _left_by_earlier(case: Case, size: int) -> int:
    if _is_written(case):
        return _cached(case, size)
    tokens = case.tokens_estimated(size)
    if case.known.model is EntryModel.LONGEST_PREFIX:
        return case.known.grid.read(tokens, case.input_tokens)
    parameters = case.known.parameters
    whole = tokens - tokens % parameters.granularity
    return whole if whole >= (parameters.minimum or 0) else 0


def _found(case: Case, kept_bytes: int) -> int:
    """Tokens of the deepest written entry that the child's text, settings and markers find."""
    look, places = case.look, case.was.places
    if look is None or look.hit is None or places is None or places.deepest is None:
        return 0
    if kept_bytes < min(look.hit.bytes, case.stable_bytes):
        fitting = (
            one.bytes for one in places.entries if one.bytes <= kept_bytes and one.boundary in look.looked
        )
        return _cached(case, max(fitting, default=0))
    if look.hit.bytes >= places.deepest.bytes:
        return written_tokens(case) or 0
    return _cached(case, look.hit.bytes)


def _unit(case: Case, one: Sent, tokens: int) -> int:
    """A whole unit, rounded down; where answers are part of it they count as far as they are sent back."""
    parameters = case.known.parameters
    if parameters.fed_back and one.usage.output is not None:
        tokens = min(tokens + one.usage.output, case.input_tokens)
    size = tokens - tokens % parameters.granularity
    return size if size >= (parameters.minimum or 0) else 0
