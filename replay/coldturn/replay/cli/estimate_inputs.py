"""What `estimate` reads: requests, usage numbers, and traces of block hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import IO

from coldturn.analysis.curves.block_trace import BlockEstimation, NoBlockRulesError
from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.registry import CannotEvaluateError, Registry
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.replay.cli.common import progress
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.options import usage_error
from coldturn.traces.errors import UnsupportedFormatError
from coldturn.traces.formats.hash_trace import BlockRequest, block_size, read_block_trace
from coldturn.traces.formats.table import format_of
from coldturn.traces.formats.usage_columns import Column
from coldturn.traces.formats.usage_table import read_table
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import opened
from coldturn.traces.sniff import sniff

_SAMPLE = 256
"""Requests of a trace of block hashes from which the size of a block is told."""


@dataclass(frozen=True, slots=True)
class EstimateInputs:
    """Feeds inputs of any kind to an estimation.

    Attributes:
        columns: Columns of tables as the user named them; then every input is a table.
        kind: What the inputs are; recognised when None.
    """

    estimation: Estimation
    options: EstimateOptions
    registry: Registry
    columns: Mapping[Column, str]
    kind: InputKind | None = None

    def take(self, one: Input) -> bool:
        """Take an input, whatever it holds.

        Raises:
            InputError: It cannot be read, or not to its end.
        """
        with opened(one.source, one.name) as stream, progress("requests read") as ticker:
            kind = self.kind or (InputKind.USAGE_TABLE if self.columns else sniff(stream, one.name))
            if kind is InputKind.HASH_TRACE:
                self._blocks(stream, one.name)
                return True
            chosen = format_of(kind)
            if chosen.read is None:
                raise UnsupportedFormatError(one.name, chosen.words)
            named = kind is InputKind.USAGE_TABLE
            found = read_table(stream, one.name, self.columns) if named else chosen.read(stream, one.name)
            for record in found:
                self.estimation.add(record)
                ticker.step()
        self.estimation.finish(one.name)
        return True

    def _blocks(self, stream: IO[bytes], name: str) -> None:
        """A trace of block hashes; without rules its ceiling alone, where the size of a block can be told."""
        try:
            trace = self._trace(stream, name)
        except CannotEvaluateError as error:
            self._cannot(name, error)
            return
        for item in read_block_trace(stream, name=name):
            self.estimation.add_row(trace.estimate(item))
        if self.options.rules is None:
            self._cannot(name, NoBlockRulesError(name))

    def _trace(self, stream: IO[bytes], name: str) -> BlockEstimation:
        """The size of a block is the trace's own, unless the user gives one, and else that of the rules."""
        rules = None if self.options.rules is None else self.registry.named(self.options.rules)
        parameters = self.options.settled(Parameters() if rules is None else rules.parameters_for(""))
        if "granularity" not in self.options.parameters:
            sample = islice(read_block_trace(stream, name=name), _SAMPLE)
            size = block_size(one for one in sample if isinstance(one, BlockRequest))
            stream.seek(0)
            if size is not None:
                parameters = parameters.model_copy(update={"granularity": size})
                self.estimation.remark(f"{name}: blocks of {size:,} tokens, as its lengths tell")
            elif rules is None:
                raise NoBlockRulesError(name)
        return BlockEstimation(name, rules, parameters, self.estimation.report, self.estimation.share)

    def _cannot(self, name: str, error: CannotEvaluateError) -> None:
        self.estimation.unanswered.append(error)
        self.estimation.fail(name, error)


def columns_of(text: str | None) -> Mapping[Column, str]:
    """What ``--columns`` names: ``input=prompt_tokens,cached=cached_tokens``.

    Raises:
        UsageError: It is written otherwise, or there is no such column.
    """
    found: dict[Column, str] = {}
    for pair in (text or "").split(",") if text is not None else ():
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not value or name not in set(Column):
            known = ", ".join(Column)
            raise usage_error(f"--columns {pair}: write it as NAME=COLUMN with NAME one of {known}")
        found[Column(name)] = value
    return found
