"""`ibi review`: drafts that wait for review on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json

if TYPE_CHECKING:
    from ibi.command.api_clients import RecordsClient
    from ibi.deposits.resources.reviews import ReviewResource


@click.command()
@click.argument("draft", metavar="[DRAFT]", required=False)
@click.option("--comment", metavar="TEXT", help="Say something about it; its depositor reads it.")
@click.option(
    "--return", "back", metavar="TEXT", help="Send it back to its depositor, or decline a deletion, with the reason."
)
@click.option("--publish", is_flag=True, help="Publish it, or delete the item whose deletion was asked for.")
@click.option("--withdraw", is_flag=True, help="Take it back, for its depositor.")
@as_json_option
@setting_options("server", "token")
def review(
    draft: str | None,
    *,
    comment: str | None,
    back: str | None,
    publish: bool,
    withdraw: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """List the drafts and deletions that wait for review on a server, the oldest first; or show what was said of DRAFT,
    or judge it."""
    from ibi.command.remote_items import records_client

    settings = settings_from(**flags)
    if not settings.is_remote:
        raise click.UsageError("drafts are reviewed on a server: give --server, and --token")
    acts = [each for each in (comment, back, publish or None, withdraw or None) if each is not None]
    if len(acts) > 1 or (acts and draft is None):
        raise click.UsageError("name one draft, and one thing to do with it")
    client = records_client(settings)
    if draft is None:
        for each in client.reviews():
            _print(each, as_json=as_json)
    elif publish:
        _print_item(client, draft, as_json=as_json)
    else:
        _print(_answer(client, draft, comment, back, withdraw=withdraw), as_json=as_json)


def _answer(
    client: RecordsClient, draft: str, comment: str | None, back: str | None, *, withdraw: bool
) -> ReviewResource:
    if comment is not None:
        return client.answer_review(draft, "comments", comment)
    if back is not None:
        return client.answer_review(draft, "return", back)
    return client.answer_review(draft, "withdraw", "") if withdraw else client.review(draft)


def _print_item(client: RecordsClient, draft: str, *, as_json: bool) -> None:
    from ibi.net.api_client import one_line

    published = client.publish(draft)
    if as_json:
        print_json(published)
    elif published.get("state") == "Deleted":
        click.echo(f"{one_line(str(published.get('rep')))} is deleted.")
    elif published.get("review") == "submitted":
        click.echo(f"{one_line(draft)} waits for a librarian: this token may not publish it.")
    else:
        click.echo(one_line(str(published.get("persistent_url"))))


def _print(found: ReviewResource, *, as_json: bool) -> None:
    from ibi.net.api_client import one_line

    if as_json:
        print_json(members_of(found))
        return
    said = [one_line(each) for each in (found.id, found.state, found.submitted, found.depositor, found.title)]
    asked = ["delete"] if found.deletes else []
    click.echo("  ".join((*said, *asked)))
    for entry in found.entries or ():
        text = one_line(entry.text)
        click.echo(f"  {entry.at}  {one_line(entry.name)} {entry.act}{': ' * bool(text)}{text}")
