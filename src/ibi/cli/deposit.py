"""`ibi deposit` makes an item with a label from files or a Web service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibi.cli.item_options import described, item_options
from ibi.cli.options import setting_options, settings_to_mint
from ibi.cli.output import as_json_option
from ibi.safe_text import printable

if TYPE_CHECKING:
    from ibi.config import Settings
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
