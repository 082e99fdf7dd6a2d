"""The tables of the package: where they come from, and their shape."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibi
from ibi.items.model.metadata import Licence, ResourceType
from ibi.items.rules.licences import LicenceGroup, LicenceTerm, known_licences
from ibi.standard.package_data import read_table
from ibi.usage.model import ReferrerClass

PACKAGE = Path(ibi.__file__).parent
TABLES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.tsv"))


def rows(table: str) -> list[list[str]]:
    place = Path(table)
    return list(read_table(".".join(("ibi", *place.parent.parts)), place.name))


@pytest.mark.parametrize("table", TABLES)
def test_a_table_tells_its_source_and_every_row_has_the_columns_that_it_names(table: str) -> None:
    text = (PACKAGE / table).read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert text.splitlines()[: len(head)] == head
    assert any(line.startswith("# Source") for line in head)
    columns = head[-1].removeprefix("# Columns: ").split(", ")
    assert head[-1].startswith("# Columns: ")
    assert rows(table)
    for row in rows(table):
        assert len(row) == len(columns)
        assert all(value == value.strip() != "" for value in row)
    assert len({tuple(row) for row in rows(table)}) == len(rows(table))


def test_a_table_that_is_missing_is_named() -> None:
    with pytest.raises(FileNotFoundError):
        list(read_table("ibi.items", "missing.tsv"))


def test_spdx_identifiers_are_licences_and_contain_all_that_are_known_by_name() -> None:
    identifiers = [identifier for (identifier,) in rows("items/rules/spdx_identifiers.tsv")]
    assert [str(Licence(identifier)) for identifier in identifiers] == identifiers
    assert len({identifier.lower() for identifier in identifiers}) == len(identifiers) > 600
    assert {known.id for known in known_licences()} <= set(identifiers)


def test_known_licences_have_terms_and_groups_that_pages_have_words_for() -> None:
    for _, _, url, terms, group in rows("items/rules/known_licences.tsv"):
        assert url.startswith("https://")
        assert set(terms.split(", ")) <= {each.value for each in LicenceTerm}
        assert group in {each.value for each in LicenceGroup}


def test_item_types_stand_in_groups_that_begin_with_one() -> None:
    before = ("", -1)
    for kind, depth, *_ in rows("items/model/item_types.tsv"):
        assert kind in {each.value for each in ResourceType}
        assert 0 <= int(depth) <= before[1] + 1
        assert kind == before[0] or depth == "0"
        before = (kind, int(depth))


def test_a_referrer_host_has_one_class_and_is_in_small_letters() -> None:
    table = rows("usage/rules/referrer_hosts.tsv")
    assert {ReferrerClass(name) for name, _ in table} == {
        ReferrerClass.SCHOLARLY,
        ReferrerClass.SOCIAL,
        ReferrerClass.SEARCH,
    }
    hosts = {host for _, host in table}
    assert len(hosts) == len(table)
    assert all(host == host.lower() and "." in host for host in hosts)
    # A host inside another one would make the class depend on the order.
    assert not [(host, other) for host in hosts for other in hosts if host.endswith(f".{other}")]


def test_words_of_robots_match_no_usual_browser() -> None:
    words = [word for (word,) in rows("usage/rules/newer_robots.tsv")]
    assert all(len(word) > 4 for word in words)
    assert not [word for word in words if word.lower() in "mozilla applewebkit chrome safari gecko firefox edge"]
