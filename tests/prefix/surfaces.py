"""The surfaces on which pairs of bodies are compared."""

from __future__ import annotations

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import RENDERED_SURFACES

SURFACES: list[Surface] = list(RENDERED_SURFACES)
