"""`ibi relate`: editions, translations and metadata deposited before, or kept in another Archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option

if TYPE_CHECKING:
    from ibi.label import Label
    from ibi.languages import LanguageTag
    from ibi.model.item import Item
    from ibi.services.items.relating import Claim, Relating


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
    from ibi.cli.item_output import links, print_item
    from ibi.cli.options import read_label
    from ibi.languages import LanguageTag

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
    settings = settings_from(**flags)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        said = {kind: str(other)} | ({} if language is None else {"language": str(language)})
        record = records_client(settings).relate(this, said, undo=undo)
        item = item_of(record, settings)
        print_item(item, links_of(record, item), as_json=as_json)
        return
    from ibi.cli.archive_store import opened_archive

    with opened_archive(settings) as archive:
        if undo:
            item = _withdraw_relation(archive.relating, this, kind, other, language)
        else:
            item = _record_relation(archive.relating, this, kind, other, language)
    print_item(item, links(item, settings), as_json=as_json)


def _record_relation(relating: Relating, this: Label, kind: str, other: Label, language: LanguageTag | None) -> Item:
    from ibi.cli.archive_store import who

    if language is not None:
        return relating.record_translation(this, language, other, who())
    record = relating.record_metadata_item if kind == "metadata_item" else relating.record_next_edition
    return record(this, other, who())


def _withdraw_relation(relating: Relating, this: Label, kind: str, other: Label, language: LanguageTag | None) -> Item:
    from ibi.cli.archive_store import who

    if kind in ("edition_of", "translation_of", "describes"):
        return relating.withdraw_claim(this, cast("Claim", kind), other, who())
    if language is not None:
        return relating.withdraw_translation(this, language, other, who())
    withdraw = relating.withdraw_metadata_item if kind == "metadata_item" else relating.withdraw_next_edition
    return withdraw(this, other, who())
