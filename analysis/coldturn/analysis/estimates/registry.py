"""The registry of cache rules: those that ship with coldturn, and a user's own beside or in place of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from coldturn.analysis.estimates.ruleset import Parameters, RuleSet, Status
from coldturn.reference.complaints import plain_complaint
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface

_CANNOT_EVALUATE = 3
_OWNERS = {
    "anthropic": "Anthropic",
    "aws.bedrock": "Amazon Bedrock",
    "deepseek": "DeepSeek",
    "gcp.gemini": "Gemini",
    "gcp.vertex_ai": "Vertex AI",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "x_ai": "xAI",
}
"""Providers by ``gen_ai.provider.name``, as a sentence calls them; others stand there by that name."""


class RuleFileError(ColdturnError):
    """A file of rules that is not there, or whose content is wrong."""

    slug = "rule-file"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(f"{path}: these cache rules cannot be used: {reason}; see `coldturn docs providers`")


class UnknownRulesError(ColdturnError):
    """A name that no rule of the registry has."""

    slug = "unknown-rules"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(f"--rules {name}: no such rules; there are {', '.join(sorted(known))}")


class ParameterError(ColdturnError):
    """A parameter that does not exist, or a value that it cannot have."""

    slug = "rule-parameter"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"--set {name}: {reason}")


class CannotEvaluateError(ColdturnError):
    """A question that the registry has no answer to."""

    slug = "cannot-evaluate"
    exit_code = _CANNOT_EVALUATE

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"cannot evaluate: {reason}")


class NoRulesError(CannotEvaluateError):
    """No rule is for this provider, host and model.

    Attributes:
        elsewhere: Rules for this format and model at other hosts, which a gateway may stand in front of.
    """

    def __init__(self, surface: str, host: str, model: str, elsewhere: Sequence[RuleSet] = ()) -> None:
        self.host, self.model, self.elsewhere = host, model, tuple(elsewhere)
        at = f" at {host}" if host else ""
        if elsewhere:
            named = ", or ".join(f"{_owner(one)}: --rules {one.name}" for one in elsewhere)
            super().__init__(
                f"no rules for model {model} on {surface}{at}; if this stands in front of {named}"
                " (coldturn estimate --rules list shows the registry)"
            )
            return
        super().__init__(
            f"no rules for model {model or '(none named)'} on {surface}{at}; name some with --rules, "
            "or add a file with --rules-from (coldturn estimate --rules list shows the registry)"
        )


class ContestedRulesError(CannotEvaluateError):
    """The only rules for this model are contested as a whole."""

    def __init__(self, rules: RuleSet, model: str) -> None:
        self.rules = rules
        notes = "; ".join(point.note for point in rules.contested)
        super().__init__(
            f"the rules {rules.name} for model {model} are contested ({notes or rules.source}); "
            f"use them anyway with --rules {rules.name}"
        )


class MissingParameterError(CannotEvaluateError):
    """Rules that need a figure which they do not have for this model."""

    def __init__(self, rules: RuleSet, parameter: str, model: str) -> None:
        self.rules, self.parameter = rules, parameter
        super().__init__(
            f"the rules {rules.name} know no {parameter} for model {model or '(none named)'}; "
            f"give one with --set {parameter}=VALUE"
        )


class Registry:
    """Rules by name.

    Args:
        rules: Later ones replace earlier ones of the same name. Where several match, a user's come first.
    """

    def __init__(self, rules: Iterable[RuleSet]) -> None:
        self._rules: dict[str, RuleSet] = {}
        for one in rules:
            self._rules[one.name] = one

    def __iter__(self) -> Iterator[RuleSet]:
        """All rules, by name."""
        return iter(sorted(self._rules.values(), key=lambda one: one.name))

    def named(self, name: str) -> RuleSet:
        """The rules of that name.

        Raises:
            UnknownRulesError: There are none.
        """
        found = self._rules.get(name)
        if found is None:
            raise UnknownRulesError(name, self._rules)
        return found

    def choose(self, surface: Surface | None, url: str, model: str | None) -> RuleSet:
        """The rules for a request, by its format, the host it was sent to and the model it names.

        Raises:
            NoRulesError: None match.
            ContestedRulesError: Those that match are contested as a whole.
        """
        host = (urlsplit(url).hostname or "") if url else ""
        called = model or ""
        for one in reversed(self._rules.values()):
            if one.match is not None and one.match.admits(surface, host, called):
                if one.status is Status.CONTESTED:
                    raise ContestedRulesError(one, called)
                return one
        elsewhere = self._elsewhere(surface, called) if host else []
        raise NoRulesError(surface.value if surface else "this surface", host, called, elsewhere)

    def _elsewhere(self, surface: Surface | None, model: str) -> list[RuleSet]:
        """Rules for this format and model, whatever the host; the maker's own alone where there are some."""
        found = [
            one
            for one in self
            if one.match is not None
            and one.match.models
            and one.status is not Status.CONTESTED
            and one.match.model_copy(update={"hosts": (), "no_host": True}).admits(surface, "", model)
        ]
        return [one for one in found if one.match is not None and one.match.no_host] or found

    def with_files(self, paths: Iterable[Path]) -> Registry:
        """The same with a user's files, or folders of them, added or in place of rules of the same name.

        Raises:
            RuleFileError: One cannot be read or is wrong.
        """
        own = [read_rules(path.read_bytes(), str(path)) for given in paths for path in _files(given)]
        replaced = {one.name for one in own}
        return Registry([*(one for one in self if one.name not in replaced), *own])


@cache
def shipped() -> Registry:
    """The rules that come with coldturn."""
    folder = files("coldturn.analysis") / "rules"
    found = [one for one in folder.iterdir() if one.name.endswith(".toml")]
    return Registry(read_rules(one.read_bytes(), one.name) for one in sorted(found, key=lambda one: one.name))


def read_rules(content: bytes, name: str) -> RuleSet:
    """Read one file of rules.

    Raises:
        RuleFileError: It is no TOML, or not what rules look like.
    """
    try:
        return RuleSet.model_validate(tomllib.loads(content.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RuleFileError(name, str(error)) from error
    except ValidationError as error:
        raise RuleFileError(name, _first(error)) from error


def _owner(rules: RuleSet) -> str:
    """Whose interface rules describe, for a sentence."""
    return _OWNERS.get(rules.provider, rules.provider) + "'s API"


def with_parameters(parameters: Parameters, given: Mapping[str, str]) -> Parameters:
    """Parameters with a user's values, given as text: ``ttl=3600``, ``capacity=none``, ``tiers.tools=[]``.

    Raises:
        ParameterError: There is no such parameter, or it cannot have that value.
    """
    values = parameters.model_dump()
    for name, text in given.items():
        outer, _, inner = name.partition(".")
        if outer not in values or (inner and not isinstance(values[outer], dict)):
            raise ParameterError(name, f"no such parameter; there are {', '.join(sorted(values))}")
        if inner:
            values[outer] = {**values[outer], inner: _value(text)}
        else:
            values[outer] = _value(text)
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ParameterError(place or next(iter(given)), plain_complaint(error.errors()[0]["msg"])) from error


def _value(text: str) -> Any:  # noqa: ANN401 - any TOML value
    if text.lower() in ("none", "null"):
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(path.glob("*.toml"))
        if not found:
            raise RuleFileError(str(path), "there is no .toml file in this folder")
        return found
    if not path.is_file():
        raise RuleFileError(str(path), "there is no such file")
    return [path]


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    place = ".".join(str(part) for part in problem["loc"])
    said = plain_complaint(problem["msg"])
    return f"{place}: {said}" if place else said
