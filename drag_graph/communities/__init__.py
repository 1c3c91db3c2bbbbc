"""Communities: groups of connected things in the whole graph, and their summaries (docs/explanation/pipeline.md)."""
