"""Capture: traffic recorded while it streams, secrets blotted out before anything is written."""
