"""Why a prefix broke: one small module per group of causes."""
