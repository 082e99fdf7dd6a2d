"""`ibi relate`: editions and translations that were deposited before, or are kept in another Archive."""

from __future__ import annotations

import click

from ibi.cli.options import setting_options
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
    from ibi.cli.archive_store import local_settings, opened_archive, who
    from ibi.cli.item_output import print_item
    from ibi.label import parse
    from ibi.languages import LanguageTag

    settings = local_settings(**flags)
    with opened_archive(settings) as archive:
        relating, this = archive.relating, parse(label)
        if next_edition is not None and translation is None:
            change = relating.withdraw_next_edition if undo else relating.record_next_edition
            item = change(this, parse(next_edition), who())
        elif translation is not None and next_edition is None:
            say = relating.withdraw_translation if undo else relating.record_translation
            item = say(this, LanguageTag.parse(translation[0], registered=True), parse(translation[1]), who())
        else:
            raise click.UsageError("give --next-edition IBI, or --translation LANG IBI")
    print_item(item, settings, as_json=as_json)
