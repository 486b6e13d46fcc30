"""How much a reader holds at once. Beyond these an input is refused, never half read in silence."""

from __future__ import annotations

MAX_DOCUMENT = 1024 * 1_048_576
"""Bytes of a JSON document, which has to be held whole (JSONL and YAML are streamed)."""

MAX_LINE = 256 * 1_048_576
"""Bytes of one line of JSONL; providers refuse requests of a tenth of that."""

MAX_UNPACKED = 8192 * 1_048_576
"""Bytes that a compressed file may unpack to."""

MAX_RATIO = 500
"""How many times its size a file may unpack to beyond `MAX_SWOLLEN`. Gzip, whose memory is 32 KiB,
makes recordings smaller by a factor of 5 to 50; files that were made to swell reach 1000."""

MAX_SWOLLEN = 256 * 1_048_576
"""Bytes that a compressed file may unpack to whatever its ratio."""

MAX_BODY_UNPACKED = 256 * 1_048_576
"""Bytes that one compressed body may unpack to."""

MAX_YAML_NODES = 2_000_000
"""Nodes of one cassette entry, aliases counted as often as they are used."""

MAX_DEPTH = 900
"""Levels of nesting of one cassette entry."""

MAX_NESTING = 400
"""Levels of nesting of a message that a reader writes afresh, with room for what it is put into: parsers that
recurse give up at a thousand. Bodies that are kept as they were sent may be nested deeper."""
