"""Verdicts: what a difference, or none, means for the cache.

`judge.Judge` takes requests in order. `settings` finds changed settings, `entry_book` and `readable` tell
what could have been read, `placement`, `timing` and `serving` name the causes that no text shows, `combine`
decides which comes first, and `vendor` holds our findings against a provider's own diagnosis.
"""
