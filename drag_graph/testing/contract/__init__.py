"""The parts of the contract suite that `drag_graph.testing.stores` puts together."""
