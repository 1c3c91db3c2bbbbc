"""Statements that do to a store what nothing of the product would, behind its back."""

from pathlib import Path

from drag_graph.stores.shared.cypher_files import load_from

FOLDER = Path(__file__).parent / "tamper"


def statement(name, dialect, namespace, **values):
    """Return the text and parameters of one of the statements in `tamper/`."""
    loaded = load_from(FOLDER, name, dialect)
    return loaded.bind(**({"namespace": namespace} if loaded.parameters else {}), **values)
