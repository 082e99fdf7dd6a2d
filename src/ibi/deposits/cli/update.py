"""`ibi update` adds a version to an item, which keeps its label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option
from ibi.deposits.cli.deposit import WHERE
from ibi.deposits.cli.depositing import ItemUpdate, SubmittedItem, check_draft, depositing, gathered, print_submitted
from ibi.deposits.cli.item_options import item_options


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
    from ibi.command.item_output import print_updated
    from ibi.command.options import read_label

    settings = settings_from(**{name: given.pop(name) for name in WHERE})
    _refuse_contradiction(paths, url, given, replaces=replaces, add=add, public=public)
    if draft is not None:
        said = (*given.values(), url, target, owner, *removed, *alternates_removed, replaces or None, public or None)
        check_draft(settings, draft, said)
        from ibi.deposits.cli.remote_deposit import RemoteDepositing

        remote = RemoteDepositing(settings)
        done = remote.continue_update(read_label(label), draft, gathered(paths, hidden=hidden), message)
    else:
        changed = (paths, removed, alternates_removed, public, url, target, *given.values())
        is_changed = any(changed) or given["listing"] is False
        if not is_changed and owner is None:
            raise click.UsageError("say what changes: give files or folders, or a flag such as --title")
        found, items, this = gathered(paths, hidden=hidden), depositing(settings), read_label(label)
        if owner is not None:
            done = items.give(this, owner)
        if is_changed:
            keeps = url is None and not replaces
            changes = ItemUpdate(
                found, given, target, url, removed, alternates_removed, message, keeps=keeps, public=public
            )
            done = items.update(this, changes)
    if isinstance(done, SubmittedItem):
        print_submitted(done, as_json=as_json)
    else:
        print_updated(done, as_json=as_json)


def _refuse_contradiction(
    paths: tuple[Path, ...], url: str | None, given: dict[str, Any], *, replaces: bool, add: bool, public: bool
) -> None:
    if paths and url is not None:
        raise click.UsageError("give files or folders, or --url for a Web service")
    if public and (given["embargo"] is not None or given["embargo_reason"] is not None or given["allowed"]):
        raise click.UsageError("--public ends what --embargo and --allow begin: give one of them")
    if add and replaces:
        raise click.UsageError("--add keeps the files that --replace takes away")
    if replaces and not paths:
        raise click.UsageError("--replace needs the files that take the place of the others")
