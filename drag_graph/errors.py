"""Every error that drag-graph raises on purpose.

Each has one sentence (`str(error)`), a next step (`hint`), the exit code of the command line, and whether trying again
later can help (`retryable`).

    DragGraphError                    exit 1
    |-- ConfigurationError            exit 2   a flag, a setting or a file is not usable
    |   `-- InputError                         an input file cannot be read at all
    |-- StoreError                    exit 3
    |   |-- SubgraphRefused                    one of our checks or a constraint refuses a subgraph; the others go on
    |   |-- StoreUnavailable                   cannot be reached (retryable)
    |   |-- StoreLocked                        another process writes to it (retryable)
    |   |-- StoreUnfit                         newer, damaged, not a store, or filled by another embedder
    |   `-- NotStored                          what is asked for is not there: a query, an answer, a run
    |-- ModelError                    exit 4
    |   |-- ModelUnavailable                   down, timed out, rate limited beyond the retries (retryable)
    |   |-- ModelAccessDenied                  the key is missing or refused
    |   |-- UnknownModel                       the provider does not know the name
    |   `-- MissingExtra                       an optional package is not installed
    |-- CloudError                    exit 4   the cloud of edges cannot be asked (docs/edges.md)
    |   |-- CloudUnavailable                   down, timed out, or on its way up again (retryable)
    |   `-- CloudRefused                       does not know the edge, is another, or says what is no answer
    |-- ReplyError                    exit 1   one reply is unusable: the query is quarantined, the others go on
    |   |-- MalformedReply                     not the JSON asked for, after repair and asking again
    |   |-- TruncatedReply                     cut off by the provider's length limit
    |   |-- RefusedReply                       the model declined to answer
    |   `-- ContextOverflow                    the prompt cannot be made to fit
    |-- QueryInvalid                  exit 1   one input line is unusable
    |-- DocumentUnusable              exit 1   one file is unusable
    |-- Withheld                      exit 1   the privacy gate lets nothing of a query leave: quarantined; the others go on
    |-- AwaitsBatch                   exit 130 the query's next request waits in a batch: it is pending, the others go on
    |-- BudgetReached                 exit 5
    `-- Interrupted                   exit 130
"""

from dataclasses import dataclass
from typing import ClassVar

PRIVACY = "privacy: "
"""How the reason begins of what the privacy gate has stopped."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the requests before an error cost: how many a model answered, their tokens, and their price in US dollars."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float


class DragGraphError(Exception):
    """Root of the tree. `message` is one sentence; `hint` is what the user can do next, possibly empty.

    `spent` is what was paid before the error, or None if nothing was. `report` is that of the work that it stopped, if any.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    spent: Spent | None = None
    report: object = None

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(DragGraphError):
    """A flag, a setting or a configuration file is not usable."""

    exit_code = 2


class InputError(ConfigurationError):
    """An input file cannot be read at all."""


class StoreError(DragGraphError):
    """The graph store cannot serve the request."""

    exit_code = 3


class SubgraphRefused(StoreError):  # noqa: N818 - reads as what happened
    """The subgraph breaks one of our checks or a constraint of the store; the store itself is sound."""


class StoreUnavailable(StoreError):  # noqa: N818 - reads as what happened
    """The store cannot be reached, or went away and did not come back within the deadline."""

    retryable = True


class StoreLocked(StoreError):  # noqa: N818
    """Another process holds the embedded store for writing."""

    retryable = True


class StoreUnfit(StoreError):  # noqa: N818
    """The store is newer than the code, damaged, not a store at all, or was filled by another embedder."""


class NotStored(StoreError):  # noqa: N818
    """The query, answer, run or batch asked for is not in the store or its ledger."""


class ModelError(DragGraphError):
    """A model cannot be used at all; the run stops."""

    exit_code = 4


class ModelUnavailable(ModelError):  # noqa: N818
    """The model's server is down, timed out or limited the rate beyond the retries."""

    retryable = True


class ModelAccessDenied(ModelError):  # noqa: N818
    """The key is missing or refused; the hint names the variable to set."""


class UnknownModel(ModelError):  # noqa: N818
    """The provider does not know the model's name."""


class MissingExtra(ModelError):  # noqa: N818
    """An optional package is not installed; the hint is the command that installs it."""


class CloudError(DragGraphError):
    """The cloud of edges cannot be asked."""

    exit_code = 4


class CloudUnavailable(CloudError):  # noqa: N818 - reads as what happened
    """The cloud is down, timed out, or is on its way up again."""

    retryable = True


class CloudRefused(CloudError):  # noqa: N818
    """The cloud does not know the edge, is not the one that the edge knows, or says what is no answer."""


class ReplyError(DragGraphError):
    """One reply of a model is unusable. The query is quarantined with `raw` kept; other queries go on."""

    def __init__(self, message: str, *, hint: str = "", raw: str = "") -> None:
        super().__init__(message, hint=hint)
        self.raw = raw


class MalformedReply(ReplyError):  # noqa: N818
    """Not the JSON asked for, after repair and asking again."""


class TruncatedReply(ReplyError):  # noqa: N818
    """Cut off by the provider's length limit."""


class RefusedReply(ReplyError):  # noqa: N818
    """The model declined to answer."""


class ContextOverflow(ReplyError):  # noqa: N818
    """The prompt cannot be made to fit the model's context window."""


class QueryInvalid(DragGraphError):  # noqa: N818
    """One input line is unusable; it is reported and the others go on."""


class DocumentUnusable(DragGraphError):  # noqa: N818
    """One file is unusable: broken, encrypted, without text; it is named and the others go on."""


class Withheld(DragGraphError):  # noqa: N818
    """The privacy gate lets bytes not leave this machine: the call is not made, and the query is quarantined.

    The message never holds what was found.
    """

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(why if why.startswith(PRIVACY) else f"{PRIVACY}{why}", hint=hint)


class AwaitsBatch(DragGraphError):  # noqa: N818
    """The query's next request goes into a batch at the provider, or is in one; the query is pending until the reply comes."""

    exit_code = 130


class BudgetReached(DragGraphError):  # noqa: N818
    """The next call could pass the budget, so it is not sent. Finished work is kept."""

    exit_code = 5


class Interrupted(DragGraphError):  # noqa: N818
    """The user stopped the run; it can be resumed with the same command."""

    exit_code = 130
