"""From what a user typed to the judge that `explain` and `diff` ask."""

from __future__ import annotations

from coldturn.analysis.estimates.registry import shipped
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
        UnknownRulesError: There are no such rules.
        ParameterError: The named rules have no such parameter, or not with that value.
    """
    given: dict[str, str] = {}
    for text in parameters or []:
        name, sign, value = text.partition("=")
        if not sign:
            raise usage_error(f"--set {text}: write it as NAME=VALUE")
        given[name.strip()] = value.strip()
    options = EstimateOptions(rules, given)
    if rules is not None:
        # Refused before anything is read; without a name the rules are only known once there is a request.
        options.settled(shipped().named(rules).parameters_for(""))
    return Judge(Rulebook(options), Thresholds(miss_tokens, miss_share))
