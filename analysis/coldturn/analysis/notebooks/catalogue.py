"""MCP servers: tiers, versions, bytes: ``marimo edit catalogue.py -- --path TRACES``."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202, B018, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: catalogues")


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
    # What do MCP servers put into the prompt?

    How each server was shown in each turn, when its catalogue changed, and which tools take bytes and are
    never called. Tiers and versions stand in the traces of the reference runtime alone; what tools take is
    known of any recording with request bodies.
    """)
    return


@app.cell
def _(frames_or_stop, mo):
    frames = frames_or_stop(mo)
    return (frames,)


@app.cell
def _(charts, frames, picture):
    picture(charts.catalogue_chart, frames.servers())
    return


@app.cell
def _(mo):
    mo.md("""
    ## Servers in the last turn, by bytes
    """)
    return


@app.cell
def _(frames, pl):
    servers = (
        frames.servers()
        .group_by("recording", "policy", "server", maintain_order=True)
        .agg(
            pl.col("tier", "state", "tool_count", "catalog_version", "prompt_bytes").last(),
            pl.col("calls").sum(),
        )
        .sort("prompt_bytes", "recording", "policy", "server", descending=[True, False, False, False])
        .collect()
    )
    servers
    return (servers,)


@app.cell
def _(mo):
    mo.md("""
    ## Catalogue versions
    """)
    return


@app.cell
def _(frames):
    versions = frames.catalog_versions().collect()
    versions
    return (versions,)


@app.cell
def _(mo):
    mo.md("""
    ## Shown and never called
    """)
    return


@app.cell
def _(frames, queries):
    idle = queries.never_called(frames.tools()).collect()
    idle
    return (idle,)


@app.cell
def _(mo):
    mo.md("""
    ## Every tool
    """)
    return


@app.cell
def _(frames):
    tools = frames.tools().collect()
    tools
    return (tools,)


if __name__ == "__main__":
    app.run()
