"""`coldturn curves`: hit rate by the capacity of a cache and by the lifetime of its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.curves.block_trace import read_block_trace
from coldturn.analysis.curves.curves import Curve
from coldturn.analysis.curves.inputs import BlockTaking, Curves, ExchangeTaking
from coldturn.analysis.rates import format_rate
from coldturn.analysis.sources import seen_words
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.common import print_json, read_all, say, stdout, tell
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.options import Format, Json
from coldturn.replay.cli.outputs import PICTURES, need_file
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.opening import opened

SCHEMA = "coldturn.curves/1"
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_BLOCK_HASHES = b'"hash_ids"'


@dataclass(slots=True)
class Taking:
    """Recorded requests and traces of block hashes, apart: they are counted in different units."""

    requests: ExchangeTaking = field(default_factory=ExchangeTaking)
    blocks: BlockTaking = field(default_factory=BlockTaking)
    errors: list[ReadError] = field(default_factory=list)
    _kinds: Counter[ExchangeKind] = field(default_factory=Counter)
    _unread: int = 0

    def add(self, item: Exchange | EntryError) -> None:
        """The next exchange of its source."""
        self.requests.add(item)
        if isinstance(item, EntryError):
            self._unread += 1
            self.errors.append(ReadError(item.source, item.entry, item.message))
        else:
            self._kinds[item.kind] += 1

    def fail(self, source: str, error: ColdturnError) -> None:
        """An input could not be read, or not to its end."""
        self.errors.append(ReadError(source, None, str(error), error.slug))
        self._end()

    def finish(self, source: str) -> None:
        """An input is at its end. One that held no request is named in the errors."""
        if not self._kinds[ExchangeKind.MODEL] and not self._unread:
            error = NoRequestsError(source, seen_words(self._kinds))
            self.errors.append(ReadError(source, None, str(error), error.slug))
        self._end()

    def _end(self) -> None:
        self._kinds.clear()
        self._unread = 0

    def numbers(self, one: Input) -> bool:
        """Take an input of block hashes; False when it is something else."""
        if not isinstance(one.source, Path):
            return False
        with opened(one.source, one.name) as stream:
            if _BLOCK_HASHES not in stream.readline():
                return False
            stream.seek(0)
            for item in read_block_trace(stream, name=one.name):
                self.blocks.add(item, one.name)
                if isinstance(item, EntryError):
                    self.errors.append(ReadError(item.source, item.entry, item.message))
        return True

    def found(self) -> dict[str, Curves]:
        """Curves of what there was."""
        both = {"recorded requests": self.requests.curves(), "traces of block hashes": self.blocks.curves()}
        return {name: one for name, one in both.items() if one.requests}


def curves(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob, or - for standard input."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Draw the curves: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
    format_: Format = None,
) -> None:
    """Show how large a prompt cache has to be, and how long it must keep entries.

    All sizes come from one pass. Reads are estimated: longest prefixes under least recently used, without the
    minimum and the grid of any provider. Each source, format, host and model has a cache of its own.

    Examples:
        coldturn curves recordings/ --out curves.png

        coldturn curves trace.jsonl --json
    """
    if out is not None:
        from coldturn.analysis.charts import need_picture_place

        need_file(out, "--out", inputs, endings=PICTURES)
        need_picture_place(out)
    taking = Taking()
    code = read_all(taking, inputs, format_, taking.numbers)
    found = taking.found()
    if json:
        print_json({"schema": SCHEMA, "curves": [_json(one) for one in found.values()]})
    elif found:
        stdout().print("\n\n".join("\n".join(_text(name, one)) for name, one in found.items()))
    tell(taking.errors)
    if out is not None:
        _draw(found, out)
    raise typer.Exit(ExitCode.UNUSABLE if not found else code)


def _draw(found: dict[str, Curves], out: Path) -> None:
    from coldturn.analysis.charts import replace_picture
    from coldturn.analysis.curves.chart import curves_chart

    if not any(one.capacity.bounds for one in found.values()):
        say("no request repeats an earlier prefix: nothing to draw")
        return
    replace_picture(curves_chart(found), out)
    say(f"drawn into {out}")


def _text(name: str, one: Curves) -> Iterator[str]:
    capacity = one.capacity
    rate = format_rate(capacity.ceiling_estimated, capacity.total)
    yield f"{name}: {one.requests:,}, with {capacity.total:,} {one.unit}"
    yield f"a cache without bounds reads {rate} of them (estimated)"
    if one.left_out:
        yield f"left out: {one.left_out:,}"
    if not capacity.bounds:
        return
    yield f"  {'of these':>8}  {'capacity in ' + one.unit:>28}  {'lifetime in seconds':>20}"
    for share in SHARES:
        yield f"  {share:>8.0%}  {_bound(capacity, share):>28}  {_bound(one.ttl, share):>20}"


def _bound(curve: Curve | None, share: float) -> str:
    bound = None if curve is None else curve.enough_for(share)
    if bound is None:
        return "unknown"
    return f"{ceil(bound):,}" if bound >= 10 or bound == int(bound) else f"{bound:.3g}"


def _json(one: Curves) -> dict[str, Any]:
    return {
        "unit": one.unit,
        "requests": one.requests,
        "left_out": one.left_out,
        "total": one.capacity.total,
        "ceiling_estimated": one.capacity.ceiling_estimated,
        "capacity": _points(one.capacity),
        "lifetime_seconds": None if one.ttl is None else _points(one.ttl),
    }


def _points(curve: Curve) -> list[dict[str, float]]:
    pairs = zip(curve.bounds, curve.reads_estimated, strict=True)
    return [{"bound": bound, "read_estimated": read} for bound, read in pairs]
