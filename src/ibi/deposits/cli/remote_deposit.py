"""Deposits and updates through a server: fill a draft, then publish it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

import click

from ibi.command.api_clients import RecordsClient
from ibi.command.item_output import PublishedItem, progress
from ibi.command.remote_items import found_item, item_of, records_client
from ibi.deposits.cli.depositing import ItemUpdate, NewDeposit, SubmittedItem, to_remove
from ibi.deposits.cli.item_options import apply_flags
from ibi.deposits.model import description_document, read_description
from ibi.deposits.rules.drafts import MOST_FILES, TooManyFiles
from ibi.items.model.content import Copy
from ibi.items.model.item import Description, Item
from ibi.items.service.file_selection import Gathered
from ibi.net.api_client import one_line
from ibi.net.errors import ServerRefused, ServerUnreachable, UnexpectedAnswer
from ibi.settings import Settings
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label

_AT_ONCE: Final = 4
_SMALL: Final = 512 * 1024
"""Bytes of files sent in one request. Larger ones are worth a draft, which outlives a connection."""
_FEW: Final = 100
_SHORT: Final = 2000
"""Bytes of a file name that fits into the head of a part."""
_DESCRIBED: Final = ("metadata", "language", "target", "url", "visibility", "alternates")


class RemoteDepositing:
    def __init__(self, settings: Settings) -> None:
        self._settings, self._client = settings, records_client(settings)

    def deposit(self, new: NewDeposit) -> PublishedItem | SubmittedItem:
        """Deposit the item, in one request if it is small. The item belongs to the token's account."""
        if new.owner is not None:
            raise click.UsageError(
                "through a server, items belong to the token's account: `ibi update --owner` gives one to another"
            )
        client, found = self._client, new.found
        _check_number(found.sources)
        description = apply_flags(Description(), new.given)
        named = {"target": new.target, "url": new.url, **{name: str(each) for name, each in new.relations.items()}}
        members = {name: text for name, text in named.items() if text is not None}
        body = {**description_document(description), **members}
        answer = _deposit_whole(client, body, found, new.key)
        if answer is None:
            with _draft(client, lambda: client.begin(body), "ibi deposit", keeps=True) as draft:
                _send(client, draft, found, "depositing")
                answer = client.publish(draft["id"], key=new.key)
        return _published(description, answer)

    def continue_deposit(self, draft_id: str, found: Gathered, key: str | None) -> PublishedItem | SubmittedItem:
        """Send the files that a draft lacks, and publish it."""
        client = self._client
        with _draft(client, lambda: client.find_draft(draft_id), "ibi deposit", begins=False) as draft:
            _send_missing(client, draft, found, "depositing")
            answer = client.publish(draft["id"], key=key)
        done = _published(_read_draft_description(draft, self._settings), answer)
        return done if isinstance(done, SubmittedItem) else done._replace(warnings=())

    def update(self, label: Label, changes: ItemUpdate) -> PublishedItem | SubmittedItem:
        client, found = self._client, changes.found
        with _draft(client, lambda: client.begin_update(label), f"ibi update {label}") as draft:
            before = _read_draft_description(draft, self._settings)
            there = {str(file["path"]) for file in draft.get("files", ())}
            leaving = to_remove(changes.removed, there | found.sources.keys())
            after = ({*there, *found.sources} if changes.keeps else {*found.sources}) - leaving
            _check_number(after if found.sources else ())
            description = changes.describe(_with_content(before, changes, after))
            for path in sorted(there - after):
                client.remove_file(draft["id"], path)
            client.describe(draft["id"], description_document(description))
            draft.is_worth_keeping = True  # only the files and the publication are left
            sent = {path: source for path, source in found.sources.items() if path in after}
            _send(client, draft, replace(found, sources=sent), "updating")
            answer = client.publish(draft["id"], message=changes.message)
        return _published(description, answer)

    def continue_update(
        self, label: Label, draft_id: str, found: Gathered, message: str
    ) -> PublishedItem | SubmittedItem:
        """Send the files that a draft of an item lacks, and publish it."""
        client = self._client
        item, command = item_of(client.record(label), self._settings), f"ibi update {label}"
        with _draft(client, lambda: _find_draft_of(client, item, draft_id), command, begins=False) as draft:
            _send_missing(client, draft, found, "updating")
            answer = client.publish(draft["id"], message=message)
        return _published(_read_draft_description(draft, self._settings), answer)

    def give(self, label: Label, owner: str) -> PublishedItem:
        found = found_item(self._client.give(label, owner or None), self._settings)
        return PublishedItem.of(found.item, found.links)


def _published(description: Description, answer: dict[str, Any]) -> PublishedItem | SubmittedItem:
    """Return the outcome of a publication, as the server's `answer` tells it."""
    title = "; ".join(description.metadata.titles())
    if answer.get("review") == "submitted":
        return SubmittedItem(title, one_line(str(answer.get("id"))))
    names = ("rep", "ibip", "persistent_url", "url")
    links = {name: None if answer.get(name) is None else one_line(str(answer[name])) for name in names}
    removed = [str(path) for path in answer.get("removed", ())]
    warnings = answer.get("warnings")
    warned = [one_line(str(warning)) for warning in warnings] if isinstance(warnings, list) else []
    return PublishedItem(title, links, int(str(answer.get("version", 0))), removed, warned)


def _deposit_whole(
    client: RecordsClient, body: dict[str, Any], found: Gathered, key: str | None
) -> dict[str, Any] | None:
    """Deposit a small item in one request. Return None if it is not small, or if the server does not know such
    requests."""
    sources = {path: source for path, source in found.sources.items() if isinstance(source, Copy)}
    if found.size > _SMALL or len(sources) > _FEW or any(len(path.encode()) > _SHORT for path in sources):
        return None
    files = {path: Path(source.path).read_bytes() for path, source in sources.items()}
    try:
        return client.deposit(body, files, key)
    except ServerRefused as error:
        if error.problem != "unsupported-media-type":
            raise
        return None


def _send_missing(client: RecordsClient, draft: DraftInHand, found: Gathered, what: str) -> None:
    """Send the files that the draft lacks or has in another version."""
    there = {str(file.get("path")): file for file in draft.get("files", ())}
    _check_number({*there, *found.sources})
    if draft.get("state") != "draft":
        return
    missing = {
        path: source
        for path, source in found.sources.items()
        if isinstance(source, Copy) and not _is_sent(there.get(path), Path(source.path))
    }
    _send(client, draft, replace(found, sources=dict(missing)), what)


def _is_sent(file: dict[str, Any] | None, source: Path) -> bool:
    """Return whether the draft has exactly this file. The file is read only if the size is the same."""
    if file is None or file.get("size") != source.stat().st_size:
        return False
    with source.open("rb") as opened:
        return file.get("sha512") == file_digest(opened, "sha512").hexdigest()


def _find_draft_of(client: RecordsClient, item: Item, draft_id: str) -> dict[str, Any]:
    found = client.find_draft(draft_id)
    labels = found.get("labels")
    if not isinstance(labels, dict) or labels.get("rep") != item.rep.spelling:
        raise click.UsageError(f"{draft_id} is no draft of {item.rep}")
    return found


def _check_number(files: Sized) -> None:
    """Raise `TooManyFiles` before any file is sent: the server would refuse only the last of them."""
    if len(files) > MOST_FILES:
        raise TooManyFiles(most=MOST_FILES)


def _with_content(before: Description, changes: ItemUpdate, files: set[str]) -> Description:
    """Return the description with its target and its URL after the changes. A removed target is dropped, and so is a
    URL if there are files."""
    return replace(
        before,
        target=changes.target or (before.target if before.target in files else None),
        target_url=changes.url or (None if files else before.target_url),
    )


def _read_draft_description(draft: dict[str, Any], settings: Settings) -> Description:
    try:
        return read_description({name: draft[name] for name in _DESCRIBED if name in draft}, "draft")
    except InvalidInput as error:
        raise UnexpectedAnswer(server=settings.server, reason=one_line(f"this is no draft: {error}")) from None


class DraftInHand(dict[str, Any]):
    """A draft of the server, as the server returned it."""

    is_worth_keeping = False
    """True if another command can continue it, because it has everything to publish except files."""


@contextmanager
def _draft(
    client: RecordsClient,
    begin: Callable[[], dict[str, Any]],
    command: str,
    *,
    keeps: bool = False,
    begins: bool = True,
) -> Iterator[DraftInHand]:
    """Begin a draft, and discard it when a request is refused or interrupted. A draft that existed before is never
    discarded.

    When an answer is lost the draft stays, because it may be published already; the server removes unused drafts. A
    draft worth keeping (from the beginning if it `keeps`) also stays after an interruption. Then a message tells how to
    continue it by that `command`.
    """
    draft = DraftInHand(begin())
    draft.is_worth_keeping = keeps or not begins
    if not isinstance(draft.get("id"), str):
        raise UnexpectedAnswer(server=str(client), reason="it begins no draft")
    try:
        yield draft
    except ServerUnreachable:
        if draft.is_worth_keeping:
            _tell_how_to_go_on(draft["id"], command)
        raise
    except KeyboardInterrupt:
        if draft.is_worth_keeping:
            _tell_how_to_go_on(draft["id"], command)
        else:
            _discard(client, draft["id"])
        raise
    except (IbiError, click.ClickException):
        if begins:
            _discard(client, draft["id"])
        raise


def _discard(client: RecordsClient, draft: str) -> None:
    with suppress(IbiError):
        client.discard(draft)


def _tell_how_to_go_on(draft: str, command: str) -> None:
    click.echo(
        f"ibi: what was sent is in {one_line(draft)} on the server; to go on, give the same files and server again: "
        f"{command} --draft {one_line(draft)} PATH...",
        err=True,
    )


def _send(client: RecordsClient, draft: dict[str, Any], found: Gathered, what: str) -> None:
    """Upload files, several at a time: for small ones, the server's disk takes longer than the network."""
    left = deque((path, Path(source.path)) for path, source in found.sources.items() if isinstance(source, Copy))
    number, ended = len(left), SimpleQueue[BaseException | None]()

    def send() -> None:
        with suppress(IndexError):
            while True:
                path, source = left.popleft()
                try:
                    client.upload(draft["id"], path, source, on_bytes)
                except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                    ended.put(error)
                else:
                    ended.put(None)

    with progress(what, found.size) as on_bytes:
        try:
            for _ in range(min(_AT_ONCE, number)):
                # The command does not wait for these threads at its end: one may hang while it connects.
                Thread(target=send, daemon=True).start()
            for _ in range(number):
                error = ended.get()
                if error is not None:
                    raise error
        except BaseException:
            left.clear()
            client.stop_uploads()
            raise
