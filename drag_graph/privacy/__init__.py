"""Detect private details, and replace them in a question before it leaves this machine."""
