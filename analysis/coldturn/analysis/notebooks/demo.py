"""Trace files as frames and a picture: ``marimo edit demo.py -- --traces FOLDER``."""
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, B018, N803, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: what turned the cache cold")


@app.cell
def _():
    import os
    from pathlib import Path

    import marimo as mo
    import polars as pl

    from coldturn.analysis.charts import steps_chart
    from coldturn.analysis.frames import frames
    from coldturn.analysis.rates import format_rate
    from coldturn.traces.span_reader import read_spans

    return Path, format_rate, frames, mo, os, pl, read_spans, steps_chart


@app.cell
def _(mo):
    mo.md(
        """
        # What turned the cache cold?

        A provider serves a request from its prompt cache as far as it begins like an earlier one. Each bar
        below is one request of a conversation: the light part is what it could have read, the dark part what
        was paid in full. A **break** is the first byte at which a request stopped continuing the one before.

        Reads are *estimated*: the longest common prefix with any earlier request, nothing under 1,024 tokens,
        on a grid of 128 (the rule `longest-prefix-1024-128`), at four bytes a token.
        """
    )
    return


@app.cell
def _(Path, mo, os):
    folder = Path(mo.cli_args().get("traces") or os.environ.get("COLDTURN_TRACES") or "coldturn-demo")
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.jsonl"))
    mo.stop(
        not files,
        mo.md(
            f"**No trace files in `{folder}`.** Run `coldturn demo --out {folder}` first, or name a folder: "
            "`COLDTURN_TRACES=...` or `-- --traces ...`."
        ),
    )
    return (files,)


@app.cell
def _(files, mo, read_spans):
    readers = [read_spans(file) for file in files]
    spans = [span for reader in readers for span in reader]
    dropped = sum(reader.dropped for reader in readers)
    mo.md(
        f"{len(spans):,} spans in {len(files)} files"
        + (f"; {dropped} torn lines left out" if dropped else "")
    )
    return (spans,)


@app.cell
def _(frames, spans):
    steps = frames.steps(spans)
    turns = frames.turns(spans)
    segments = frames.segments(spans)
    return segments, steps, turns


@app.cell
def _(steps, steps_chart):
    chart = steps_chart(steps)
    chart
    return (chart,)


@app.cell
def _(mo):
    mo.md("""## Policies, by what they left uncached""")
    return


@app.cell
def _(format_rate, pl, steps):
    policies = (
        steps.group_by("recording", "policy", maintain_order=True)
        .agg(
            pl.len().alias("steps"),
            pl.col(
                "uncached_estimated", "input_tokens_estimated", "read_estimated", "ceiling_estimated"
            ).sum(),
            (pl.col("break_planned") == False).sum().alias("breaks_unplanned"),  # noqa: E712 - an expression
            pl.col("break_planned").sum().alias("breaks_planned"),
        )
        .with_columns(
            pl.struct("read_estimated", "input_tokens_estimated")
            .map_elements(lambda r: format_rate(*r.values()), return_dtype=pl.String)
            .alias("hit_rate_estimated")
        )
        .sort("uncached_estimated")
    )
    policies
    return (policies,)


@app.cell
def _(mo):
    mo.md("""## Every break: where and why""")
    return


@app.cell
def _(pl, steps):
    breaks = steps.filter(pl.col("break_cause").is_not_null()).select(
        "policy",
        "turn",
        "step",
        "break_cause",
        "break_planned",
        "break_segment",
        "break_section",
        "break_block_offset",
        "break_lost_bytes",
        "later_causes",
    )
    breaks
    return (breaks,)


@app.cell
def _(mo):
    mo.md("""## Turns""")
    return


@app.cell
def _(turns):
    turns
    return


@app.cell
def _(mo):
    mo.md(
        """
        ## What was sent again and again

        Segments by the bytes that they took in all requests together. What was in an earlier request too
        costs little while it stands in a prefix that holds, and all of it behind a break.
        """
    )
    return


@app.cell
def _(pl, segments):
    sent = (
        segments.group_by("policy", "zone", "key")
        .agg(
            pl.len().alias("times"),
            pl.col("bytes").sum().alias("bytes_sent"),
            pl.col("bytes").filter(pl.col("defined")).sum().alias("bytes_new"),
        )
        .sort("bytes_sent", descending=True)
        .head(50)
    )
    sent
    return (sent,)


if __name__ == "__main__":
    app.run()
