"""`ibi update` adds a version to an item, which keeps its label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.deposit import WHERE, check_draft, gathered, warn_of_url
from ibi.cli.item_options import described, item_options
from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ibi.model.content import Source
    from ibi.model.description_values import Alternate
    from ibi.model.item import Draft, Item


@click.command()
@click.argument("label", metavar="LABEL")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@item_options
@click.option("--replace", "replaces", is_flag=True, help="Let PATHs take the place of all files there are.")
@click.option("--add", is_flag=True, help="Keep the files there are, which is done without it too.")
@click.option("--remove", "removed", metavar="FILE", multiple=True, help="A file to leave out; may be repeated.")
@click.option(
    "--remove-alternate",
    "alternates_removed",
    metavar="SCHEME:VALUE",
    multiple=True,
    help="Another name that leads to it no more; may be repeated.",
)
@click.option("--draft", metavar="DRAFT", help="Go on with a draft that an update has left on the server.")
@click.option("--public", is_flag=True, help="End embargo and restriction to networks.")
@click.option("--owner", metavar="ACCOUNT", help="The person or service it belongs to from now on; '' is the Archive.")
@click.option("--message", metavar="TEXT", default="Updated", help="Why, for the history of the item.")
@as_json_option
@setting_options(*WHERE)
def update(
    label: str,
    paths: tuple[Path, ...],
    removed: tuple[str, ...],
    alternates_removed: tuple[str, ...],
    draft: str | None,
    owner: str | None,
    message: str,
    *,
    replaces: bool,
    add: bool,
    public: bool,
    as_json: bool,
    url: str | None,
    target: str | None,
    hidden: bool,
    **given: Any,
) -> None:
    """Give an item more files, newer ones of the same name, or another description; the rest stays as it is."""
    from ibi.cli.item_output import print_updated
    from ibi.cli.options import read_label

    settings = settings_from(**{name: given.pop(name) for name in WHERE})
    if paths and url is not None:
        raise click.UsageError("give files or folders, or --url for a Web service")
    if public and (given["embargo"] is not None or given["embargo_reason"] is not None or given["allowed"]):
        raise click.UsageError("--public ends what --embargo and --allow begin: give one of them")
    if add and replaces:
        raise click.UsageError("--add keeps the files that --replace takes away")
    if replaces and not paths:
        raise click.UsageError("--replace needs the files that take the place of the others")
    if draft is not None:
        said = (*given.values(), url, target, owner, *removed, *alternates_removed, replaces or None, public or None)
        if not settings.is_remote or any(value not in {None, ()} for value in said):
            raise click.UsageError("--draft goes on with what the draft says: give its files and the server, no more")
        from ibi.cli.remote_deposit import continue_update

        check_draft(draft)
        continue_update(settings, read_label(label), draft, gathered(paths, hidden=hidden), message, as_json=as_json)
        return
    others = removed or alternates_removed or public or url or target
    is_changed = bool(paths or others or any(given.values()) or given["listing"] is False)
    if not is_changed and owner is None:
        raise click.UsageError("say what changes: give files or folders, or a flag such as --title")
    found = gathered(paths, hidden=hidden)
    if settings.is_remote:
        from ibi.cli.remote_deposit import Changes, remote_update
        from ibi.cli.remote_items import give_remotely

        if owner is not None:
            given_away = give_remotely(settings, read_label(label), owner)
            if not is_changed:
                print_updated(*given_away, [], as_json=as_json)
                return
        keeps = url is None and not replaces
        changes = Changes(removed, alternates_removed, target, url, message, keeps=keeps, public=public)
        remote_update(settings, read_label(label), found, changes, given, as_json=as_json)
        return
    from ibi.cli.archive_store import account_named, opened_archive, who
    from ibi.cli.item_output import links, progress

    account = account_named(settings, owner)
    with opened_archive(settings) as archive, progress("updating", found.size) as on_bytes:
        item = archive.store.find(read_label(label))
        if owner is not None:
            item = archive.deposits.give(item.rep, account, who())
        if not is_changed:
            print_updated("; ".join(item.metadata.titles()), links(item, settings), item.version, [], as_json=as_json)
            return
        keeps = url is None and not replaces
        sources = _without({**(_keep_files(item) if keeps else {}), **found.sources}, removed)
        new = described(_draft(item, sources, target, url, public=public), given)
        new = replace(new, alternates=without_alternates(new.alternates, alternates_removed))
        updated = archive.deposits.update(item.rep, new, sources, who(), message, on_bytes=on_bytes)
    after, gone = updated.item, [warning.path for warning in updated.warnings]
    print_updated("; ".join(after.metadata.titles()), links(after, settings), after.version, gone, as_json=as_json)
    warn_of_url(settings, url)


def _keep_files(item: Item) -> dict[str, Source]:
    from ibi.model.content import Keep

    return {file.path: Keep(file.path) for file in item.files}


def _without(sources: dict[str, Source], removed: tuple[str, ...]) -> dict[str, Source]:
    leaving = to_remove(removed, sources)
    return {path: source for path, source in sources.items() if path not in leaving}


def to_remove(removed: Iterable[str], there: Collection[str]) -> set[str]:
    """Return the stored names of the files to remove. Composed and decomposed letters count as the same."""
    from ibi.model.file import comparable_path

    called = {comparable_path(path): path for path in there}
    unknown = [path for path in removed if comparable_path(path) not in called]
    if unknown:
        raise click.UsageError(f"there is no file {unknown[0]} to remove")
    return {called[comparable_path(path)] for path in removed}


def without_alternates(alternates: tuple[Alternate, ...], removed: Iterable[str]) -> tuple[Alternate, ...]:
    """Return the other names without the removed ones. Every spelling of a removed name counts."""
    from ibi.model.description_values import parse_alternate

    for text in removed:
        leaving = parse_alternate(text)
        kept = tuple(each for each in alternates if (each.scheme, each.key) != (leaving.scheme, leaving.key))
        if kept == alternates:
            raise click.UsageError(f"there is no other name {leaving} to remove")
        alternates = kept
    return alternates


def _draft(item: Item, sources: dict[str, Source], target: str | None, url: str | None, *, public: bool) -> Draft:
    """Return a draft of the item with these files. A target that was removed is dropped."""
    from ibi.model.item import Draft
    from ibi.model.visibility import Visibility
    from ibi.services.items.file_selection import unread_files

    return Draft(
        labels=item.labels,
        metadata=item.metadata,
        language=item.language,
        files=unread_files(sources),
        target=target or (item.target if item.target in sources else None),
        target_url=url or (None if sources else item.target_url),
        visibility=Visibility.PUBLIC if public else item.visibility,
        alternates=item.alternates,
    )
