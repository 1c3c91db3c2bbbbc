"""The edge of a distributed graph: what it answers itself, and what it lets go (docs/edges.md)."""
