"""Policies compared, and what each choice is worth: ``marimo edit policy.py -- --path TRACES``."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202, B018, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: policies")


@app.cell
def _():
    import marimo as mo
    import polars as pl

    from coldturn.analysis import charts
    from coldturn.analysis.frames import queries
    from coldturn.analysis.notebooks.data import frames_or_stop, picture

    return charts, frames_or_stop, mo, picture, pl, queries


@app.cell
def _(mo):
    mo.md("""
    # Which policy leaves the least uncached?

    Each panel is one policy on one recording: the light part of a bar could be read from the cache, the dark
    part is sent anew, and marks below say why. Reads are *estimated* by the rule that `rules` names.
    The traces of `coldturn replay --compare` and `--ablate` are made for this page.
    """)
    return


@app.cell
def _(frames_or_stop, mo):
    frames = frames_or_stop(mo)
    return (frames,)


@app.cell
def _(charts, frames, picture):
    picture(charts.steps_chart, frames.steps())
    return


@app.cell
def _(mo):
    mo.md("""
    ## Policies, by what they left uncached
    """)
    return


@app.cell
def _(frames, pl):
    policies = (
        frames.steps()
        .group_by("recording", "policy", maintain_order=True)
        .agg(
            pl.len().alias("steps"),
            pl.col(
                "uncached_estimated", "input_tokens_estimated", "read_estimated", "ceiling_estimated"
            ).sum(),
            pl.col("verdict").is_in(["broken", "unknown"]).sum().alias("breaks_unplanned"),
            (pl.col("verdict") == "planned").sum().alias("breaks_planned"),
        )
        .with_columns(
            (pl.col("read_estimated") / pl.col("input_tokens_estimated")).alias("hit_rate_estimated")
        )
        .sort("uncached_estimated", "recording", "policy")
        .collect()
    )
    policies
    return (policies,)


@app.cell
def _(mo):
    mo.md("""
    ## What each choice is worth
    """)
    return


@app.cell
def _(charts, frames, picture):
    picture(charts.ablation_chart, frames.steps())
    return


@app.cell
def _(mo):
    mo.md("""
    ## Breaks, policy by policy
    """)
    return


@app.cell
def _(frames, queries):
    costs = queries.costs(frames.breaks(), "policy", "cause").collect()
    costs
    return (costs,)


if __name__ == "__main__":
    app.run()
