"""`coldturn convert`: recordings from one format into another, and into traces."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldturn.replay.cli.common import say, stdout
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.options import Format, NoContent, Strict, usage_error

if TYPE_CHECKING:
    from coldturn.replay.cli.inputs import Input


class Target(StrEnum):
    """What can be written."""

    YAML = "yaml"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SPANS = "spans"


class Cut(StrEnum):
    """By what tables are cut into several files."""

    DAY = "day"
    MODEL = "model"


_TRACES = (Target.PARQUET, Target.SPANS)


def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT", help="Cassettes; for parquet and spans anything that coldturn reads."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="PATH", help="The file; for several cassettes, and for parquet, a folder."
        ),
    ],
    to: Annotated[
        Target | None,
        typer.Option(
            "--to", metavar="FORMAT", help=f"{', '.join(Target)}; told from PATH's ending when not given."
        ),
    ] = None,
    partition: Annotated[
        Cut | None, typer.Option("--partition", help="With parquet: a file per day, or per model.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
    strict: Strict = False,
    no_content: NoContent = False,
    format_: Format = None,
) -> None:
    """Convert recordings into one another, or into a trace that frames, charts and notebooks read.

    Cassettes become vcrpy's YAML and JSON, or JSON lines, which open faster and survive a kill: bodies keep
    their bytes, and recorded times stay. With parquet or spans, requests become spans with prefix hashes,
    breaks and reported usage; traces and Parquet become each other. What is written is whole, or not there.

    Examples:
        coldturn convert old.yaml -o fast.jsonl

        coldturn convert tests/cassettes/ -o converted/ --to jsonl

        coldturn convert recordings/ -o trace/ --to parquet --partition day

        coldturn convert trace/ -o trace.jsonl --to spans
    """
    if partition is not None and to is not Target.PARQUET:
        raise usage_error("--partition cuts tables: give it with --to parquet, or leave it out")
    if to in _TRACES:
        from coldturn.replay.cli.convert_traces import TraceOptions, to_parquet, to_spans

        options = TraceOptions(
            kind=format_, partition=partition, overwrite=overwrite, strict=strict, content=not no_content
        )
        write = to_parquet if to is Target.PARQUET else to_spans
        raise typer.Exit(write(inputs, out, options))
    if strict or format_ is not None or no_content:
        raise usage_error(
            "--strict, --format and --no-content are for --to parquet and spans: leave them out"
        )
    raise typer.Exit(_cassettes(inputs, out, to, overwrite=overwrite))


def _cassettes(inputs: list[str], out: Path, to: Target | None, *, overwrite: bool) -> ExitCode:
    from coldturn.reference.prefix.errors import ColdturnError
    from coldturn.replay.cli.inputs import STANDARD_INPUT, expand
    from coldturn.replay.files.convert import convert_file

    if STANDARD_INPUT in inputs:
        raise usage_error("convert reads files: name a cassette, not -")
    failed = False
    for source, target in _targets(list(expand(inputs)), out, to):
        try:
            count = convert_file(source, target, overwrite=overwrite)
        except ColdturnError as error:
            say(f"{error} [{error.slug}]")
            failed = True
        else:
            stdout().print(f"{target}: {count} exchanges of {source}")
    return ExitCode.UNUSABLE if failed else ExitCode.FINE


def _targets(inputs: list[Input], out: Path, to: Target | None) -> list[tuple[Path, Path]]:
    """Where each input goes; in a folder, under its own name with the new ending."""
    from coldturn.replay.sessions.loading import recording_label

    if len(inputs) == 1 and not out.is_dir() and not inputs[0].found:
        if to is not None and out.suffix.lower() not in (f".{to}", {"yaml": ".yml"}.get(to)):
            raise usage_error(f"{out} does not end in .{to}: give the file that ending, or leave --to out")
        return [(Path(inputs[0].name), out)]
    if to is None:
        raise usage_error(f"{out} is a folder: say with --to what to write there")
    if out.exists() and not out.is_dir():
        raise usage_error(f"-o {out} is a file: for several cassettes name a folder")
    out.mkdir(parents=True, exist_ok=True)
    found = [(Path(one.name), out / f"{recording_label(one.name)}.{to}") for one in inputs]
    targets = [target for _, target in found]
    if twice := [target for target in targets if targets.count(target) > 1]:
        raise usage_error(f"several inputs would become {twice[0]}: convert them into folders of their own")
    return found
