"""`drag-graph keys`: who may call the service."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options, render

if TYPE_CHECKING:
    from drag_graph.app.service_group import AddedKey, KeyList

app = typer.Typer(no_args_is_help=True)
KeyName = Annotated[str, typer.Argument(help="Name of the key.", show_default=False)]


@app.command()
@options.with_settings("store", "ledger")
def add(
    graph: "options.Graph",
    name: KeyName,
    role: Annotated[
        Literal["reader", "editor", "admin"],
        typer.Option(
            "--role", help="reader asks and looks; editor also runs jobs and corrects; admin also erases and reads metrics."
        ),
    ] = "reader",
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", help="A namespace that the key may use. Repeatable.")
    ] = None,
    expires: Annotated[str, typer.Option("--expires", help="Time until the key expires: 90d, 12h. Default: never.")] = "",
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", min=0, help="Upper limit on what all jobs of the key may spend together, in US dollars."),
    ] = None,
) -> None:
    """Add a key for the service and print it. It is shown only once, because only its hash is stored.

    Examples:
      drag-graph keys add dashboard --namespace papers
      drag-graph keys add nightly --role editor --namespace papers --expires 90d --budget-usd 5
    """
    added = graph.service.add_key(name, role, namespaces=namespace or (), expires=expires, budget_usd=budget_usd)
    render.result(added, _print_secret)


def _print_secret(added: "AddedKey") -> None:
    render.write(added.secret)
    command = f"drag-graph keys revoke {added.key.name}"
    typer.echo(f"Shown only once. Send it as `Authorization: Bearer KEY`. Revoke it: {command}", err=True)


@app.command("list")
@options.with_settings("store", "ledger")
def list_(graph: "options.Graph") -> None:
    """List the keys, including expired and revoked ones, and what their jobs have spent.

    Example: drag-graph keys list
    """
    render.result(graph.service.keys(), _print_keys)


def _print_keys(listed: "KeyList") -> None:
    if not listed.keys:
        typer.echo("There are no keys. Add one: drag-graph keys add NAME --namespace NAMESPACE")
    else:
        rows = (
            (
                *(key.name, key.role, ", ".join(key.namespaces), key.state, key.expires_at or "-"),
                *(f"${key.spent_usd:.4f}", "-" if key.budget_usd is None else f"${key.budget_usd:.2f}"),
            )
            for key in listed.keys
        )
        render.table(("name", "role", "namespaces", "state", "expires", "spent", "budget"), rows, wrapped="namespaces")


@app.command()
@options.with_settings("store", "ledger")
def revoke(graph: "options.Graph", name: KeyName) -> None:
    """Revoke a key for good. A running service refuses it at once.

    Example: drag-graph keys revoke nightly
    """
    render.result(graph.service.revoke(name), lambda _key: render.write(f"Revoked {name}."))
