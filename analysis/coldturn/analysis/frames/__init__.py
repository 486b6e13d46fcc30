"""Spans as polars frames."""
