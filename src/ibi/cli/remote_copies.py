"""Copies that a server makes, for the commands that are given `--server`: a job is begun there, and watched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import click

from ibi.cli.output import print_json
from ibi.cli.remote_items import records_client
from ibi.config import Settings
from ibi.label import Label, parse
from ibi.safe_text import printable
from ibi.transport.api_client import one_line
from ibi.transport.api_clients import CopiesClient
from ibi.transport.errors import UnexpectedAnswer

_LOOK: Final = 0.5
"""Seconds between two looks at a job."""
_ENDED: Final = frozenset({"done", "cancelled"})


def copies_client(settings: Settings) -> CopiesClient:
    return CopiesClient(settings.server or "", None if settings.token is None else settings.token.reveal())


def copy_remotely(
    settings: Settings, labels: Sequence[Label], source: str | None, token: str | None, *, as_json: bool
) -> None:
    """Have the server make the Copies, and wait for it; exit with 1 if one of them was refused."""
    client = copies_client(settings)
    job = _id(client.begin([str(label) for label in labels], source, token), settings)
    shown, refused = 0, False
    while True:
        found = client.job(job, shown)
        for item in found.get("items", ()):
            if item.get("outcome") == "pending":
                break
            shown = int(item["number"])
            refused |= not _tell(item, as_json=as_json)
        if found.get("state") in _ENDED and not _has_more(found, shown):
            break
        time.sleep(_LOOK)
    if found.get("state") == "cancelled":
        raise click.ClickException(f"the job {job} was cancelled")
    if refused:
        raise SystemExit(1)


def _has_more(found: dict[str, Any], shown: int) -> bool:
    return found.get("state") == "done" and shown < int(found.get("labels", 0))


def _id(job: dict[str, Any], settings: Settings) -> str:
    found = job.get("id")
    if not isinstance(found, str):
        raise UnexpectedAnswer(server=settings.server, reason="it does not say which job that is")
    return found


def _tell(item: dict[str, Any], *, as_json: bool) -> bool:
    """Print what became of one label; whether it was not refused."""
    label, outcome = one_line(str(item.get("label"))), one_line(str(item.get("outcome")))
    reason = one_line(str(item.get("reason", "")))
    if as_json:
        print_json({name: item[name] for name in ("label", "outcome", "code", "reason", "size") if name in item})
    if outcome == "refused":
        click.echo(f"ibi: {printable(f'{label}: {reason}')}", err=True)
        return False
    if not as_json:
        words = {"copied": "a Copy there", "deleted": "deleted at its Original"}
        click.echo(f"{label} is {words.get(outcome, outcome)}")
    return True


def remote_copies(settings: Settings) -> list[Label]:
    """All Copies of a server."""
    found = records_client(settings).search([])
    return [parse(str(each["labels"]["rep"])) for each in found if each.get("state") == "Copy"]


def drop_remotely(settings: Settings, label: Label) -> str:
    copies_client(settings).drop(label)
    return label.spelling
