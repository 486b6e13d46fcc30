"""What can go wrong with a baseline and its exemptions: one sentence each."""

from __future__ import annotations

from coldturn.reference.prefix.errors import ColdturnError


class BaselineError(ColdturnError):
    """A baseline file that cannot be used as it stands."""

    slug = "baseline"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the baseline {path} cannot be used: {reason}")


class NewerBaselineError(BaselineError):
    """A baseline that a later version wrote."""

    slug = "baseline-newer"

    def __init__(self, path: str, version: int, known: int) -> None:
        self.version = version
        super().__init__(
            path,
            f"it is of format {version} and this coldturn knows formats up to {known}; update coldturn",
        )


class BaselineUnwritableError(BaselineError):
    """A baseline that cannot be written."""

    slug = "baseline-unwritable"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"it cannot be written ({reason}); choose another place with --baseline")


class ExemptionError(ColdturnError):
    """An exemption that says too little, or something that no exemption has."""

    slug = "exemption"

    def __init__(self, where: str, number: int, reason: str) -> None:
        """Tell which one.

        Args:
            where: The file that holds it.
            number: Its place among the exemptions there, from 1.
            reason: What is wrong, in a few words.
        """
        self.where = where
        self.number = number
        super().__init__(
            f"exemption {number} in {where} cannot be used: {reason}; "
            "it needs a source, a cause and a reason that tells a reviewer why"
        )
