"""Zones, elision and the reader of large results."""
