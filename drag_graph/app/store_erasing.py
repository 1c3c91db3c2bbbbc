"""Erasing in the right order: the ledger first, then the store, the vault last."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drag_graph.app.resources import Resources
from drag_graph.compose.model_factories import known_queries, opened_vault
from drag_graph.compose.store_opening import open_ledger
from drag_graph.errors import ConfigurationError, NotStored
from drag_graph.graph.paging import settings_hashes
from drag_graph.manage.erasing import ErasureFilter, Scope, compact, erase, filter_of, preview, scopes_where, total
from drag_graph.manage.short_ids import full_id
from drag_graph.ports.graph_store import GraphStore
from drag_graph.service.job_table import remove_exports

SHORTEST_ID = 4
"""Minimum number of digits of an id. With fewer, a typing error would match something even in a small store."""
NOT_PREVIEWED = ("Concept", "Community")
"""A preview does not count these, because it does not check what else rests on them."""


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was erased, or in a dry run would be. Counts are by label and relationship type."""

    what: str
    source_id: str = ""
    erased: Mapping[str, int] = field(default_factory=dict)
    recorded: Mapping[str, int] | str | None = None
    store: str = ""
    only_in_ledger: int = 0
    is_empty: bool = False
    is_dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the `db erase --json` document."""
        document: dict[str, Any] = {"source_id": self.source_id} if self.source_id else {}
        document["what"] = self.what
        if self.is_dry_run:
            document["would_erase"] = dict(self.erased)
        else:
            recorded = {} if self.recorded is None else {"recorded": self.recorded}
            document |= {**recorded, "erased": dict(self.erased), "store": self.store}
        return document | ({"note": "nothing matches"} if self.is_empty else {"only_in_ledger": self.only_in_ledger})


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What to erase: either a source's id, which may be short, or a filter."""

    source_id: str = ""
    condition: ErasureFilter | None = None

    @classmethod
    def parse(cls, source_id: str, where: Sequence[str]) -> "ErasureTarget":
        """Return the target. Raises ConfigurationError unless exactly one is given; a blank never means everything."""
        if bool(source_id) == bool(where):
            hint = "Pass one of `query_id=ID` and `where=CONDITION`."
            raise ConfigurationError("Pass exactly one thing to erase.", hint=hint)
        if where:
            return cls(condition=filter_of(where))
        digits = source_id.strip()
        if len(digits) < SHORTEST_ID:
            hint = f"Pass at least {SHORTEST_ID} digits, as printed by `drag-graph show`, or `where=input_id={digits}`."
            raise ConfigurationError(f"The id {digits!r} is too short to erase by.", hint=hint)
        return cls(digits)

    def find(self, resources: Resources, store: GraphStore) -> tuple[str, list[Scope]]:
        """Return a description and the scopes. Raises NotStored, and ConfigurationError if several ids match."""
        recorded = known_queries(resources.settings, self.condition.input_id if self.condition else self.source_id)
        if self.condition is not None:
            return f"all queries and documents where {self.condition}", list(scopes_where(store, self.condition, recorded))
        id_ = full_id(store, "source", self.source_id, recorded)
        return f"query or document {id_}", [Scope(id_, is_stored=id_ in settings_hashes(store, [id_]))]


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases from ledger, store and vault, and deletes the exports of the service."""

    resources: Resources
    keeps_replies: bool = False
    compacts: bool = True

    def preview(self, target: ErasureTarget) -> ErasureReport:
        """Count what would be erased."""
        with self.resources.store() as store:
            what, scopes = target.find(self.resources, store)
            counts = total(preview(store, scopes))
        return _report(
            target, what, scopes, {name: counts[name] for name in counts if name not in NOT_PREVIEWED}, is_dry_run=True
        )

    def run(self, target: ErasureTarget, confirm: Callable[[str], bool] | None) -> ErasureReport:
        """Erase, after `confirm` has agreed to the question that it receives.

        The question is asked on a store opened for reading, so that it never upgrades an older one.
        """
        try:
            found = self._confirmed(target, confirm) if confirm else None
            with self.resources.store(read_only=False) as store:
                if found is None or (target.condition and found[1]):  # a filter is applied again; a confirmed id is fixed
                    found = target.find(self.resources, store)
                return self._erase(store, target, *found)
        except NotStored as error:
            raise NotStored(str(error), hint=f"{error.hint} The store file: {self._compact_again()}.") from None

    def _confirmed(self, target: ErasureTarget, confirm: Callable[[str], bool]) -> tuple[str, list[Scope]]:
        with self.resources.store() as store:
            what, scopes = target.find(self.resources, store)
            if scopes and not confirm(f"Erase {what} from {store.location}?"):
                raise ConfigurationError("Nothing was erased.", hint="Answer y, or add `--yes`.")
        return what, scopes

    def _erase(self, store: GraphStore, target: ErasureTarget, what: str, scopes: list[Scope]) -> ErasureReport:
        """Erase the scopes.

        The ledger comes before the store: killed in between, the same command still finds the sources. The vault comes last,
        because it alone knows the input's names for what is left. Ledger and store are compacted even if nothing matches, in
        case an earlier run was killed, or ran out of space, after erasing.
        """
        recorded = self._erase_recorded(scopes)
        counts = total(erase(store, scopes))
        if scopes:
            self._remove_exports()
        if isinstance(recorded, dict):
            recorded |= self._erase_originals(scopes)
        return _report(
            target, what, scopes, counts, recorded=recorded if scopes else None, store=compact(store, wanted=self.compacts)
        )

    def _compact_again(self) -> str:
        """Compact ledger and store after an earlier run that may have been killed before; return the state of the store."""
        self._erase_recorded(())
        self._remove_exports()
        with self.resources.store(read_only=False) as store:
            return compact(store, wanted=self.compacts)

    def _erase_recorded(self, scopes: Sequence[Scope]) -> dict[str, int] | str:
        settings = self.resources.settings
        if not settings.ledger_path.exists():
            return "nothing"
        with open_ledger(settings) as ledger:
            ids = [scope.source_id for scope in scopes]
            return ledger.erase(ids, settings.namespace, keep_recorded=self.keeps_replies)

    def _remove_exports(self) -> None:
        settings = self.resources.settings
        remove_exports(settings.service_records_path, settings.namespace)

    def _erase_originals(self, scopes: Sequence[Scope]) -> dict[str, int]:
        settings = self.resources.settings
        if not settings.vault_path.exists():
            return {}
        with opened_vault(settings) as vault:
            return {"originals": vault.erase([scope.source_id for scope in scopes])}


def _report(target: ErasureTarget, what: str, scopes: Sequence[Scope], counts: Mapping[str, int], **more: Any) -> ErasureReport:
    return ErasureReport(
        what,
        source_id="" if target.condition else scopes[0].source_id,
        erased=counts,
        only_in_ledger=sum(not scope.is_stored for scope in scopes),
        is_empty=not scopes,
        **more,
    )
