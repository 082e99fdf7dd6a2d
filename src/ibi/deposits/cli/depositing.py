"""Deposits and updates as commands see them: in a data directory, or through a server.

The protocol here has an implementation in `local_deposit` and one in `remote_deposit`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from ibi.command.item_output import PublishedItem
    from ibi.items.model.description_values import Alternate
    from ibi.items.model.item import Description
    from ibi.items.service.file_selection import Gathered
    from ibi.settings import Settings
    from ibi.standard.label import Label


@dataclass(frozen=True, slots=True)
class NewDeposit:
    """An item to deposit."""

    found: Gathered
    given: dict[str, Any]
    """The values of the flags that describe it; see `item_options.apply_flags`."""
    target: str | None
    url: str | None
    relations: Mapping[str, Label]
    """Items that it names as `edition_of`, `translation_of` or `describes`."""
    key: str | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class ItemUpdate:
    """The changes of an update."""

    found: Gathered
    given: dict[str, Any]
    """The values of the flags that describe the item; see `item_options.apply_flags`."""
    target: str | None
    url: str | None
    removed: tuple[str, ...]
    alternates_removed: tuple[str, ...]
    message: str
    keeps: bool
    """True if the existing files stay."""
    public: bool

    def describe(self, before: Description) -> Description:
        """Return the description after the changes, but for the target and the URL."""
        from ibi.deposits.cli.item_options import apply_flags
        from ibi.items.model.visibility import Visibility

        opened = replace(before, visibility=Visibility.PUBLIC) if self.public else before
        after = apply_flags(opened, self.given)
        return replace(after, alternates=_without_alternates(after.alternates, self.alternates_removed))


class SubmittedItem(NamedTuple):
    """A publication that waits for a librarian."""

    title: str
    draft: str


class Depositing(Protocol):
    def deposit(self, new: NewDeposit) -> PublishedItem | SubmittedItem: ...

    def update(self, label: Label, changes: ItemUpdate) -> PublishedItem | SubmittedItem: ...

    def give(self, label: Label, owner: str) -> PublishedItem:
        """Give the item to an account, or to the Archive if `owner` is empty."""


def depositing(settings: Settings) -> Depositing:
    if settings.is_remote:
        from ibi.deposits.cli.remote_deposit import RemoteDepositing

        return RemoteDepositing(settings)
    from ibi.deposits.cli.local_deposit import LocalDepositing

    return LocalDepositing(settings)


def gathered(paths: tuple[Path, ...], *, hidden: bool) -> Gathered:
    """Return the files at these paths, and report the files that were left out."""
    from ibi.items.service.file_selection import gather

    found = gather(paths, hidden=hidden)
    if found.passed_over:
        click.echo(f"ibi: left out because hidden: {_some(found.passed_over)}; --hidden takes them in", err=True)
    if found.empty:
        click.echo(
            f"ibi: left out because empty: {_some(found.empty)}; an item keeps files, and no folder without one",
            err=True,
        )
    return found


def _some(paths: tuple[str, ...]) -> str:
    first, *others = paths
    return f"{printable(first)} and {len(others)} more" if others else printable(first)


def check_draft(settings: Settings, draft: str, said: Iterable[object]) -> None:
    """Raise UsageError unless a command can go on with the draft: it is the id of a draft, at a server, and nothing is
    `said` beside its files."""
    from ibi.deposits.model import DRAFT_ID

    if not settings.is_remote or any(value not in {None, ()} for value in said):
        raise click.UsageError("--draft goes on with what the draft says: give its files and the server, no more")
    if DRAFT_ID.fullmatch(draft) is None:
        raise click.UsageError(f"{printable(draft[:80])} is no id of a draft; one looks like draft-v6ciiqd35hqdlhrn")


def to_remove(removed: Iterable[str], there: Collection[str]) -> set[str]:
    """Return the stored names of the files to remove. Composed and decomposed letters count as the same."""
    from ibi.items.model.file import comparable_path

    called = {comparable_path(path): path for path in there}
    unknown = [path for path in removed if comparable_path(path) not in called]
    if unknown:
        raise click.UsageError(f"there is no file {unknown[0]} to remove")
    return {called[comparable_path(path)] for path in removed}


def _without_alternates(alternates: tuple[Alternate, ...], removed: Iterable[str]) -> tuple[Alternate, ...]:
    """Return the other names without the removed ones. Every spelling of a removed name counts."""
    from ibi.items.model.description_values import parse_alternate

    for text in removed:
        leaving = parse_alternate(text)
        kept = tuple(each for each in alternates if (each.scheme, each.key) != (leaving.scheme, leaving.key))
        if kept == alternates:
            raise click.UsageError(f"there is no other name {leaving} to remove")
        alternates = kept
    return alternates


def print_submitted(submitted: SubmittedItem, *, as_json: bool) -> None:
    from ibi.command.output import print_json, print_lines

    if as_json:
        print_json({"draft": submitted.draft, "review": "submitted"})
    else:
        lines = {"draft": submitted.draft, "review": "submitted: it waits for a librarian"}
        print_lines(submitted.title, lines)
