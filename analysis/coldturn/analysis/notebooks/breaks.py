"""Causes of prefix breaks and what they cost: ``marimo edit breaks.py -- --path FOLDER``."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202, B018, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: breaks")


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
    # What turned the cache cold?

    A **break** is the first byte at which a request stopped continuing the one before. Everything behind it
    is sent again. Planned breaks are deliberate; a harmless one loses nothing.
    """)
    return


@app.cell
def _(frames_or_stop, mo):
    frames = frames_or_stop(mo)
    return (frames,)


@app.cell
def _(charts, frames, picture):
    picture(charts.breaks_chart, frames.breaks())
    return


@app.cell
def _(mo):
    mo.md("""
    ## Which cause costs most
    """)
    return


@app.cell
def _(frames, queries):
    by_cause = queries.costs(frames.breaks()).collect()
    by_cause
    return (by_cause,)


@app.cell
def _(mo):
    mo.md("""
    ## By zone and verdict
    """)
    return


@app.cell
def _(frames, queries):
    by_zone = queries.costs(frames.breaks(), "zone", "verdict").collect()
    by_zone
    return (by_zone,)


@app.cell
def _(mo):
    mo.md("""
    ## What stands behind the first cause
    """)
    return


@app.cell
def _(frames, pl):
    later = (
        frames.breaks()
        .explode("later_causes")
        .filter(pl.col("later_causes").is_not_null())
        .group_by("cause", "later_causes")
        .len("breaks")
        .sort("breaks", "cause", "later_causes", descending=[True, False, False])
        .collect()
    )
    later
    return (later,)


@app.cell
def _(mo):
    mo.md("""
    ## Every break
    """)
    return


@app.cell
def _(frames):
    every = frames.breaks().collect()
    every
    return (every,)


if __name__ == "__main__":
    app.run()
