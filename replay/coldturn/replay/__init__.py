"""The replay room: capture, playback, sessions, the runner and the command line."""
