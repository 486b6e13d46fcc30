"""The traces room: exchanges, readers of recordings, spans and their files. Knows no estimates."""
