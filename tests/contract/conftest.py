"""The contract suite is code of the package: its asserts are to be shown as those of a test."""

import pytest

pytest.register_assert_rewrite("drag_graph.testing.contract")
