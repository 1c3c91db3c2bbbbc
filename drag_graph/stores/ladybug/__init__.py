"""The embedded engine: Cypher in this process, on one file, by the `ladybug` package."""
