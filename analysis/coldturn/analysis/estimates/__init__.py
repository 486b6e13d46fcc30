"""Estimates: rules, layouts and what a cache could have served."""
