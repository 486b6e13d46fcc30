"""The report: recorded requests, traces or replays as one self-contained page with a map of every prefix."""
