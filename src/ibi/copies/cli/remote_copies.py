"""Copies of a server, for commands with `--server`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import click

from ibi.command.api_clients import CopiesClient
from ibi.command.output import members_of, print_json
from ibi.command.remote_items import records_client
from ibi.copies.resources import CopyJobItem, CopyJobResource
from ibi.net.api_client import one_line
from ibi.settings import Settings
from ibi.standard.label import Label, parse
from ibi.standard.safe_text import printable

_LOOK: Final = 0.5
"""Seconds between two looks at a job."""
_ENDED: Final = frozenset({"done", "cancelled"})


def copies_client(settings: Settings) -> CopiesClient:
    return CopiesClient(settings.server or "", None if settings.token is None else settings.token.reveal())


def copy_remotely(
    settings: Settings, labels: Sequence[Label], source: str | None, token: str | None, *, as_json: bool
) -> None:
    """Begin a job for the Copies on the server, and wait for it. Exit with 1 if one of them was refused."""
    client = copies_client(settings)
    job = client.begin([str(label) for label in labels], source, token).id
    shown, refused = 0, False
    while True:
        found = client.job(job, shown)
        for item in found.items or ():
            if item.outcome == "pending":
                break
            shown = item.number
            refused |= not _tell(item, as_json=as_json)
        if found.state in _ENDED and not _has_more(found, shown):
            break
        time.sleep(_LOOK)
    if found.state == "cancelled":
        raise click.ClickException(f"the job {job} was cancelled")
    if refused:
        raise SystemExit(1)


def _has_more(found: CopyJobResource, shown: int) -> bool:
    return found.state == "done" and shown < found.labels


def _tell(item: CopyJobItem, *, as_json: bool) -> bool:
    """Print the outcome for one label. Return whether it succeeded."""
    label, outcome, reason = map(one_line, (item.label, item.outcome, item.reason or ""))
    if as_json:
        print_json({name: value for name, value in members_of(item).items() if name != "number"})
    if outcome == "refused":
        click.echo(f"ibi: {printable(f'{label}: {reason}')}", err=True)
        return False
    if not as_json:
        words = {"copied": "a Copy there", "deleted": "deleted at its Original"}
        click.echo(f"{label} is {words.get(outcome, outcome)}")
    return True


def remote_copies(settings: Settings) -> list[Label]:
    """Return all Copies of a server."""
    found = records_client(settings).search([])
    return [parse(str(each["labels"]["rep"])) for each in found if each.get("state") == "Copy"]


def drop_remotely(settings: Settings, label: Label) -> str:
    copies_client(settings).drop(label)
    return label.spelling
