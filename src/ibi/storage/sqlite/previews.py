"""Rendered previews of files: a table of the catalogue's file, bounded in size, made anew from the files if lost.

Deposits wait while this writes. So each transaction writes one preview, or drops a few.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from ibi.label import RepositoryName
from ibi.model.preview import PreviewState, RenderedPreview
from ibi.storage.sqlite.catalog_part import CatalogPart

_MOST_BYTES: Final = 64 << 20
"""Of all previews, packed."""
_MOST_PREVIEWS: Final = 20_000
_ROW: Final = 200
"""Bytes of a preview beside its text."""
_GIVEN_UP: Final = 300
"""Seconds after which a process that began to render is taken to have ended."""
_MOST_DROPPED: Final = 8
"""Previews that one transaction drops."""
BEGIN_PREVIEWS: Final = """
    CREATE TABLE previews (
        digest TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        made_by INTEGER NOT NULL,
        begun INTEGER NOT NULL,
        is_done INTEGER NOT NULL,
        size INTEGER NOT NULL,
        rendered BLOB
    );
    CREATE INDEX previews_by_name ON previews (name);
    CREATE INDEX previews_by_age ON previews (begun, digest, size)
"""
_CLAIM: Final = """
    INSERT INTO previews VALUES (?, ?, ?, ?, 0, 0, NULL)
    ON CONFLICT (digest) DO UPDATE SET
        name = excluded.name, made_by = excluded.made_by, begun = excluded.begun,
        is_done = 0, size = 0, rendered = NULL
    WHERE previews.made_by <> excluded.made_by OR (NOT previews.is_done AND previews.begun < excluded.begun - ?)
"""
# Only what is still claimed: the item may have lost the file meanwhile, with all that was made of it.
_KEEP: Final = "UPDATE previews SET begun = ?, is_done = 1, size = ?, rendered = ? WHERE digest = ? AND made_by = ?"
_OLDEST: Final = """
    SELECT digest FROM (
        SELECT digest, sum(size + ?) OVER newest AS bytes, row_number() OVER newest AS place FROM previews
        WINDOW newest AS (ORDER BY begun DESC, digest DESC ROWS UNBOUNDED PRECEDING)
    ) WHERE bytes > ? OR place > ?
"""


class SqlitePreviews(CatalogPart):
    """The port `PreviewStore` on one data directory."""

    def __init__(self, data: Path, made_by: int, most_bytes: int = _MOST_BYTES) -> None:
        """`made_by` tells what renders: what another one rendered is rendered again."""
        super().__init__(data)
        self._made_by, self._most_bytes = made_by, most_bytes

    def find(self, digest: str) -> RenderedPreview | None:
        with self._open() as connection:
            row = connection.execute(
                "SELECT is_done, rendered FROM previews WHERE digest = ? AND made_by = ?", (digest, self._made_by)
            ).fetchone()
        if row is None or not row[0]:
            return None
        if row[1] is None:
            return RenderedPreview(PreviewState.REFUSED)
        try:
            return RenderedPreview(PreviewState.RENDERED, zlib.decompress(row[1]).decode())
        except (zlib.error, UnicodeDecodeError):  # it was copied from a damaged file
            self._drop([digest])
            return None

    def claim(self, digest: str, name: RepositoryName, now: int) -> bool:
        with self._change() as connection:
            row = (digest, str(name), self._made_by, now, _GIVEN_UP)
            return bool(connection.execute(_CLAIM, row).rowcount > 0)

    def put(self, digest: str, rendered: str | None, now: int) -> None:
        packed = None if rendered is None else zlib.compress(rendered.encode(errors="replace"))
        size = 0 if packed is None else len(packed)
        with self._change() as connection:
            connection.execute(_KEEP, (now, size, packed, digest, self._made_by))
        with self._open() as connection:
            oldest = connection.execute(_OLDEST, (_ROW, self._most_bytes, _MOST_PREVIEWS)).fetchall()
        self._drop(digest for (digest,) in oldest)

    def release(self, digest: str) -> None:
        with self._change() as connection:
            connection.execute("DELETE FROM previews WHERE digest = ? AND NOT is_done", (digest,))

    def keep_only(self, name: RepositoryName, digests: Collection[str]) -> None:
        with self._open() as connection:
            kept = connection.execute("SELECT digest FROM previews WHERE name = ?", (str(name),)).fetchall()
        self._drop(digest for (digest,) in kept if digest.partition(":")[0] not in digests)

    def _drop(self, digests: Iterable[str]) -> None:
        """Drop these, some at a time."""
        rest = iter(digests)
        while rows := [(digest,) for digest in islice(rest, _MOST_DROPPED)]:
            with self._change() as connection:
                connection.executemany("DELETE FROM previews WHERE digest = ?", rows)
