"""The stored, versioned catalogue of tools."""
