"""The exceptions that drag-graph raises on purpose.

Each has a message (`str(error)`), a `hint` that says how to fix it, the exit code of the command line, and `retryable`: whether
the same call may succeed later. Messages and hints write an argument or setting as in Python, in backticks: `privacy=off`. The
command line prints it as a flag: `--privacy off`. Exit code 1 means that some items failed and the others are done.

    DragGraphError                    exit 1
    |-- ConfigurationError            exit 2   a flag, a setting or a file is not usable
    |   |-- InputError                         an input file cannot be read at all
    |   `-- MissingExtra                       an optional package is not installed
    |-- StoreError                    exit 3
    |   |-- SubgraphRefused                    a check or a constraint of the store refuses one subgraph
    |   |-- StoreUnavailable                   the store cannot be reached (retryable)
    |   |-- StoreLocked                        another process writes to the store (retryable)
    |   |-- StoreUnfit                         newer than the code, damaged, not a store, or filled by another embedder
    |   `-- NotStored                          the store has no such query, answer or run
    |-- ModelError                    exit 4
    |   |-- ModelUnavailable                   down, timed out, or rate limited beyond the retries (retryable)
    |   |-- ModelAccessDenied                  the key is missing or refused
    |   `-- UnknownModel                       the provider does not know the name
    |-- CloudError                    exit 4   the cloud cannot be used (docs/how-to/sites.md)
    |   |-- CloudUnavailable                   down, timed out, or starting (retryable)
    |   `-- CloudRefused                       does not know the site, is another cloud, or sent no valid reply
    |-- ReplyError                    exit 1   one reply is unusable: its query is quarantined
    |   |-- MalformedReply                     not the requested JSON, after repair and further attempts
    |   |-- TruncatedReply                     cut off by the provider's length limit
    |   |-- RefusedReply                       the model declined to answer
    |   `-- ContextOverflow                    the prompt does not fit into the context window
    |-- QueryInvalid                  exit 1   one input line is unusable
    |-- DocumentUnusable              exit 1   one file is unusable
    |-- Withheld                      exit 1   the privacy gate blocks a request: its query is quarantined
    |-- AwaitsBatch                   exit 130 the next request of a query is in a batch, and the query is pending
    |-- BudgetReached                 exit 5
    `-- Interrupted                   exit 130
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

PRIVACY = "privacy: "
"""Prefix of the reason when the privacy gate has blocked something."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Cost of the requests before an error: answered calls, their tokens, and their price in US dollars."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float


class DragGraphError(Exception):
    """Root of the tree. `hint` says what the user can do next and may be empty.

    `spent` is the cost before the error, None for nothing. `report` is the partial report of the work that the error stopped.
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


class MissingExtra(ConfigurationError):  # noqa: N818 - reads as what happened
    """An optional package is not installed. The hint starts with the command that installs `extra`."""

    def __init__(self, message: str, *, extra: str = "", hint: str = "") -> None:
        install = f"Run `pip install 'drag-graph[{extra}]'` (in a checkout: `pip install '.[{extra}]'`)." if extra else ""
        super().__init__(message, hint=f"{install} {hint}".strip())


class StoreError(DragGraphError):
    """The graph store cannot serve the request."""

    exit_code = 3


class SubgraphRefused(StoreError):  # noqa: N818 - reads as what happened
    """The subgraph violates a check or a constraint of the store. The store itself is sound."""


class StoreUnavailable(StoreError):  # noqa: N818 - reads as what happened
    """The store cannot be reached, or did not come back within the deadline."""

    retryable = True


class StoreLocked(StoreError):  # noqa: N818
    """Another process holds the embedded store for writing."""

    retryable = True


class StoreUnfit(StoreError):  # noqa: N818
    """The store is newer than the code, damaged, not a store at all, or was filled by another embedder."""


class NotStored(StoreError):  # noqa: N818
    """The store or its ledger has no such query, answer, run or batch."""


class ModelError(DragGraphError):
    """A model cannot be used at all; the run stops."""

    exit_code = 4


class ModelUnavailable(ModelError):  # noqa: N818
    """The model's server is down, timed out or limited the rate beyond the retries."""

    retryable = True


class ModelAccessDenied(ModelError):  # noqa: N818
    """The key is missing or refused. The hint names the variable to set."""


class UnknownModel(ModelError):  # noqa: N818
    """The provider does not know the model's name."""


class CloudError(DragGraphError):
    """The cloud cannot be used."""

    exit_code = 4


class CloudUnavailable(CloudError):  # noqa: N818 - reads as what happened
    """The cloud is down, timed out, or is starting."""

    retryable = True


class CloudRefused(CloudError):  # noqa: N818
    """The cloud does not know this site, is another cloud, or sent no valid reply."""


class ReplyError(DragGraphError):
    """One reply of a model is unusable. Its query is quarantined with the `raw` text; other queries continue."""

    def __init__(self, message: str, *, hint: str = "", raw: str = "") -> None:
        super().__init__(message, hint=hint)
        self.raw = raw


class MalformedReply(ReplyError):  # noqa: N818
    """Not the requested JSON, after repair and further attempts."""


class TruncatedReply(ReplyError):  # noqa: N818
    """Cut off by the provider's length limit."""


class RefusedReply(ReplyError):  # noqa: N818
    """The model declined to answer."""


class ContextOverflow(ReplyError):  # noqa: N818
    """The prompt does not fit into the model's context window."""


class QueryInvalid(DragGraphError):  # noqa: N818
    """One input line is unusable. It is reported; the others continue."""


class DocumentUnusable(DragGraphError):  # noqa: N818
    """One file is unusable: broken, encrypted or without text. It is reported; the others continue."""


class Withheld(DragGraphError):  # noqa: N818
    """The privacy gate blocked a request. Nothing was sent, and the query is quarantined.

    The message never contains the private detail.
    """

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(why if why.startswith(PRIVACY) else f"{PRIVACY}{why}", hint=hint)


class AwaitsBatch(DragGraphError):  # noqa: N818
    """The next request of the query is queued for a batch or is in one. The query is pending until the reply arrives."""

    exit_code = 130


class BudgetReached(DragGraphError):  # noqa: N818
    """The next call could exceed the budget, so it was not sent. Finished work is kept."""

    exit_code = 5


class Interrupted(DragGraphError):  # noqa: N818
    """The user stopped the run. The same command resumes it."""

    exit_code = 130


def reported_error(document: Mapping[str, Any]) -> DragGraphError:
    """Return the error of a reply of the service. An unknown type becomes ConfigurationError: it is about the request."""
    detail = document["error"]
    kind = globals().get(detail["type"])
    if not (isinstance(kind, type) and issubclass(kind, DragGraphError)):
        kind = ConfigurationError
    return kind(detail["message"], hint=detail["hint"])
