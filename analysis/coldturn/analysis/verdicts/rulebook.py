"""The rules of each request, looked up once for each format, host and model."""

from __future__ import annotations

from urllib.parse import urlsplit

from coldturn.analysis.estimates.registry import (
    CannotEvaluateError,
    MissingParameterError,
    NoRulesError,
    Registry,
    shipped,
)
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.estimates.simulate import grid_of
from coldturn.analysis.verdicts.model import Known
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest

_NOTHING = Parameters(minimum=0)


class Rulebook:
    """Chooses as `coldturn estimate` does.

    Args:
        options: Rules and parameters that a user names.
        registry: The rules; those that ship with coldturn when None.
    """

    def __init__(self, options: EstimateOptions | None = None, registry: Registry | None = None) -> None:
        self.options = options or EstimateOptions()
        self._registry = registry or shipped()
        self._known: dict[tuple[Surface, str, str | None], Known] = {}

    def known(self, request: PromptRequest, url: str) -> Known:
        """The rules for a request, or why there are none.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        key = (request.surface, url, request.model)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._choose(request, url)
        return found

    def _choose(self, request: PromptRequest, url: str) -> Known:
        named = self.options.rules is not None
        try:
            rules = (
                self._registry.named(self.options.rules)
                if self.options.rules is not None
                else self._registry.choose(request.surface, url, request.model)
            )
            parameters = _complete(rules, self.options, request.model or "")
        except CannotEvaluateError as error:
            elsewhere = tuple(one.name for one in error.elsewhere) if isinstance(error, NoRulesError) else ()
            return Known(None, _NOTHING, host_of(url), error.reason, named, elsewhere)
        return Known(rules, parameters, host_of(url), None, named, grid=grid_of(parameters))


def host_of(url: str) -> str:
    """Host of an address; empty when there is none."""
    return (urlsplit(url).hostname or "") if url else ""


def _complete(rules: RuleSet, options: EstimateOptions, model: str) -> Parameters:
    parameters = options.settled(rules.parameters_for(model))
    if parameters.minimum is None and rules.model is not EntryModel.EXPLICIT_RESOURCE:
        raise MissingParameterError(rules, "minimum", model)
    return parameters
