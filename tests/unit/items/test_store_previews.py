"""Rendered previews in SQLite: claimed by one, bounded, and gone with the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.items.model.preview import PreviewState, RenderedPreview
from ibi.items.ports.previews import PreviewStore
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import CatalogDamaged

NAME, OTHER = RepositoryName.parse("lab.br/arq/2009/07.21.14.43"), RepositoryName.parse("lab.br/arq/2010/07.21.14.43")
NOW = 1_800_000_000
_: type[PreviewStore] = SqlitePreviews


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlitePreviews]:
    with closing(SqlitePreviews(tmp_path, 1)) as made:
        yield made


def keep(store: SqlitePreviews, digest: str, rendered: str | None, now: int = NOW) -> None:
    assert store.claim(digest, NAME, now)
    store.put(digest, rendered, now)


def test_a_preview_is_found_once_it_was_rendered_also_after_a_restart(store: SqlitePreviews, tmp_path: Path) -> None:
    assert store.find("a") is None
    assert store.claim("a", NAME, NOW)
    assert store.find("a") is None
    store.put("a", "<p>é</p>", NOW)
    keep(store, "b", None)
    with closing(SqlitePreviews(tmp_path, 1)) as again:
        assert again.find("a") == RenderedPreview(PreviewState.RENDERED, "<p>é</p>")
        assert again.find("b") == RenderedPreview(PreviewState.REFUSED)


def test_a_content_is_claimed_by_one_process_until_it_gives_up(store: SqlitePreviews, tmp_path: Path) -> None:
    with closing(SqlitePreviews(tmp_path, 1)) as other:
        assert store.claim("a", NAME, NOW)
        assert not other.claim("a", NAME, NOW)
        assert not other.claim("a", OTHER, NOW + 300)
        assert other.claim("a", OTHER, NOW + 301)
        other.release("a")
        assert store.claim("a", NAME, NOW)
        store.put("a", "x", NOW)
        assert not other.claim("a", NAME, NOW + 10_000)
        store.release("a")
        assert other.find("a") == RenderedPreview(PreviewState.RENDERED, "x")


def test_a_preview_that_another_version_rendered_is_rendered_again(store: SqlitePreviews, tmp_path: Path) -> None:
    keep(store, "a", "old")
    with closing(SqlitePreviews(tmp_path, 2)) as newer:
        assert newer.find("a") is None
        assert newer.claim("a", NAME, NOW)
        newer.put("a", "new", NOW)
        assert newer.find("a") == RenderedPreview(PreviewState.RENDERED, "new")
    assert store.find("a") is None


def test_previews_go_with_the_files_of_the_item(store: SqlitePreviews) -> None:
    for digest in ("a", "b", "a:iso-8859-1", "b:windows-1251"):
        keep(store, digest, digest)
    assert store.claim("c", OTHER, NOW)
    store.keep_only(NAME, {"b"})
    assert store.find("a:iso-8859-1") is None
    assert store.find("b:windows-1251") == RenderedPreview(PreviewState.RENDERED, "b:windows-1251")
    assert (store.find("a"), store.find("b")) == (None, RenderedPreview(PreviewState.RENDERED, "b"))
    store.keep_only(OTHER, ())
    store.put("c", "late", NOW)
    assert store.find("c") is None


def test_the_newest_previews_are_kept_within_a_bound(tmp_path: Path) -> None:
    with closing(SqlitePreviews(tmp_path, 1, most_bytes=2_500)) as store:
        for number in range(30):
            keep(store, str(number), None if number % 2 else "x", NOW + number)
        found = [number for number in range(30) if store.find(str(number)) is not None]
        assert found == list(range(found[0], 30))
        assert 9 <= len(found) <= 12


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalogue.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(CatalogDamaged):
        SqlitePreviews(tmp_path, 1)
