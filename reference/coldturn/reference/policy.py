"""Policies: each choice that the harness compares is one field of a frozen value."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator


class Policy(BaseModel):
    """How a prompt is assembled. The defaults are the policy ``stable``.

    Thresholds count estimated tokens (UTF-8 bytes / 4, rounded up) unless their name says otherwise.
    ``docs/runtime.md`` says what each field decides.

    Attributes:
        current_turn_cap: Results of the turn that is going on are shown whole, however large, unless this is
            set: then one over the cap is shown as a preview at once, says so in its text, and is warned of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "stable"

    disclosure: Literal["tiers", "all"] = "tiers"
    promotion: Literal["bridge", "append", "native"] = "bridge"
    catalogue: Literal["none", "system", "suffix"] = "none"
    reminders: Literal["suffix", "system"] = "suffix"
    suffix_placement: Literal["trailing", "last_user", "persisted"] = "trailing"
    clock: Literal["transient", "system"] = "transient"
    memory: Literal["tail", "system"] = "tail"
    elision_boundary: Literal["turn", "step", "none"] = "turn"
    resolution: Literal["turn", "run"] = "turn"
    tool_order: Literal["pinned", "server"] = "pinned"
    midrun_preload: Literal["meta", "append"] = "meta"
    removal: Literal["turn", "run"] = "turn"
    tier_change: Literal["boundary", "turn"] = "boundary"

    direct_tools: int = Field(default=20, ge=0)
    direct_tokens: int = Field(default=8_000, ge=0)
    facade_tools: int = Field(default=100, ge=0)
    server_line_chars: int = Field(default=200, ge=1)
    result_tokens: int = Field(default=4_000, ge=1)
    batch_tokens: int = Field(default=12_000, ge=1, validate_default=True)
    preview_chars: int = Field(default=800, ge=1)
    failure_chars: int = Field(default=400, ge=1)
    reader_page_chars: int = Field(default=20_000, ge=1)
    search_hits: int = Field(default=8, ge=1)
    current_turn_cap: int | None = Field(default=None, ge=1)

    @field_validator("batch_tokens")
    @classmethod
    def _holds_a_result(cls, batch: int, info: ValidationInfo) -> int:
        result = info.data.get("result_tokens", 0)
        if result > batch:
            raise ValueError(
                f"result_tokens ({result}) is over batch_tokens ({batch}): "
                "a batch could not even hold one result that is left whole"
            )
        return batch


_BEFORE_BOTH_FIXES = {
    "promotion": "append",
    "catalogue": "system",
    "reminders": "system",
    "suffix_placement": "last_user",
}

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(),
        Policy.model_validate(
            {
                "name": "naive",
                "disclosure": "all",
                "catalogue": "system",
                "reminders": "system",
                "suffix_placement": "last_user",
                "clock": "system",
                "memory": "system",
                "elision_boundary": "step",
                "tool_order": "server",
                "midrun_preload": "append",
                "tier_change": "turn",
            }
        ),
        Policy.model_validate({"name": "catalog-origin", **_BEFORE_BOTH_FIXES}),
        Policy.model_validate({"name": "catalog-in-system", **_BEFORE_BOTH_FIXES, "reminders": "suffix"}),
        Policy.model_validate(
            {"name": "catalog-in-suffix", **_BEFORE_BOTH_FIXES, "reminders": "suffix", "catalogue": "suffix"}
        ),
    )
}
"""The named policies; ``catalog-*`` are one agent's three states: before, between and after two fixes."""
