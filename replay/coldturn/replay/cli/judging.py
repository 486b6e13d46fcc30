"""From what a user typed to the judge that `explain` and `diff` ask."""

from __future__ import annotations

from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.verdicts.judge import Judge
from coldturn.analysis.verdicts.model import Thresholds
from coldturn.analysis.verdicts.rulebook import Rulebook
from coldturn.replay.cli.options import usage_error

DEFAULT = Thresholds()


def judge_of(
    rules: str | None,
    parameters: list[str] | None,
    *,
    miss_tokens: int = DEFAULT.tokens,
    miss_share: float = DEFAULT.share,
) -> Judge:
    """A judge with a user's rules, parameters and thresholds.

    Raises:
        UsageError: A parameter is no ``name=value``.
    """
    given: dict[str, str] = {}
    for text in parameters or []:
        name, sign, value = text.partition("=")
        if not sign:
            raise usage_error(f"--set {text}: write it as NAME=VALUE")
        given[name.strip()] = value.strip()
    return Judge(Rulebook(EstimateOptions(rules, given)), Thresholds(miss_tokens, miss_share))
