"""What the prompt shows of the tools, and the one way to call them."""
