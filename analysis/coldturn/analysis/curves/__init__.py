"""Capacity and lifetime curves."""
