"""Policies by name, from a TOML file, or with single settings changed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import NoneType
from typing import get_args

from pydantic import ValidationError

from coldturn.reference.complaints import plain_complaint
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prefix.errors import ColdturnError


class PolicyError(ColdturnError):
    """A policy that does not exist, or a setting that a policy does not have."""

    slug = "policy"

    def __init__(self, wanted: str, reason: str) -> None:
        self.wanted = wanted
        self.reason = reason
        super().__init__(f"no policy can be made of {wanted!r}: {reason}")


def policy_named(wanted: str) -> Policy:
    """A policy by its name, or from a TOML file of fields (``name`` defaults to the file's).

    Raises:
        PolicyError: There is none of that name, or the file is wrong.
    """
    if wanted in POLICIES:
        return POLICIES[wanted]
    if not wanted.endswith(".toml"):
        raise PolicyError(
            wanted, f"the names are {', '.join(POLICIES)}; a path to a .toml file makes a new one"
        )
    path = Path(wanted)
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
        return Policy.model_validate({"name": path.stem, **fields})
    except OSError as error:
        raise PolicyError(wanted, (error.strerror or "it cannot be opened").lower()) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(wanted, f"it is no TOML: {error}") from error
    except ValidationError as error:
        raise PolicyError(wanted, _first(error)) from error


def with_settings(policy: Policy, settings: Iterable[str]) -> Policy:
    """A policy with fields changed as ``field=value`` says; its name tells what was changed.

    A limit that may be absent is taken away with the value ``none``.

    Raises:
        PolicyError: A setting is not ``field=value``, or no policy has it.
    """
    changed: dict[str, str] = {}
    for setting in settings:
        field, equals, value = setting.partition("=")
        if not equals or field.strip() == "name":
            raise PolicyError(setting, "a setting is written field=value")
        changed[field.strip()] = value.strip()
    if not changed:
        return policy
    name = "+".join([policy.name, *(f"{field}={value}" for field, value in changed.items())])
    try:
        values = {field: _value(field, text) for field, text in changed.items()}
        return Policy.model_validate({**policy.model_dump(), **values, "name": name})
    except ValidationError as error:
        field = str(next(iter(error.errors()[0]["loc"]), ""))
        wanted = f"--set {field}={changed[field]}" if field in changed else name
        raise PolicyError(wanted, _first(error)) from error


def _value(field: str, text: str) -> str | None:
    known = Policy.model_fields.get(field)
    optional = known is not None and NoneType in get_args(known.annotation)
    return None if optional and text == "none" else text


def file_name(policy: Policy) -> str:
    """The policy's name made fit for a file's."""
    return re.sub(r"[^A-Za-z0-9_.+=-]+", "-", policy.name)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    allowed = first.get("ctx", {}).get("expected")
    if allowed is not None:
        return f"{where}: it takes {allowed}"
    if first["type"] == "extra_forbidden":
        return f"{where} is no field; the fields are {', '.join(sorted(set(Policy.model_fields) - {'name'}))}"
    return f"{where}: {plain_complaint(first['msg'])}"
