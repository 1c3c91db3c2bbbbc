"""Distilling: from a question to its graph."""
