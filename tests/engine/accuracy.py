"""The engine's figures as Markdown: ``python -m engine.accuracy`` in the folder ``tests``.

Two tables: estimates against the reads that the engine reports, request by request; and the tokens that it
had to compute for one conversation under each policy.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import anyio

from coldturn.reference.policy import POLICIES
from coldturn.reference.wire.model import RENDERED_SURFACES
from engine.agent import converse, policy_with_small_limits
from engine.cases import CASES, run_case
from engine.server import running_engine
from engine.tiny_model import write_tiny_model


def estimates(model: Path) -> Iterator[str]:
    """Rows of the first table."""
    yield "| engine gets | requests | input tokens | reported reads | estimates apart |"
    yield "|---|---:|---:|---:|---:|"
    for name, case in CASES.items():
        with running_engine(model, slots=case.slots, similarity=case.similarity) as engine:
            tally = run_case(name, engine)
        yield (
            f"| {name} | {tally.requests:,} | {tally.input_tokens:,} | {tally.read_tokens:,} "
            f"| {len(tally.wrong)} |"
        )


def policies(model: Path) -> Iterator[str]:
    """Rows of the second table."""
    yield f"| policy | {' | '.join(f'{surface}: read of input' for surface in RENDERED_SURFACES)} |"
    yield f"|---|{'---:|' * len(RENDERED_SURFACES)}"
    for name in POLICIES:
        cells = []
        for surface in RENDERED_SURFACES:
            with running_engine(model) as engine, tempfile.TemporaryDirectory() as folder:
                policy = policy_with_small_limits(name)
                steps = anyio.run(converse, engine, policy, surface, Path(folder))
            read = sum(step.span["read_tokens_reported"] for step in steps)
            total = sum(step.span["input_tokens_reported"] for step in steps)
            cells.append(f"{read:,} of {total:,} ({read / total:.1%})")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.gguf"
        write_tiny_model(model)
        lines = [f"xllamacpp {version('xllamacpp')}", "", *estimates(model), "", *policies(model)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
