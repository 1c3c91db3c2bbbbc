"""Detectors of private details, and the rewriting that takes them out of a question before it leaves this machine."""
