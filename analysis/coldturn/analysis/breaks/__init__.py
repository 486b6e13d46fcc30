"""Breaks: a stream of exchanges into findings with verdicts."""
