"""Advice: what a recording would have read if a cause of its breaks had been mended."""
