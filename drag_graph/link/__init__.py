"""Linking: what the stored sources have in common (docs/linking.md)."""
