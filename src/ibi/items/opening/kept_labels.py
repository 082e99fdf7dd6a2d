"""The newest label in a data directory, for a minter that has lost its own record of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from ibi.items.opening.archive_store import CATALOGUE, STORE
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.generation_file import GenerationFile
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.errors import InvalidLabel
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StorageError


def newest_kept(data: Path, identity: Identity) -> Instant | None:
    """Return the newest date of a label in a data directory under the prefixes of an identity.

    A directory without a store has none, and no store is created. If the catalogue does not agree with the store, the
    names in the store are read.
    """
    if not (data / STORE).is_dir():
        return None
    if (data / CATALOGUE).exists():
        with suppress(StorageError), ExitStack() as opened:
            generation = opened.enter_context(closing(GenerationFile(data / STORE)))
            catalog = opened.enter_context(closing(SqliteCatalog(data / CATALOGUE, generation)))
            if catalog.agrees():
                return catalog.newest(identity.prefixes)
    with closing(OcflStore(data / STORE)) as store:
        return max(_dates(store.iterate(), identity), default=None)


def _dates(names: Iterable[str], identity: Identity) -> Iterator[Instant]:
    for name in names:
        with suppress(InvalidLabel):
            label = RepositoryName.parse(name)
            if label.prefix in identity.prefixes:
                yield label.instant
