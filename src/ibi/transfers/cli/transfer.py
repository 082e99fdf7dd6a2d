"""`ibi transfer`: give Originals to another Archive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import click

from ibi.command.options import setting_options
from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.command.archive_store import Archive
    from ibi.items.model.item import Item
    from ibi.standard.label import Label
    from ibi.transfers.model import OutgoingTransfer
    from ibi.transfers.service.worker import TransferWorker

_LOOK: Final = 0.25
"""Seconds between two looks at transfers under way."""
_PATIENCE: Final = 4
"""Seconds within which a transfer must be due to be looked at again."""


@click.command()
@click.argument("labels", metavar="[LABEL...]", nargs=-1)
@click.option("--to", "receiver", metavar="URL", required=True, help="The Archive that is to have them: http://HOST.")
@click.option("--all", "whole", is_flag=True, help="Every Original but the Archive's own item.")
@click.option("--prefix", metavar="PREFIX", help="Every Original whose repository name begins so.")
@click.option("--search", "words", metavar="TEXT", help="Every Original that this search finds.")
@click.option(
    "--token",
    metavar="TOKEN",
    help="A token of the receiver, of the scope edit, by which it agrees; without one, its librarian is asked.",
)
@click.option(
    "--copy-token",
    metavar="TOKEN",
    help="A token of this Archive, of the scope copy, by which the receiver reads files that are not for all.",
)
@click.option("--allow-plain", is_flag=True, help="Send the token over HTTP to another machine.")
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.IntRange(min=0),
    default=600,
    show_default=True,
    help="How long to go on with those that are under way; the server goes on with the rest. With 0 an offer stays that"
    " nobody has answered.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be given, and change nothing.")
@as_json_option
@setting_options("data", "config")
def transfer(
    labels: tuple[str, ...],
    receiver: str,
    *,
    whole: bool,
    prefix: str | None,
    words: str | None,
    token: str | None,
    copy_token: str | None,
    allow_plain: bool,
    wait: int,
    dry_run: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Give the Originals of these items to another Archive, which holds a complete Copy of each first. Here a Copy
    stays. Labels and links stay as they are. What was begun before is gone on with."""
    from ibi.command.archive_store import local_settings, opened_archive, transfers_of
    from ibi.command.options import read_label
    from ibi.net.api_client import ApiClient
    from ibi.net.server_url import ServerUrl

    if sum(map(bool, (labels, whole, prefix, words))) != 1:
        raise click.UsageError("name items, or give one of --all, --prefix and --search")
    place = str(ServerUrl.parse(receiver)).rstrip("/")
    if token is not None:
        ApiClient(place, token, allow_plain=allow_plain)  # a token that could not be sent is refused before any offer
    settings = local_settings(flags)
    with ExitStack() as opened:
        archive = opened.enter_context(opened_archive(settings))
        transfers = transfers_of(archive, opened, allow_plain=allow_plain)
        named = [read_label(label) for label in labels]
        items = _choose_items(archive, named, prefix=prefix, words=words)
        giving = _Giving(transfers, place, token, copy_token, _Shown(as_json=as_json), is_strict=bool(named))
        failed = giving.rehearse(items) if dry_run else giving.run(items, wait)
    if failed:
        raise SystemExit(1)


def _choose_items(archive: Archive, labels: list[Label], *, prefix: str | None, words: str | None) -> Iterator[Item]:
    from ibi.standard.vocabulary import State

    store = archive.store
    if labels:
        yield from (store.find(label) for label in labels)
        return
    if words is not None:
        from ibi.items.cli.search import walk
        from ibi.items.model.search import Order, SearchQuery

        found: Iterator[Item] = walk(store.search, SearchQuery(text=words, order=Order.NEWEST, size=100))
    else:
        found = store.catalog.items()
    start = None if prefix is None else prefix.lower()
    for item in list(found):
        if item.state is State.ORIGINAL and (start is None or str(item.rep).lower().startswith(start)):
            yield item


class _Giving:
    """The items that one command gives to one Archive."""

    def __init__(
        self,
        transfers: TransferWorker,
        receiver: str,
        token: str | None,
        copy_token: str | None,
        show: _Shown,
        *,
        is_strict: bool,
    ) -> None:
        """Prepare the command. Unless it `is_strict`, the Archive's own item is left out without a message."""
        self._transfers, self._receiver, self._token, self._copy_token = transfers, receiver, token, copy_token
        self._show, self._is_strict = show, is_strict
        self._has_answered = False
        """True if the receiver has answered an offer. Then a silence of the receiver does not end the command."""

    def rehearse(self, items: Iterator[Item]) -> int:
        """Show the items that would be given. Return the number of refused ones."""
        for item in items:
            if self._may_go(item):
                self._show.would(item)
        return self._show.failed

    def run(self, items: Iterator[Item], wait: int) -> int:
        """Give the items, and continue for `wait` seconds. Return the number of failures."""
        from ibi.standard.errors import IbiError
        from ibi.transfers.model import SenderStage

        transfers = self._transfers
        begun: dict[str, OutgoingTransfer] = {}
        transfers.tracking.ask(transfers.chains, transfers.receiving)
        transfers.tracking.require_sure()
        for item in items:
            if not self._may_go(item):
                continue
            try:
                kept = self._begin(item, wait)
            except IbiError as error:
                self._show.refused(str(item.rep), str(error))
                continue
            self._show.tell(kept)
            if kept.stage is SenderStage.WITHDRAWN and not self._has_answered:
                begun[str(item.rep)] = kept
                break  # the receiver takes no transfers, or cannot be reached
            if self._copy_token is None and not (item.visibility.is_public and item.visibility.listing):
                self._show.advise_token(str(item.rep))
            begun[str(item.rep)] = kept
        self._go_on(begun, wait)
        self._show.sum_up(begun.values())
        return self._show.failed

    def _begin(self, item: Item, wait: int) -> OutgoingTransfer:
        """Offer an item. A first offer without an answer is ended, unless the server continues it (`wait` is 0)."""
        sending = self._transfers.sending
        kept = sending.begin(item, self._receiver, self._token, copy_token=self._copy_token)
        self._has_answered = self._has_answered or kept.remote is not None
        return kept if self._has_answered or not wait else sending.abandon(kept)

    def _may_go(self, item: Item) -> bool:
        from ibi.standard.errors import IbiError

        try:
            self._transfers.sending.check(item, self._receiver)
        except IbiError as error:
            if self._is_strict or error.code != "service-item-stays":
                self._show.refused(str(item.rep), str(error))
            return False
        return True

    def _go_on(self, begun: dict[str, OutgoingTransfer], wait: int) -> None:
        """Continue the transfers that are not final and do not wait for a librarian."""
        from ibi.transfers.model import ReceiverStage

        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            active = [
                kept for kept in begun.values() if not kept.stage.is_final and kept.remote is not ReceiverStage.WAITING
            ]
            if not active:
                return
            time.sleep(_LOOK)
            for kept in active:
                begun[str(kept.rep)] = self._look_at(kept)

    def _look_at(self, kept: OutgoingTransfer) -> OutgoingTransfer:
        """Return the present state of a transfer. One that failed often is left to the server for a while."""
        transfers = self._transfers
        is_tired = kept.due > time.time() + _PATIENCE
        current = (
            (transfers.ledger.outgoing(kept.rep) or kept)
            if is_tired
            else transfers.sending.go_on(kept.rep, self._token)
        )
        if (current.stage, current.remote, current.reason) != (kept.stage, kept.remote, kept.reason):
            self._show.tell(current)
        return current


class _Shown:
    """The output of the command for each item."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json, self.failed = as_json, 0

    def would(self, item: Item) -> None:
        size = sum(file.size for file in item.files)
        title = "; ".join(item.metadata.titles(item.language))
        if self._as_json:
            print_json({"item": item.rep.spelling, "title": title, "files": len(item.files), "size": size})
        else:
            click.echo(printable(f"{item.rep}  {title} ({len(item.files)} files, {size} bytes)"))

    def refused(self, name: str, reason: str) -> None:
        self.failed += 1
        if self._as_json:
            print_json({"item": name, "stage": "refused", "reason": reason})
        else:
            click.echo(f"ibi: {printable(reason)}", err=True)

    def advise_token(self, name: str) -> None:
        if not self._as_json:
            click.echo(
                f"ibi: {name}: its files are not for all readers, or not listed: if the other Archive cannot read them,"
                " give it --copy-token, a token of this Archive of the scope copy",
                err=True,
            )

    def tell(self, kept: OutgoingTransfer) -> None:
        if self._as_json:
            print_json({"item": kept.rep.spelling, "stage": kept.stage.value, **_remote(kept)})
        else:
            click.echo(printable(f"{kept.rep}  {_words(kept)}"))

    def sum_up(self, begun: Any) -> None:
        from ibi.transfers.model import SenderStage

        kept = list(begun)
        done = sum(each.stage is SenderStage.DONE for each in kept)
        self.failed += sum(each.stage in (SenderStage.DECLINED, SenderStage.WITHDRAWN) for each in kept)
        left = sum(not each.stage.is_final for each in kept)
        if not self._as_json:
            rest = f", {left} under way: the server of this Archive goes on with them" if left else ""
            click.echo(f"{done} given{rest}.")


def _remote(kept: OutgoingTransfer) -> dict[str, object]:
    return {"receiver": None if kept.remote is None else kept.remote.value, "reason": kept.reason}


def _words(kept: OutgoingTransfer) -> str:
    from ibi.transfers.model import ReceiverStage, SenderStage

    if kept.stage is SenderStage.DONE:
        return "given: the Original is there"
    reason = f" ({kept.reason})" if kept.reason else ""
    if kept.stage is SenderStage.OFFERED and kept.remote is ReceiverStage.WAITING:
        return f"offered: a librarian there has to accept it{reason}"
    return f"{kept.stage.value}{reason}"
