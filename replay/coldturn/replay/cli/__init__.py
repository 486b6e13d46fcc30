"""The command line: one module per command; heavy imports stand inside the command that needs them."""
