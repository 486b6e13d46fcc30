"""Many recordings: hit rates by model, day and agent: ``marimo edit hit_rate.py -- --path FOLDER``."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202, B018, PLC0415, PLR1711 - cells: marimo writes their signatures and returns

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="coldturn: hit rates")


@app.cell
def _():
    import marimo as mo

    from coldturn.analysis import charts
    from coldturn.analysis.frames import queries
    from coldturn.analysis.notebooks.data import frames_or_stop, picture

    return charts, frames_or_stop, mo, picture, queries


@app.cell
def _(mo):
    mo.md("""
    # How much is read from the prompt cache?

    Tokens are summed before they are divided, so long requests weigh more. *Estimated* is what the rules that
    `rules` names should have read; *reported* is what providers said, and counts only requests that say both
    numbers.
    """)
    return


@app.cell
def _(frames_or_stop, mo):
    frames = frames_or_stop(mo)
    return (frames,)


@app.cell
def _(charts, frames, picture):
    picture(charts.hit_rate_chart, frames.turns())
    return


@app.cell
def _(mo):
    mo.md("""
    ## By model and day
    """)
    return


@app.cell
def _(frames, queries):
    by_model = queries.hit_rates(frames.steps(), "model", "day").collect()
    by_model
    return (by_model,)


@app.cell
def _(mo):
    mo.md("""
    ## By agent
    """)
    return


@app.cell
def _(frames, queries):
    _agents = frames.turns().select("recording", "policy", "run_id", "turn", "agent")
    by_agent = queries.hit_rates(
        frames.steps().join(_agents, on=["recording", "policy", "run_id", "turn"], how="left"), "agent"
    ).collect()
    by_agent
    return (by_agent,)


@app.cell
def _(mo):
    mo.md("""
    ## By recording and policy
    """)
    return


@app.cell
def _(frames, queries):
    by_recording = queries.hit_rates(frames.steps(), "recording", "policy").collect()
    by_recording
    return (by_recording,)


@app.cell
def _(mo):
    mo.md("""
    ## Plateaus

    The same small read that keeps coming back: the prompt breaks at the same place each time, right behind
    it.
    """)
    return


@app.cell
def _(frames, queries):
    plateaus = queries.plateaus(frames.steps()).collect()
    plateaus
    return (plateaus,)


if __name__ == "__main__":
    app.run()
