"""The kinds of input: how each is recognised, and how it is read."""
