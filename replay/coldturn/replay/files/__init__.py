"""Recordings as files: converted between formats, cleaned of secrets."""
