"""The reference room: prefix core, wire encodings and the reference runtime."""
