"""E77: which relations an Archive answers is its own choice, and who may list files its depositor's."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.deposits.cli.item_options import described
from ibi.items.model.item import Draft
from ibi.settings import load_settings
from ibi.settings.errors import SettingsError
from ibi.standard.relation import Relation

MANY = (
    "titles descriptions subjects dates publishers identifiers sources relations coverages formats rights creators"
    " contributors types allowed alternates"
)
NOTHING_GIVEN = {
    **dict.fromkeys(MANY.split(), ()),
    **dict.fromkeys(("language", "licence", "embargo", "embargo_reason", "listing", "metadata_file", "record_file")),
}


def test_relations_are_given_as_modifiers(tmp_path: Path) -> None:
    settings = load_settings({}, {"IBI_DATA": str(tmp_path), "IBI_ARCHIVE_RELATIONS": "! : !:(oai_dc)"})
    assert settings.archive.relations == frozenset(map(Relation.from_modifier, ("!", ":", "!:(oai_dc)")))
    assert settings.archive.follow_editions
    off = load_settings({}, {"IBI_DATA": str(tmp_path), "IBI_ARCHIVE_FOLLOW_EDITIONS": "false"})
    assert off.archive.relations is None
    assert not off.archive.follow_editions


@pytest.mark.parametrize("text", ["lastedition", "!!", "! " * 300])
def test_what_is_no_relation_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="IBI_ARCHIVE_RELATIONS"):
        load_settings({}, {"IBI_DATA": str(tmp_path), "IBI_ARCHIVE_RELATIONS": text})


@pytest.mark.parametrize("listing", [True, False])
def test_the_listing_of_files_is_a_flag(listing: bool) -> None:
    hidden = described(Draft(), {**NOTHING_GIVEN, "listing": False})
    assert not hidden.visibility.listing
    assert not described(hidden, NOTHING_GIVEN).visibility.listing
    assert described(hidden, {**NOTHING_GIVEN, "listing": listing}).visibility.listing is listing
