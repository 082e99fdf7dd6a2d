"""`ibi webhook` notifies addresses of each change of the Archive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json

if TYPE_CHECKING:
    from ibi.command.api_clients import SubscriptionsClient
    from ibi.following.resources.subscriptions import WebhookResource
    from ibi.following.service.subscriptions import WebhookAdmin


_where = setting_options("data", "config", "server", "token")
_KINDS = click.Choice(["put", "deleted", "removed", "moved"])


@click.group(cls=WholeHelpGroup)
def webhook() -> None:
    """Have an address told of each change of the Archive, in order, by a running server.

    Each change is a signed request as Standard Webhooks describes it: check `webhook-signature` with the secret that is
    shown once, and leave out what has a `webhook-id` that came before.
    """


@webhook.command("add")
@click.argument("url")
@click.option("--prefix", help="Only of items whose labels have this prefix.")
@click.option("--kind", "kinds", multiple=True, type=_KINDS, help="Only of changes of this kind; may be repeated.")
@as_json_option
@_where
def add_webhook(url: str, prefix: str | None, kinds: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Tell URL of what changes from now on. Prints the secret, this once."""
    with _admin(**flags) as admin:
        added = admin.add_webhook(url, prefix, kinds)
    if as_json:
        print_json(members_of(added))
    else:
        click.echo(f"{added.id}  {added.url} is told of changes.")
        click.echo(f"{added.secret}  signs them; it is not shown again.")


@webhook.command("list")
@as_json_option
@_where
def list_webhooks(*, as_json: bool, **flags: str | None) -> None:
    """List who is told, how far each is behind, and why one is not told any more."""
    with _admin(**flags) as admin:
        for each in admin.list_webhooks():
            if as_json:
                print_json(members_of(each))
            else:
                click.echo(_line(each))


def _line(listed: WebhookResource) -> str:
    from ibi.standard.safe_text import printable

    wanted = [] if listed.prefix is None else [f"of {listed.prefix}"]
    wanted += [] if len(listed.kinds) == len(_KINDS.choices) else [", ".join(listed.kinds)]
    state = f"{listed.behind} behind" if listed.behind else "up to date"
    if listed.disabled:
        state = f"disabled since {listed.disabled}: {listed.reason}"
    elif listed.failing_since:
        state += f", failing since {listed.failing_since}: {listed.reason}"
    filters = f" ({'; '.join(wanted)})" if wanted else ""
    return printable(f"{listed.id}  {listed.url}{filters}: {state}")


@webhook.command()
@click.argument("identity", metavar="ID")
@_where
def enable(identity: str, **flags: str | None) -> None:
    """Tell a webhook again that was disabled, from where it was told last."""
    with _admin(**flags) as admin:
        enabled = admin.enable_webhook(identity)
    click.echo(f"{enabled.url} is told again.")


@webhook.command("remove")
@click.argument("identity", metavar="ID")
@_where
def remove_webhook(identity: str, **flags: str | None) -> None:
    """Tell it no longer."""
    with _admin(**flags) as admin:
        removed = admin.remove_webhook(identity)
    click.echo(f"{removed.url} is not told any more.")


@contextmanager
def _admin(**flags: str | None) -> Iterator[WebhookAdmin | SubscriptionsClient]:
    """Open the webhooks of the data directory, or of a server."""
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.command.api_clients import SubscriptionsClient

        token = None if settings.token is None else settings.token.reveal()
        yield SubscriptionsClient(settings.server or "", token)
        return
    from ibi.command.archive_store import opened_store
    from ibi.following.service.subscriptions import WebhookAdmin
    from ibi.following.store.subscriptions import SqliteWebhooks
    from ibi.people.store.audit_log import FileAuditLog

    with ExitStack() as opened:
        archive = opened.enter_context(opened_store(settings))
        store = opened.enter_context(closing(SqliteWebhooks(settings.data)))
        audit = opened.enter_context(closing(FileAuditLog(settings.data)))
        yield WebhookAdmin(store, archive.changes, time.time, audit=audit)
