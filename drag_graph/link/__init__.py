"""Linking: what the stored sources have in common (docs/decisions/0008-linking.md)."""
