"""How the recording that ships with the package was made: the servers, the repository, the program."""
