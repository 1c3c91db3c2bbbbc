"""Distillation: from a question to its graph."""
