"""The contract of the `GraphStore` port as a test class: whatever passes it is a store (style: one suite for all adapters).

A test module makes a subclass and provides three fixtures:

    class TestMyStore(GraphStoreContract):
        examples = 10                       # random cases a property gets, fewer for a slow engine

    open_store(namespace) -> GraphStore     opens the database of this test, migrated; it is empty when the test begins
    tamper(flaw, namespace) -> context      does what `FLAWS` and `HISTORY_FLAWS` say, while no store is open
    unmigrated -> GraphStore                open, on a database that was never migrated
"""

from drag_graph.testing.contract.aggregating import AggregationContract
from drag_graph.testing.contract.answering import AnswerContract
from drag_graph.testing.contract.base import FLAWS, HISTORY_FLAWS, OpenStore, Tamper
from drag_graph.testing.contract.communities import CommunityContract
from drag_graph.testing.contract.correcting import CorrectionContract
from drag_graph.testing.contract.documents import DocumentContract, SecondTeacherContract
from drag_graph.testing.contract.erasing import ErasingContract
from drag_graph.testing.contract.exchanging import ExchangeContract
from drag_graph.testing.contract.keeping import StoreContract
from drag_graph.testing.contract.linking import ConceptContract
from drag_graph.testing.contract.linking_beside import BesideContract
from drag_graph.testing.contract.looking import LinkedEdgesContract
from drag_graph.testing.contract.refreshing import RefreshContract
from drag_graph.testing.contract.registering import RegistryContract
from drag_graph.testing.contract.saving import SavingContract

__all__ = ["FLAWS", "HISTORY_FLAWS", "GraphStoreContract", "OpenStore", "Tamper"]


class GraphStoreContract(
    ConceptContract,
    BesideContract,
    CommunityContract,
    SavingContract,
    AggregationContract,
    AnswerContract,
    RefreshContract,
    ErasingContract,
    ExchangeContract,
    DocumentContract,
    SecondTeacherContract,
    RegistryContract,
    CorrectionContract,
    LinkedEdgesContract,
    StoreContract,
):
    """Every promise of `drag_graph.ports.graph_store.GraphStore`."""
