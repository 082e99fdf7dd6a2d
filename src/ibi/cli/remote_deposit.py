"""Deposits and updates through a server: fill a draft, then publish it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

import click

from ibi.archive.drafts import MOST_FILES, TooManyFiles
from ibi.cli.item_options import described
from ibi.cli.item_output import Links, print_links, print_updated, progress
from ibi.cli.output import print_json, print_lines
from ibi.cli.remote_items import item_of, records_client
from ibi.cli.update import to_remove, without_alternates
from ibi.config import Settings
from ibi.errors import IbiError, InvalidInput
from ibi.label import Label
from ibi.model.content import Copy
from ibi.model.draft import description_document, read_description
from ibi.model.item import Description, Item
from ibi.model.visibility import Visibility
from ibi.services.items.file_selection import Gathered
from ibi.transport.api_client import one_line
from ibi.transport.api_clients import RecordsClient
from ibi.transport.errors import ServerRefused, ServerUnreachable, UnexpectedAnswer

_AT_ONCE: Final = 4
_SMALL: Final = 512 * 1024
"""Bytes of files sent in one request. Larger ones are worth a draft, which outlives a connection."""
_FEW: Final = 100
_SHORT: Final = 2000
"""Bytes of a file name that fits into the head of a part."""
_DESCRIBED: Final = ("metadata", "language", "target", "url", "visibility", "alternates")


def remote_deposit(
    settings: Settings,
    found: Gathered,
    members: dict[str, str | None],
    given: dict[str, Any],
    key: str | None,
    *,
    as_json: bool,
) -> None:
    """Deposit files through a server. `members` are the parts of the description that are not metadata."""
    _check_number(found.sources)
    client = records_client(settings)
    description = _with(Description(), given)
    body = {**description_document(description), **{name: text for name, text in members.items() if text is not None}}
    published = _deposit_whole(client, body, found, key)
    if published is None:
        with _draft(client, lambda: client.begin(body), "ibi deposit", keeps=True) as draft:
            _send(client, draft, found, "depositing")
            published = client.publish(draft["id"], key=key)
    title = "; ".join(description.metadata.titles())
    if _print_submitted(title, published, as_json=as_json):
        return
    print_links(title, _links(published), as_json=as_json)
    _warn(published)


def _print_submitted(title: str, published: dict[str, Any], *, as_json: bool) -> bool:
    """Return whether the publication waits for a librarian, and print that."""
    if published.get("review") != "submitted":
        return False
    draft = one_line(str(published.get("id")))
    if as_json:
        print_json({"draft": draft, "review": "submitted"})
    else:
        print_lines(title, {"draft": draft, "review": "submitted: it waits for a librarian"})
    return True


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


def continue_deposit(settings: Settings, draft_id: str, found: Gathered, key: str | None, *, as_json: bool) -> None:
    """Send the files that a draft lacks, and publish it."""
    client = records_client(settings)
    with _draft(client, lambda: client.find_draft(draft_id), "ibi deposit", begins=False) as draft:
        _send_missing(client, draft, found, "depositing")
        published = client.publish(draft["id"], key=key)
    title = "; ".join(_read_draft_description(draft, settings).metadata.titles())
    if not _print_submitted(title, published, as_json=as_json):
        print_links(title, _links(published), as_json=as_json)


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


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of an update besides the uploaded files and the description."""

    removed: tuple[str, ...]
    alternates_removed: tuple[str, ...]
    target: str | None
    url: str | None
    message: str
    keeps: bool
    """True if the existing files stay."""
    public: bool


def remote_update(
    settings: Settings, label: Label, found: Gathered, changes: Changes, given: dict[str, Any], *, as_json: bool
) -> None:
    client = records_client(settings)
    with _draft(client, lambda: client.begin_update(label), f"ibi update {label}") as draft:
        before = _read_draft_description(draft, settings)
        there = {str(file["path"]) for file in draft.get("files", ())}
        leaving = to_remove(changes.removed, there | found.sources.keys())
        after = ({*there, *found.sources} if changes.keeps else {*found.sources}) - leaving
        _check_number(after if found.sources else ())
        description = _with(_apply_changes(before, changes, after), given)
        names = without_alternates(description.alternates, changes.alternates_removed)
        description = replace(description, alternates=names)
        for path in sorted(there - after):
            client.remove_file(draft["id"], path)
        client.describe(draft["id"], description_document(description))
        draft.is_worth_keeping = True  # only the files and the publication are left
        sent = {path: source for path, source in found.sources.items() if path in after}
        _send(client, draft, replace(found, sources=sent), "updating")
        published = client.publish(draft["id"], message=changes.message)
    _print_updated(description, published, as_json=as_json)


def continue_update(
    settings: Settings, label: Label, draft_id: str, found: Gathered, message: str, *, as_json: bool
) -> None:
    """Send the files that a draft of an item lacks, and publish it."""
    client = records_client(settings)
    item = item_of(client.record(label), settings)
    with _draft(client, lambda: _find_draft_of(client, item, draft_id), f"ibi update {label}", begins=False) as draft:
        _send_missing(client, draft, found, "updating")
        published = client.publish(draft["id"], message=message)
    _print_updated(_read_draft_description(draft, settings), published, as_json=as_json)


def _find_draft_of(client: RecordsClient, item: Item, draft_id: str) -> dict[str, Any]:
    found = client.find_draft(draft_id)
    labels = found.get("labels")
    if not isinstance(labels, dict) or labels.get("rep") != item.rep.spelling:
        raise click.UsageError(f"{draft_id} is no draft of {item.rep}")
    return found


def _print_updated(description: Description, published: dict[str, Any], *, as_json: bool) -> None:
    if _print_submitted("; ".join(description.metadata.titles()), published, as_json=as_json):
        return
    removed = [str(path) for path in published.get("removed", ())]
    version = int(str(published.get("version", 0)))
    print_updated("; ".join(description.metadata.titles()), _links(published), version, removed, as_json=as_json)
    _warn(published)


def _warn(published: dict[str, Any]) -> None:
    warnings = published.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        click.echo(f"ibi: {one_line(str(warning))}", err=True)


def _check_number(files: Sized) -> None:
    """Raise `TooManyFiles` before any file is sent: the server would refuse only the last of them."""
    if len(files) > MOST_FILES:
        raise TooManyFiles(most=MOST_FILES)


def _apply_changes(before: Description, changes: Changes, files: set[str]) -> Description:
    """Return the description after the changes. A removed target is dropped, and so is a URL if there are files."""
    return replace(
        before,
        target=changes.target or (before.target if before.target in files else None),
        target_url=changes.url or (None if files else before.target_url),
        visibility=Visibility.PUBLIC if changes.public else before.visibility,
    )


def _with(description: Description, given: dict[str, Any]) -> Description:
    """Return the description with the values of the flags."""
    return apply_flags(description, given)


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


def _links(published: dict[str, Any]) -> Links:
    names = ("rep", "ibip", "persistent_url", "url")
    return {name: None if published.get(name) is None else one_line(str(published[name])) for name in names}
