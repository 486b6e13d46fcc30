"""Replays: one recording under one policy, many under many, and what they found."""
