"""Rendered previews of files: a table in the catalogue's file, limited in size, and rendered again if it is lost.

Deposits wait for its writes. So each transaction writes one preview, or deletes a few.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from ibi.items.model.preview import PreviewState, RenderedPreview
from ibi.items.store.catalogue.part import CatalogPart
from ibi.standard.label import RepositoryName

_MOST_BYTES: Final = 64 << 20
"""Total bytes of compressed previews."""
_MOST_PREVIEWS: Final = 20_000
_ROW: Final = 200
"""Bytes of a preview's row without its text."""
_GIVEN_UP: Final = 300
"""Seconds after which a rendering process counts as dead."""
_MOST_DROPPED: Final = 8
"""Previews deleted in one transaction."""
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
# Only a row that is still claimed: the item may have lost the file meanwhile, with its row.
_KEEP: Final = "UPDATE previews SET begun = ?, is_done = 1, size = ?, rendered = ? WHERE digest = ? AND made_by = ?"
_OLDEST: Final = """
    SELECT digest FROM (
        SELECT digest, sum(size + ?) OVER newest AS bytes, row_number() OVER newest AS place FROM previews
        WINDOW newest AS (ORDER BY begun DESC, digest DESC ROWS UNBOUNDED PRECEDING)
    ) WHERE bytes > ? OR place > ?
"""


class SqlitePreviews(CatalogPart):
    """Implements the port `PreviewStore` on one data directory."""

    def __init__(self, data: Path, made_by: int, most_bytes: int = _MOST_BYTES) -> None:
        """`made_by` is the version of the renderer. Previews of other versions are rendered again."""
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
        except (zlib.error, UnicodeDecodeError):  # copied from a damaged file
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
        """Delete these, a few per transaction."""
        rest = iter(digests)
        while rows := [(digest,) for digest in islice(rest, _MOST_DROPPED)]:
            with self._change() as connection:
                connection.executemany("DELETE FROM previews WHERE digest = ?", rows)
