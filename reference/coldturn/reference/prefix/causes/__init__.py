"""Why a prefix broke, as far as the bytes of two requests tell: the first cause, and the later ones."""

from __future__ import annotations

from coldturn.reference.prefix.causes.compare import compare
from coldturn.reference.prefix.causes.remedies import REMEDIES, remedy_of

__all__ = ["REMEDIES", "compare", "remedy_of"]
