"""`ibi deposit` makes an item with a label from files or a Web service. `ibi update` adds a version to an item, which
keeps its label. `ibi delete` removes an item and leaves a tombstone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.item_options import described, item_options
from ibi.cli.options import setting_options, settings_from, settings_to_mint
from ibi.cli.output import as_json_option, print_json
from ibi.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ibi.config import Settings
    from ibi.model.content import Source
    from ibi.model.description_values import Alternate
    from ibi.model.item import Draft, Item
    from ibi.services.items.file_selection import Gathered


WHERE = ("data", "config", "server", "token")
"""Settings that select the Archive."""


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(path_type=Path))
@item_options
@click.option("--edition-of", metavar="IBI", help="The item of which it is the next edition.")
@click.option("--translation-of", metavar="IBI", help="The item that it translates; --language says into what.")
@click.option("--metadata-of", metavar="IBI", help="The item whose metadata it is.")
@click.option("--key", metavar="KEY", help="Asking again with this key gets the same item.")
@click.option("--owner", metavar="ACCOUNT", help="The person or service it belongs to; without it, the Archive.")
@click.option("--draft", metavar="DRAFT", help="Go on with a draft that a deposit has left on the server.")
@as_json_option
@setting_options(*WHERE)
def deposit(
    paths: tuple[Path, ...],
    edition_of: str | None,
    translation_of: str | None,
    metadata_of: str | None,
    key: str | None,
    owner: str | None,
    draft: str | None,
    *,
    as_json: bool,
    url: str | None,
    target: str | None,
    hidden: bool,
    **given: Any,
) -> None:
    """Keep files or folders, or a Web service, as an item with a label that lasts."""
    from ibi.cli.options import read_label

    settings = settings_to_mint(**{name: given.pop(name) for name in WHERE})
    if draft is not None:
        said = (*given.values(), url, target, edition_of, translation_of, metadata_of, owner)
        if not settings.is_remote or any(value not in {None, ()} for value in said):
            raise click.UsageError("--draft goes on with what the draft says: give its files and the server, no more")
        check_draft(draft)
        from ibi.cli.remote_deposit import continue_deposit

        continue_deposit(settings, draft, gathered(paths, hidden=hidden), key, as_json=as_json)
        return
    if bool(paths) == (url is not None):
        raise click.UsageError("give files or folders, or --url for a Web service")
    found = gathered(paths, hidden=hidden)
    if settings.is_remote:
        refuse_owner(owner)
        from ibi.cli.remote_deposit import remote_deposit

        relations = {"edition_of": edition_of, "translation_of": translation_of, "describes": metadata_of}
        named = {name: str(read_label(label)) for name, label in relations.items() if label is not None}
        remote_deposit(settings, found, {"target": target, "url": url, **named}, given, key, as_json=as_json)
        return
    from ibi.cli.archive_store import account_named, opened_archive, who
    from ibi.cli.item_output import links, print_links, progress
    from ibi.model.item import Description, Draft, checked_target
    from ibi.services.items.file_selection import unread_files

    account = account_named(settings, owner)
    with opened_archive(settings, begin=True) as archive, progress("depositing", found.size) as on_bytes:
        edition, source, about = (
            None if label is None else archive.deposits.forms(read_label(label))
            for label in (edition_of, translation_of, metadata_of)
        )
        files = unread_files(found.sources)
        description = Description(
            target=checked_target(files, target, url),
            target_url=url,
            edition_of=edition,
            translation_of=source,
            describes=about,
        )
        new = Draft(description=description, files=files)
        item = archive.deposits.deposit(
            described(new, given), found.sources, who(), key=key, owner=account, on_bytes=on_bytes
        )
    print_links("; ".join(item.metadata.titles()), links(item, settings), as_json=as_json)
    warn_of_url(settings, item.target_url)


def warn_of_url(settings: Settings, url: str | None) -> None:
    """Report a Web service on a host that resolvers may ask readers to confirm. The item is deposited all the same."""
    from ibi.composition.membership import undeclared_host

    warning = None if url is None else undeclared_host(settings, settings.own_url, url)
    if warning is not None:
        click.echo(f"ibi: {warning}", err=True)


def check_draft(draft: str) -> None:
    """Raise UsageError unless the text is the id of a draft."""
    from ibi.model.draft import DRAFT_ID

    if DRAFT_ID.fullmatch(draft) is None:
        raise click.UsageError(f"{printable(draft[:80])} is no id of a draft; one looks like draft-v6ciiqd35hqdlhrn")


def refuse_owner(owner: str | None) -> None:
    """Raise UsageError for `--owner` with a server: a deposit with a token belongs to the token's account."""
    if owner is not None:
        raise click.UsageError(
            "through a server, items belong to the token's account: `ibi update --owner` gives one to another"
        )


def gathered(paths: tuple[Path, ...], *, hidden: bool) -> Gathered:
    """Return the files at these paths, and report the files that were left out."""
    from ibi.services.items.file_selection import gather

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


# --- update -----------------------------------------------------------------------------------------------------------


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
        names = without_alternates(new.alternates, alternates_removed)
        new = replace(new, description=replace(new.description, alternates=names))
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
    from ibi.model.item import Draft, checked_target
    from ibi.model.visibility import Visibility
    from ibi.services.items.file_selection import unread_files

    files, url = unread_files(sources), url or (None if sources else item.target_url)
    description = replace(
        item.description.without_relations(),
        target=checked_target(files, target or (item.target if item.target in sources else None), url),
        target_url=url,
        visibility=Visibility.PUBLIC if public else item.visibility,
    )
    return Draft(labels=item.labels, description=description, files=files)


# --- `ibi delete` -----------------------------------------------------------------------------------------------------


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--reason", metavar="TEXT", required=True, help="Why; this is public.")
@click.option("--replaced-by", metavar="IBI", help="The item that readers should look at instead.")
@click.option("--purge", is_flag=True, help="Remove earlier versions too, also of an item deleted before: for good.")
@as_json_option
@setting_options("data", "config", "server", "token")
def delete(
    label: str, reason: str, replaced_by: str | None, *, purge: bool, as_json: bool, **flags: str | None
) -> None:
    """Delete an item. Its label stays taken, and says from now on that the item is gone."""
    from ibi.cli.item_output import links, print_item
    from ibi.cli.options import read_label

    settings, this = settings_from(**flags), read_label(label)
    successor = None if replaced_by is None else read_label(replaced_by)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        record = records_client(settings).delete(this, reason, successor, purge=purge)
        if record.get("review") == "submitted":
            _print_request(record, this.spelling, as_json=as_json)
            return
        item = item_of(record, settings)
        found = links_of(record, item)
    else:
        from ibi.cli.archive_store import opened_archive, who

        with opened_archive(settings) as archive:
            item = archive.deposits.delete(this, reason, who(), replaced_by=successor, purge=purge)
        found = links(item, settings)
    if as_json:
        print_item(item, found, as_json=True)
    else:
        click.echo(f"{item.rep.spelling} is {'deleted, with all its versions' if purge else 'deleted'}.")


def _print_request(draft: dict[str, Any], label: str, *, as_json: bool) -> None:
    """Print a deletion that waits for a librarian."""
    from ibi.transport.api_client import one_line

    if as_json:
        print_json(draft)
        return
    click.echo(f"The deletion of {label} waits for a librarian. The item is unchanged until then.")
    click.echo(f"See what was said with: ibi review {one_line(str(draft.get('id')))}")
