"""Triples from plain English sentences by rules of word order: no model, nothing to install.

What it does and what it cannot is in docs/patterns.md, with its measured precision and recall.
"""

from drag_graph.steps.patterns.reader import ExtractedTriple, extract

__all__ = ["ExtractedTriple", "extract"]
