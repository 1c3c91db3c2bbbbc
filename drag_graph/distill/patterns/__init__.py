"""Triples from plain English sentences by rules of word order: no model, nothing to install (docs/measurements/teachers.md)."""
