"""What keeps the graph: the engines, and what they share."""
