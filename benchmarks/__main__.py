"""Run every module of this package that has a ``run() -> dict`` of figures, and print a table."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Mapping

import benchmarks


def main(wanted: list[str]) -> int:
    """Run the benchmarks named, or all; 1 when a figure is above a limit that stands beside it."""
    names = [one.name for one in pkgutil.iter_modules(benchmarks.__path__) if not one.name.startswith("_")]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    exceeded = 0
    for name in wanted or names:
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "run"):
            continue
        print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}")
        exceeded += print_figures(module.run())
    return min(exceeded, 1)


def print_figures(figures: Mapping[str, float]) -> int:
    """Print one line a figure; returns how many are above their limit (``x_limit`` beside ``x``)."""
    exceeded = 0
    for key, value in figures.items():
        if key.endswith("_limit"):
            continue
        limit = figures.get(f"{key}_limit")
        note = "" if limit is None else f"   limit {limit:g}"
        if limit is not None and value > limit:
            note += "   EXCEEDED"
            exceeded += 1
        print(f"  {key:<32} {value:>14,.2f}{note}")
    return exceeded


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
