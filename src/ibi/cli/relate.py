"""`ibi relate`: editions and translations that were deposited before, or are kept in another Archive."""

from __future__ import annotations

import click

from ibi.cli.options import setting_options, settings_from
from ibi.cli.output import as_json_option

__all__ = ["relate"]


@click.command()
@click.argument("label", metavar="LABEL")
@click.option("--next-edition", metavar="IBI", help="The item that is the edition after this one.")
@click.option("--translation", metavar="LANG IBI", nargs=2, help="A language, and the item that is the text in it.")
@click.option("--undo", is_flag=True, help="Withdraw what was said.")
@as_json_option
@setting_options("data", "config", "server", "token")
def relate(
    label: str,
    next_edition: str | None,
    translation: tuple[str, str] | None,
    *,
    undo: bool,
    as_json: bool,
    **flags: str | None,
) -> None:
    """Say which item is the next edition or a translation of this one, wherever it is kept."""
    from ibi.cli.item_output import links, print_item
    from ibi.label import parse
    from ibi.languages import LanguageTag

    settings, this = settings_from(**flags), parse(label)
    if (next_edition is None) == (translation is None):
        raise click.UsageError("give --next-edition IBI, or --translation LANG IBI")
    other = parse((next_edition or "") if translation is None else translation[1])
    language = None if translation is None else LanguageTag.parse(translation[0], registered=True)
    if settings.is_remote:
        from ibi.cli.remote_items import item_of, links_of, records_client

        kind = {"next_edition": str(other)} if language is None else {"translation": str(other)}
        said = kind if language is None else {**kind, "language": str(language)}
        record = records_client(settings).relate(this, said, undo=undo)
        item = item_of(record, settings)
        print_item(item, links_of(record, item), as_json=as_json)
        return
    from ibi.cli.archive_store import opened_archive, who

    with opened_archive(settings) as archive:
        relating = archive.relating
        if language is None:
            change = relating.withdraw_next_edition if undo else relating.record_next_edition
            item = change(this, other, who())
        else:
            say = relating.withdraw_translation if undo else relating.record_translation
            item = say(this, language, other, who())
    print_item(item, links(item, settings), as_json=as_json)
