"""`ibi relate` records editions, translations and metadata of items, here or in another Archive. `ibi claims` lists and
answers claims on items of other owners, here and at other Archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, members_of, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ibi.command.items import AnyClaim
    from ibi.standard.label import Label


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--next-edition", metavar="IBI", help="The item that is the edition after this one.")
@click.option("--translation", metavar="LANG IBI", nargs=2, help="A language, and the item that is the text in it.")
@click.option("--metadata", metavar="IBI", help="The item that is the metadata of this one.")
@click.option("--edition-of", metavar="IBI", help="With --undo: it is no longer the edition after that item.")
@click.option("--translation-of", metavar="IBI", help="With --undo: it no longer translates that item.")
@click.option("--metadata-of", metavar="IBI", help="With --undo: it is no longer the metadata of that item.")
@click.option("--undo", is_flag=True, help="Withdraw what was said.")
@as_json_option
@setting_options("data", "config", "server", "token")
def relate(
    label: str,
    next_edition: str | None,
    translation: tuple[str, str] | None,
    metadata: str | None,
    edition_of: str | None,
    translation_of: str | None,
    metadata_of: str | None,
    *,
    undo: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Say which item is the next edition, a translation or the metadata of this one, wherever it is kept."""
    from ibi.command.item_output import print_item
    from ibi.command.items import SaidRelation, item_changes
    from ibi.command.options import read_label
    from ibi.standard.languages import LanguageTag

    this = read_label(label)
    text = None if translation is None else translation[1]
    given = {"next_edition": next_edition, "translation": text, "metadata_item": metadata}
    claims = {"edition_of": edition_of, "translation_of": translation_of, "describes": metadata_of}
    named = [(kind, name) for kind, name in {**given, **claims}.items() if name is not None]
    if len(named) != 1:
        raise click.UsageError("give --next-edition IBI, --translation LANG IBI, or --metadata IBI")
    if named[0][0] in claims and not undo:
        raise click.UsageError("what an item says of another is said when it is deposited, and withdrawn by --undo")
    kind, other = named[0][0], read_label(named[0][1])
    language = None if translation is None else LanguageTag.parse(translation[0], registered=True)
    said = SaidRelation(kind, other, language)
    found = item_changes(settings_from(**flags)).relate(this, said, undo=undo)
    print_item(found.item, found.links, as_json=as_json)


@click.command()
@click.argument("label", metavar="[LABEL", required=False)
@click.argument("claimant", metavar="CLAIMANT]", required=False)
@click.option("--accept", is_flag=True, help="Let LABEL name CLAIMANT, as CLAIMANT says.")
@click.option("--decline", is_flag=True, help="Let LABEL not name CLAIMANT; it can still be accepted later.")
@click.option("--network", is_flag=True, help="With --decline: decline all that wait from the same network, too.")
@click.option("--declined", is_flag=True, help="List the claims that were declined.")
@click.option("--accepted", is_flag=True, help="List the claims that were accepted.")
@as_json_option
@setting_options("data", "config", "server", "token")
def claims(
    label: str | None,
    claimant: str | None,
    *,
    accept: bool,
    decline: bool,
    network: bool,
    declined: bool,
    accepted: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """List the claims that wait for an answer, or answer one: an edition, a translation or metadata of an item that
    belongs to another account or is kept by another Archive, or a review."""
    from ibi.command.item_output import print_item
    from ibi.command.items import item_changes
    from ibi.command.options import read_label

    _refuse_contradiction(accept=accept, decline=decline, network=network, declined=declined, accepted=accepted)
    changes = item_changes(settings_from(**flags))
    if not (accept or decline):
        if label is not None:
            raise click.UsageError("say what becomes of the claim: --accept or --decline")
        state = "declined" if declined else "accepted" if accepted else "pending"
        _print(changes.claims(state), as_json=as_json)
        return
    if label is None or claimant is None or declined or accepted:
        raise click.UsageError("name the item and its claimant: ibi claims LABEL CLAIMANT --accept")
    word = "accept" if accept else "decline-network" if network else "decline"
    found = changes.answer_claim(read_label(label), _claimant(claimant), word)
    print_item(found.item, found.links, as_json=as_json)


def _refuse_contradiction(*, accept: bool, decline: bool, network: bool, declined: bool, accepted: bool) -> None:
    if network and not decline:
        raise click.UsageError("--network goes with --decline")
    if (accept and decline) or (accepted and declined):
        raise click.UsageError("give --accept or --decline" if accept else "give --accepted or --declined")


def _claimant(text: str) -> Label | str:
    """Return the label of an item, or any other address."""
    from ibi.command.options import read_label
    from ibi.standard.errors import InvalidInput

    try:
        return read_label(text)
    except InvalidInput:
        if "://" in text:
            return text
        raise


def _print(found: Iterable[AnyClaim], *, as_json: bool) -> None:
    from ibi.standard.safe_text import printable

    for claim in found:
        if as_json:
            print_json({**members_of(claim), **_direction(claim)})
        else:
            click.echo(printable(_words(claim)))


def _direction(claim: AnyClaim) -> dict[str, str]:
    from ibi.claims.resources import ReceivedClaimResource, SentClaimResource

    match claim:
        case ReceivedClaimResource():
            return {"direction": "received"}
        case SentClaimResource():
            return {"direction": "sent"}
    return {}


def _words(claim: AnyClaim) -> str:
    from ibi.claims.resources import ReceivedClaimResource, SentClaimResource

    match claim:
        case ReceivedClaimResource():
            said = f"{claim.claimant} ({claim.archive}) says {claim.relation}"
            checked = f"{claim.check}{_because(claim.reason)}"
            return f"{said} {claim.item} ({_owner(claim.item_owner)}): {checked}"
        case SentClaimResource():
            said = f"{claim.claimant} ({_owner(claim.claimant_owner)}) says {claim.relation}"
            return f"{said} {claim.item} (elsewhere): {claim.delivery}{_because(claim.reason)}"
    claimant, item = (
        f"{claim.claimant} ({_owner(claim.claimant_owner)})",
        f"{claim.item} ({_owner(claim.item_owner)})",
    )
    return f"{claimant} says {claim.relation} {item}"


def _because(reason: str | None) -> str:
    return "" if reason is None else f", {reason}"


def _owner(account: str | None) -> str:
    from ibi.people.model.account import shown_account

    return shown_account(account)
