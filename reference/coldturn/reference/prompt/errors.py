"""Errors of the prompt's own tools that end a Run."""

from __future__ import annotations

from coldturn.reference.prefix.errors import ColdturnError


class InvalidDeferredHandleError(ColdturnError):
    """A handle that this Run was never given: its log is corrupt, or another Run's data is asked for.

    Attributes:
        code: ``invalid_deferred_handle``, the name under which reports show it.
    """

    slug = "invalid-deferred-handle"
    code = "invalid_deferred_handle"

    def __init__(self, handle: str, run_id: str) -> None:
        self.handle = handle
        self.run_id = run_id
        super().__init__(
            f"invalid_deferred_handle: {handle!r} names no tool result of run {run_id!r}; "
            "the run ends here, and its log stays readable"
        )
