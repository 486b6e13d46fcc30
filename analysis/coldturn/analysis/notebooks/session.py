"""One recording, request by request: ``marimo edit session.py -- --path RECORDING``."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202, B018, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: one session")


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
    # One session, request by request

    What did each request repeat of the one before, what was read from the prompt cache, and where did the
    prefix break? Figures named *estimated* are computed; *reported* ones came from the provider.
    """)
    return


@app.cell
def _(frames_or_stop, mo):
    frames = frames_or_stop(mo)
    return (frames,)


@app.cell
def _(frames, mo):
    _turns = frames.turns().select("recording", "policy").unique(maintain_order=True).collect()
    _names = [" · ".join(part for part in row if part) or "live" for row in _turns.rows()]
    choices = dict(zip(_names, _turns.rows(), strict=True))
    choice = mo.ui.dropdown(
        options=list(choices), value=next(iter(choices), None), label="Recording and policy"
    )
    choice
    return choice, choices


@app.cell
def _(choice, choices, frames, mo, pl):
    mo.stop(choice.value is None, mo.md("**Nothing was recorded.**"))
    _recording, _policy = choices[choice.value]
    _mine = (pl.col("recording") == _recording) & (pl.col("policy") == _policy)
    steps = frames.steps().filter(_mine)
    turns = frames.turns().filter(_mine)
    breaks = frames.breaks().filter(_mine)
    segments = frames.segments().filter(_mine)
    return breaks, segments, steps, turns


@app.cell
def _(mo, queries, steps):
    _rates = queries.hit_rates(steps, "recording").collect().row(0, named=True)

    def _shown(value):
        return "not reported" if value is None else f"{value:.1%}"

    mo.hstack(
        [
            mo.stat(f"{_rates['requests']:,}", label="requests"),
            mo.stat(_shown(_rates["hit_rate_estimated"]), label="hit rate, estimated"),
            mo.stat(_shown(_rates["hit_rate_reported"]), label="hit rate, reported"),
        ],
        justify="start",
    )
    return


@app.cell
def _(mo):
    mo.md("""
    ## What each request repeats
    """)
    return


@app.cell
def _(charts, picture, steps):
    picture(charts.prefix_map_chart, steps)
    return


@app.cell
def _(mo):
    mo.md("""
    ## Hit rate
    """)
    return


@app.cell
def _(charts, picture, turns):
    picture(charts.hit_rate_chart, turns)
    return


@app.cell
def _(mo):
    mo.md("""
    ## What fills the prompt
    """)
    return


@app.cell
def _(charts, picture, steps):
    picture(charts.zones_chart, steps)
    return


@app.cell
def _(mo):
    mo.md("""
    ## Breaks: where and why
    """)
    return


@app.cell
def _(breaks):
    breaks.select(
        "turn",
        "step",
        "cause",
        "verdict",
        "zone",
        "segment",
        "section",
        "block_offset",
        "lost_tokens_estimated",
        "later_causes",
    ).collect()
    return


@app.cell
def _(mo):
    mo.md("""
    ## Turns
    """)
    return


@app.cell
def _(turns):
    turns.collect()
    return


@app.cell
def _(mo):
    mo.md("""
    ## What was sent again and again
    """)
    return


@app.cell
def _(pl, segments):
    sent = (
        segments.group_by("zone", "key")
        .agg(pl.len().alias("times"), pl.col("bytes").sum().alias("bytes_sent"))
        .sort("bytes_sent", "key", descending=[True, False])
        .head(50)
        .collect()
    )
    sent
    return (sent,)


if __name__ == "__main__":
    app.run()
