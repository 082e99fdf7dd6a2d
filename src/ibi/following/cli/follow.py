"""`ibi follow` copies items of another Archive and keeps the Copies up to date."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import click

from ibi.command.options import WholeHelpGroup, setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json
from ibi.copies.cli.copy import token_option

if TYPE_CHECKING:
    from ibi.command.api_clients import SubscriptionsClient
    from ibi.following.model.subscription import FollowKind
    from ibi.following.resources.subscriptions import FollowResource
    from ibi.following.service.subscriptions import FollowAdmin, FollowDirectory
    from ibi.settings import Settings

_where = setting_options("data", "config", "server")


class _AddByDefault(WholeHelpGroup):
    """A group with `add` as its default command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["add", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_AddByDefault)
def follow() -> None:
    """Follow an item, a prefix, a search or a whole Archive.

    A running server brings the Copies, and keeps them what their Originals are: it learns of every change from the feed
    of the other Archive. What is deleted there stays here, and says so, until it is dropped.

    \b
      ibi follow LABEL --from http://ARCHIVE
      ibi follow --prefix sid.inpe.br/mtc-m18 --from http://ARCHIVE
      ibi follow --search "rain forest" --from http://ARCHIVE
      ibi follow --all --from http://ARCHIVE --token TOKEN
    """


@follow.command()
@click.argument("label", required=False)
@click.option("--prefix", help="Follow all items whose labels have this prefix.")
@click.option("--search", metavar="WORDS", help="Follow all items that a search there finds, now and later.")
@click.option("--all", "is_all", is_flag=True, help="Follow the whole Archive.")
@click.option("--from", "source", metavar="URL", required=True, help="The other Archive, as in http://archive.example.")
@token_option
@as_json_option
@_where
def add(
    label: str | None,
    prefix: str | None,
    search: str | None,
    source: str,
    source_token: str | None,
    *,
    is_all: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Follow something from now on (the word `add` may be left out)."""
    from ibi.following.model.subscription import FollowKind

    kinds = {FollowKind.ITEM: label, FollowKind.PREFIX: prefix, FollowKind.SEARCH: search}
    named = [(kind, text) for kind, text in kinds.items() if text is not None]
    if is_all:
        named.append((FollowKind.ALL, ""))
    if len(named) != 1:
        raise click.UsageError("name one thing to follow: a label, --prefix, --search or --all")
    kind, text = named[0]
    settings = settings_from(**flags)
    if source_token is None and settings.copies.token is not None:
        source_token = settings.copies.token.reveal()
    listed, is_new = _add(settings, kind, text, source, source_token)
    if as_json:
        print_json({**members_of(listed), "is_new": is_new})
        return
    words = "is followed from now on" if is_new else "was followed already; what was refused is tried again"
    click.echo(f"{listed.id}  {_what(listed)} of {listed.source} {words}.")
    if not settings.is_remote:
        click.echo("A running server brings the Copies; `ibi follow list` shows how far it is.")


def _add(
    settings: Settings, kind: FollowKind, text: str, source: str, token: str | None
) -> tuple[FollowResource, bool]:
    if settings.is_remote:
        return _client(settings).add_follow(kind, text, source, token)
    import asyncio

    with _local_admin(settings) as admin:
        return asyncio.run(admin.add(kind, text, source, token))


@follow.command("list")
@as_json_option
@_where
def list_follows(*, as_json: bool, **flags: str | None) -> None:
    """List what is followed, and how far each follow is behind its source."""
    with _directory(settings_from(**flags)) as follows:
        for each in follows.list_follows():
            if as_json:
                print_json(members_of(each))
                continue
            for line in _lines(each):
                click.echo(line)


@follow.command()
@click.argument("identity", metavar="ID")
@_where
def remove(identity: str, **flags: str | None) -> None:
    """Follow it no longer. Copies stay; `ibi drop` removes them."""
    with _directory(settings_from(**flags)) as follows:
        removed = follows.remove_follow(identity)
    click.echo(f"{_what(removed)} of {removed.source} is not followed any more.")


def _what(listed: FollowResource) -> str:
    from ibi.standard.safe_text import printable

    text = printable(listed.text)
    whole = {"all": "everything", "moved": "what moved there"}
    return whole.get(listed.kind, text if listed.kind == "item" else f"{listed.kind} {text}")


def _lines(listed: FollowResource) -> Iterator[str]:
    from ibi.standard.safe_text import printable

    behind = "not begun yet" if listed.epoch is None else f"{listed.behind} behind"
    if listed.epoch is not None and not listed.behind:
        behind = "up to date"
    items = members_of(listed.items)
    counted = ", ".join(f"{number} {state}" for state, number in items.items() if number) or "no items"
    yield f"{listed.id}  {_what(listed)} of {listed.source}: {behind}; {counted}"
    if listed.failing_since:
        yield f"          failing since {listed.failing_since}: {printable(str(listed.reason))}"
    if listed.refused:
        yield f"          {listed.refused} not brought: {printable(str(listed.refused_reason))}"


@contextmanager
def _directory(settings: Settings) -> Iterator[FollowDirectory]:
    if settings.is_remote:
        yield _client(settings)
        return
    with _local_admin(settings) as admin:
        yield admin


def _client(settings: Settings) -> SubscriptionsClient:
    from ibi.command.api_clients import SubscriptionsClient

    return SubscriptionsClient(settings.server or "", None if settings.token is None else settings.token.reveal())


@contextmanager
def _local_admin(settings: Settings) -> Iterator[FollowAdmin]:
    from ibi.following.client.feed_client import SourceClient
    from ibi.following.service.subscriptions import FollowAdmin
    from ibi.following.store.follows import SqliteFollows
    from ibi.net.address_guard import AddressGuard
    from ibi.people.store.audit_log import FileAuditLog

    with ExitStack() as opened:
        store = opened.enter_context(closing(SqliteFollows(settings.data)))
        audit = opened.enter_context(closing(FileAuditLog(settings.data)))
        sources = SourceClient(AddressGuard())
        yield FollowAdmin(store, sources, time.time, own_url=settings.own_url, audit=audit)
