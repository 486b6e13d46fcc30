"""A baseline as a file: read without trust, written whole, the same bytes for the same content."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from coldturn.reference.complaints import plain_complaint
from coldturn.replay.check.baseline import (
    MIGRATIONS,
    SCHEMA_NAME,
    VERSION,
    Baseline,
    Exemption,
    KnownRecording,
)
from coldturn.replay.check.errors import (
    BaselineError,
    BaselineUnwritableError,
    ExemptionError,
    NewerBaselineError,
)

_CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)
_SCHEMA = re.compile(rf"{re.escape(SCHEMA_NAME)}/([0-9]{{1,6}})")
_REVIEWED = "take the file from version control, or remove it and make it anew with --create"


State: TypeAlias = tuple[int, int, int] | None
"""When a file was written, its size and its number on the disk; None when there is none."""


def state_of(path: Path) -> State:
    """What tells whether a file was changed since."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_baseline(path: Path) -> Baseline | None:
    """Read a baseline.

    Returns:
        What it says; None when there is no such file.

    Raises:
        BaselineError: It cannot be read, or is no baseline of ours.
        NewerBaselineError: A later version wrote it.
        ExemptionError: One of its exemptions says too little.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise BaselineError(str(path), "it is no file; a pipe or device holds no baseline")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BaselineError(str(path), (error.strerror or str(error)).lower()) from error
    except UnicodeDecodeError as error:
        raise BaselineError(str(path), f"it is no UTF-8; {_REVIEWED}") from error
    data = _checked(_migrated(_parsed(text, path), path), path)
    _refuse_twice(data, path)
    return data


def _parsed(text: str, path: Path) -> dict[str, Any]:
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BaselineError(
            str(path),
            f"line {line} is a mark of a merge conflict; keep either side, then run check with --fix",
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise BaselineError(str(path), f"it is no JSON ({where}); {_REVIEWED}") from error
    if not isinstance(data, dict):
        raise BaselineError(str(path), f"it is no object; {_REVIEWED}")
    return data


def _migrated(data: dict[str, Any], path: Path) -> dict[str, Any]:
    schema = data.get("schema")
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise BaselineError(str(path), f"it does not say that it is one (schema {SCHEMA_NAME}/{VERSION})")
    version = int(match[1])
    if version > VERSION:
        raise NewerBaselineError(str(path), version, VERSION)
    while version < VERSION:
        step = MIGRATIONS.get(version)
        if step is None:
            raise BaselineError(str(path), f"no version ever wrote format {version}; {_REVIEWED}")
        data = step(data)
        version += 1
    return data


def _checked(data: dict[str, Any], path: Path) -> Baseline:
    given = data.get("exemptions", [])
    exemptions = read_exemptions(given, str(path))
    try:
        return Baseline.model_validate({**data, "exemptions": exemptions})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = plain_complaint(first["msg"]).lower()
        raise BaselineError(str(path), f"{where}: {said}; {_REVIEWED}") from error


def _refuse_twice(data: Baseline, path: Path) -> None:
    counts = Counter(one.id for one in data.recordings)
    if twice := sorted(id_ for id_, count in counts.items() if count > 1):
        source, policy = twice[0]
        raise BaselineError(
            str(path), f"{source} under {policy} stands there more than once; keep one of the lines"
        )


def read_exemptions(given: object, where: str) -> list[Exemption]:
    """Exemptions as a person wrote them.

    Args:
        given: What stands in the file.
        where: The file's name.

    Raises:
        ExemptionError: One is no table, lacks something, or says something that exemptions do not have.
    """
    if not isinstance(given, list):
        raise ExemptionError(where, 1, "the exemptions are no list")
    found = []
    for number, one in enumerate(given, 1):
        try:
            found.append(one if isinstance(one, Exemption) else Exemption.model_validate(one))
        except ValidationError as error:
            raise ExemptionError(where, number, _why(error)) from error
    return found


def _why(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"it has no {name}"
    if first["type"] == "string_too_short":
        return f"its {name} is empty"
    if first["type"] == "extra_forbidden":
        return f"{name} is nothing that an exemption has"
    return f"{name or 'it'}: {plain_complaint(first['msg']).lower()}"


def text_of(baseline: Baseline) -> str:
    """The file's content: sorted, one line for each exemption, prompt and recording, line feeds only."""
    used = {digest for one in baseline.recordings for digest in one.prompts}
    exemptions = sorted(baseline.exemptions, key=_exemption_order)
    prompts = sorted((one for one in baseline.prompts if one.prompt in used), key=lambda one: one.prompt)
    recordings = sorted(baseline.recordings, key=lambda one: one.id)
    lists: list[tuple[str, Sequence[BaseModel]]] = [
        ("exemptions", exemptions),
        ("prompts", prompts),
        ("recordings", recordings),
    ]
    parts = [f'"schema": "{SCHEMA_NAME}/{VERSION}"', f'"rules": "{baseline.rules}"']
    for name, values in lists:
        lines = ",\n".join(_line(value) for value in values)
        parts.append(f'"{name}": [\n{lines}\n]' if lines else f'"{name}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: BaseModel) -> str:
    said = value.model_dump(exclude_none=isinstance(value, Exemption))
    if isinstance(value, KnownRecording) and not value.marked:
        del said["marked"]
    return json.dumps(said, ensure_ascii=False)


def _exemption_order(one: Exemption) -> tuple[str, str, int, str, str]:
    request = -1 if one.request is None else one.request
    return one.source, one.policy or "", request, one.cause, one.reason


def need_baseline_place(path: Path) -> None:
    """Refuse at once a place where `write_baseline` could make no file.

    Raises:
        BaselineUnwritableError: Its folder is not there, or may not be written to.
    """
    folder = path.resolve().parent
    if not folder.is_dir():
        raise BaselineUnwritableError(str(path), f"there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BaselineUnwritableError(str(path), f"{folder} may not be written to")


def write_baseline(path: Path, baseline: Baseline) -> bool:
    """Write a baseline as a whole or not at all.

    Returns:
        Whether the file changed. One that says the same, be it with other line ends, stays as it is.

    Raises:
        BaselineUnwritableError: It cannot be written.
    """
    text = text_of(baseline)
    target = path.resolve()  # a link stays one
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if target.is_file() and target.read_bytes().replace(b"\r\n", b"\n") == text.encode():
            return False
        partial.write_bytes(text.encode())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        raise BaselineUnwritableError(str(path), (error.strerror or str(error)).lower()) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return True
