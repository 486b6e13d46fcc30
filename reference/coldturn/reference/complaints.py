"""What a validator says, in the words that errors of ours use."""

from __future__ import annotations

import re

_PLAIN = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"Input should be a valid integer\b.*"), "a whole number is expected"),
    (re.compile(r"Input should be a valid number\b.*"), "a number is expected"),
    (re.compile(r"Input should be a valid boolean\b.*"), "true or false is expected"),
    (re.compile(r"Input should be a valid (?:list|tuple)\b.*"), "a list is expected"),
    (re.compile(r"Input should be a valid string\b.*"), "text is expected"),
    (re.compile(r"Input should be a valid dictionary\b.*"), "a table is expected"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"it must be \1 or more"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"it must be \1 or less"),
    (re.compile(r"Input should be greater than (\S+)"), r"it must be more than \1"),
    (re.compile(r"Input should be less than (\S+)"), r"it must be less than \1"),
    (re.compile(r"^Input should be ('.+)"), r"it takes \1"),
    (re.compile(r"^Field required$"), "it is missing"),
    (re.compile(r"^Extra inputs are not permitted$"), "there is no such field"),
)


def plain_complaint(message: str) -> str:
    """A sentence of pydantic's in plain words; one of ours, or one that nobody foresaw, as it is."""
    for pattern, words in _PLAIN:
        message = pattern.sub(words, message)
    return message
