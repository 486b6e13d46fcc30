"""Prompt to request bytes per provider surface, response bytes to a normalised reply."""
