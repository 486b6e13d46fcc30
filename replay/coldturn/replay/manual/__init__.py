"""The user pages of docs/, for whoever has installed the program and not its repository."""
