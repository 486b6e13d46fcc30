"""`coldturn scrub`: take secrets out of a recording."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from coldturn.replay.cli.common import print_json, say, stdout
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.options import AllowSecrets, Json, SecretEnv, usage_error


def scrub(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A cassette: YAML, JSON or JSON lines.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="OUT", help="Write the clean recording there.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE itself.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when there is something to clean.")
    ] = False,
    secret_env: SecretEnv = None,
    allow_secrets: AllowSecrets = False,
    json: Json = False,
) -> None:
    """Blot keys, named values and telling headers out of a recording, each by as many asterisks.

    Offsets stay true: no value changes its length, and what holds no secret keeps its bytes.

    Examples:
        coldturn scrub old.yaml -o clean.yaml

        coldturn scrub old.jsonl --in-place --secret-env MY_SERVICE_KEY

        coldturn scrub tests/cassettes/chat.yaml --check
    """
    from coldturn.replay.capture.redaction import Redaction
    from coldturn.replay.errors import RecordingExistsError
    from coldturn.replay.files.scrub import inspect_file, scrub_file

    if file.is_dir():
        raise usage_error(f"{file} is a folder: scrub takes one cassette at a time")
    if [out is not None, in_place, check].count(True) != 1:
        raise usage_error("say where the clean recording goes: -o OUT, --in-place, or --check for nowhere")
    if out is not None and out.exists():
        raise RecordingExistsError(str(out))
    redaction = Redaction.of_variables(secret_env or [], os.environ, shapes=not allow_secrets)
    target = out or file
    done = inspect_file(file, redaction) if check else scrub_file(file, target, redaction)
    if done.torn:
        say(f"{file}: the torn last line was left out")
    if json:
        print_json({"file": str(file), "values": dict(done.values), "headers": dict(done.headers)})
    else:
        counted = [_counted("value", done.values), _counted("header", done.headers)]
        found = " and ".join(one for one in counted if one)
        verb = "holds" if check else "cleaned of"
        stdout().print(f"{file}: {verb} {found}" if found else f"{file}: nothing to clean")
    raise typer.Exit(ExitCode.FINDING if check and done.total else ExitCode.FINE)


def _counted(what: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    total = sum(counts.values())
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(counts.items()))
    return f"{total} {what}{'' if total == 1 else 's'} ({kinds})"
