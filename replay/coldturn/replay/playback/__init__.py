"""Playback: an opened recording, and the transport that answers real clients from it."""
