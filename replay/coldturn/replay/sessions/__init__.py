"""Sessions: a recording's user turns, decisions and clock, implied by it or written by a person."""
