"""`ibi deposit` makes an item with a label from files or a Web service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ibi.command.options import setting_options, settings_to_mint
from ibi.command.output import as_json_option
from ibi.deposits.cli.depositing import NewDeposit, SubmittedItem, check_draft, depositing, gathered, print_submitted
from ibi.deposits.cli.item_options import item_options

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
    from ibi.command.item_output import print_deposited
    from ibi.command.options import read_label

    settings = settings_to_mint(**{name: given.pop(name) for name in WHERE})
    if draft is not None:
        check_draft(settings, draft, (*given.values(), url, target, edition_of, translation_of, metadata_of, owner))
        from ibi.deposits.cli.remote_deposit import RemoteDepositing

        done = RemoteDepositing(settings).continue_deposit(draft, gathered(paths, hidden=hidden), key)
    else:
        if bool(paths) == (url is not None):
            raise click.UsageError("give files or folders, or --url for a Web service")
        found = gathered(paths, hidden=hidden)
        named = {"edition_of": edition_of, "translation_of": translation_of, "describes": metadata_of}
        relations = {name: read_label(label) for name, label in named.items() if label is not None}
        done = depositing(settings).deposit(NewDeposit(found, given, target, url, relations, key, owner))
    if isinstance(done, SubmittedItem):
        print_submitted(done, as_json=as_json)
    else:
        print_deposited(done, as_json=as_json)
