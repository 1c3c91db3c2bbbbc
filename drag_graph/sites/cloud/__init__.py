"""The cloud of many edges: it knows summaries of what they know, and whom to ask (docs/edges.md)."""
