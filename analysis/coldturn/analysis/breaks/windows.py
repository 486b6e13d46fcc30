"""The text around the first differing character."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.reference.prefix.causes.excerpts import CONTEXT, Excerpt, Spans, excerpt
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.model import Break
from coldturn.reference.prefix.request import PromptRequest


@dataclass(frozen=True, slots=True)
class Window:
    """Common text in front, then each side from the first differing character on, and what changed of it."""

    before: str | None
    was: str | None
    now: str | None
    was_changed: Spans = ()
    now_changed: Spans = ()


def window_of(parent: PromptRequest, child: PromptRequest, found: Break, context: int = CONTEXT) -> Window:
    """The window at a break, `context` characters on each side and half of that in front."""
    shown: Break | Excerpt = found
    if context > CONTEXT:
        if (parent.unloaded or child.unloaded) and not child.goes_on_from(parent):
            parent, child = parent.whole(), child.whole()
        place = first_difference(parent, child)
        shown = found if place is None else excerpt(parent, child, place, context)
    return Window(
        shown.before[-(context // 2) :] if context > 1 else "",
        shown.was[:context],
        shown.now[:context],
        _within(shown.was_changed, context),
        _within(shown.now_changed, context),
    )


def _within(spans: Spans, context: int) -> Spans:
    return tuple((start, min(end, context)) for start, end in spans if start < context)
