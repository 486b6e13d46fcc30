"""Entry models: what a prompt cache keeps of a request, and what a later one can read of it.

Four are enough. F1 `prefix` (longest prefix, in blocks) and `slots` (the same, one sequence per slot of an
engine), F2 `written` (entries at marked boundaries), F3 `units` (whole units), F4 `resources` (made by name).
All take requests one at a time, in the order in which they were sent; an object is one scope.
"""
