"""What two recordings of different fidelity support together."""

from __future__ import annotations

from coldturn.reference.prefix.model import Fidelity

_ORDER = (Fidelity.WIRE, Fidelity.CANONICAL, Fidelity.MESSAGES, Fidelity.NUMBERS)


def lowest(one: Fidelity, other: Fidelity) -> Fidelity:
    """The fidelity of a comparison between two."""
    return max(one, other, key=_ORDER.index)
