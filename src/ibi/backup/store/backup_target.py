"""Targets for backups: a folder, or a bucket of an object store with the S3 protocol.

In a folder, files are written in `incoming/` and renamed once their content is durable. So a file under its final name
is complete, even after a power failure. Many files share one sync. `lock` is held exclusively while a backup is
written, and shared while one is read.

A bucket stores an object completely or not at all, and confirms it. Small objects are sent in parallel.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ibi.backup.model.backup import CHUNK
from ibi.backup.ports import BackupIncomplete, BackupRefused, BackupTarget
from ibi.standard.errors import ErrorKind
from ibi.standard.storage_errors import StorageError
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory, sync_file_system

if TYPE_CHECKING:
    from obstore.store import S3Store

_INCOMING: Final = "incoming"
_LOCK: Final = "lock"
_MOST_FILES: Final = 512
_MOST_BYTES: Final = 1 << 27
"""Maximum bytes in `incoming/` for one sync."""
S3: Final = "s3://"


class S3Missing(StorageError):
    """To reach {place}, this software needs a package that is not installed: install it as `ibi[s3]`."""

    code = "s3-missing"
    kind = ErrorKind.INTERNAL


class BucketRefused(StorageError):
    """{place} could not be used: {reason}. Address, region and credentials come from the variables AWS_ENDPOINT_URL,
    AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's own role."""

    code = "bucket-refused"
    kind = ErrorKind.INTERNAL


def open_target(place: str, environment: Mapping[str, str], *, writing: bool) -> BackupTarget:
    """Return the target that a person names: a path, or `s3://bucket/prefix`."""
    if place.startswith(S3):
        return BucketTarget(place, environment)
    return FolderTarget(Path(place), writing=writing)


class FolderTarget:
    """Implements the port `BackupTarget` in a folder, which only its owner may read because it holds keys."""

    parallel = 1

    def __init__(self, folder: Path, *, writing: bool) -> None:
        self._folder = folder.absolute()
        self._incoming = self._folder / _INCOMING
        self._pending: list[tuple[Path, str]] = []
        self._pending_bytes = self._written = 0
        self._made: set[Path] = set()
        self._touched: set[Path] = set()
        with refusals(DiskRefused, folder):
            if writing and not self._folder.exists():
                make_directory(self._folder.parent)
                self._folder.mkdir(mode=0o700)
                sync_directory(self._folder.parent)
            self._descriptor = self._open(writing=writing)
            self._lock = self._hold(writing=writing)
            if writing:
                shutil.rmtree(self._incoming, ignore_errors=True)  # of a backup that was interrupted

    @property
    def place(self) -> str:
        return str(self._folder)

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        with refusals(DiskRefused, self._folder):
            yield from self._below(str(self._folder / prefix) if prefix else str(self._folder), prefix)

    def put(self, key: str, size: int, pieces: Iterator[bytes]) -> None:
        partial = self._incoming / f"{len(self._pending)}-{secrets.token_hex(4)}"
        with refusals(DiskRefused, self._folder):
            self._incoming.mkdir(mode=0o700, exist_ok=True)
            try:
                descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    for piece in pieces:
                        file.write(piece)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            self._pending.append((partial, key))
            self._pending_bytes += size
            if len(self._pending) >= _MOST_FILES or self._pending_bytes >= _MOST_BYTES:
                self._bring_in()

    def settle(self) -> None:
        with refusals(DiskRefused, self._folder):
            self._bring_in()
            if self._touched and not sync_file_system(self._descriptor):
                for folder in self._touched:
                    sync_directory(folder)
            self._touched.clear()

    def read(self, key: str) -> Iterator[bytes]:
        try:
            with (self._folder / key).open("rb", buffering=0) as file:
                while piece := file.read(CHUNK):
                    yield piece
        except OSError as error:
            raise_if_exhausted(error)
            if isinstance(error, PermissionError):  # no damage
                raise DiskRefused(path=self._folder / key, reason=error.strerror) from error
            raise BackupIncomplete(place=self.place, key=key, reason=error.strerror or str(error)) from error

    def delete(self, keys: Iterable[str]) -> None:
        with refusals(DiskRefused, self._folder):
            for key in keys:
                path = self._folder / key
                path.unlink(missing_ok=True)
                with suppress(OSError):
                    for folder in path.relative_to(self._folder).parents:
                        if folder.parts:
                            (self._folder / folder).rmdir()
                self._made.clear()

    def close(self) -> None:
        for partial, _ in self._pending:
            partial.unlink(missing_ok=True)
        with suppress(OSError):
            self._incoming.rmdir()
        os.close(self._lock)
        os.close(self._descriptor)

    def _open(self, *, writing: bool) -> int:
        try:
            return os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            reason = "it is not a folder" if writing else "there is no such folder, and no backup there"
            raise BackupRefused(place=str(self._folder), reason=reason) from None

    def _hold(self, *, writing: bool) -> int:
        """Lock the folder. A read-only disk may have a backup too: without a lock file, there is nothing to wait
        for."""
        path = self._folder / _LOCK
        if writing:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        elif path.exists():
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        else:
            return os.dup(self._descriptor)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if writing else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            reason = "another process writes or reads this backup; try again when it is done"
            raise BackupRefused(place=self.place, reason=reason) from None
        return descriptor

    def _below(self, folder: str, prefix: str) -> Iterator[tuple[str, int]]:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        for entry in found:
            key = f"{prefix.rstrip('/')}/{entry.name}" if prefix else entry.name
            if key in (_INCOMING, _LOCK):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._below(entry.path, key)
            else:
                yield key, entry.stat(follow_symlinks=False).st_size

    def _bring_in(self) -> None:
        """Sync the pending files and give them their names."""
        if not self._pending:
            return
        if not sync_file_system(self._descriptor):
            for partial, _ in self._pending:
                with partial.open("rb") as file:
                    os.fsync(file.fileno())
        while self._pending:
            partial, key = self._pending[-1]
            target = self._folder / key
            self._make(target.parent)
            partial.rename(target)
            self._touched.add(target.parent)
            self._pending.pop()
        self._pending_bytes = 0

    def _make(self, folder: Path) -> None:
        if folder in self._made or folder == self._folder:
            return
        self._make(folder.parent)
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            self._touched.add(folder.parent)
        self._made.add(folder)


_PATIENCE: Final = "60s"
_SMALL: Final = CHUNK
"""Maximum bytes of an object that is sent from memory, beside others."""
_PART: Final = 8 << 20
_MOST_PARTS: Final = 9000
"""A bucket accepts at most 10,000 parts per object."""
_WORKERS: Final = 8
_MOST_DELETED: Final = 1000


class BucketTarget:
    """Implements the port `BackupTarget` in a bucket, below a prefix."""

    parallel = _WORKERS

    def __init__(self, place: str, environment: Mapping[str, str]) -> None:
        try:
            import obstore
        except ImportError:
            raise S3Missing(place=place) from None
        self._obstore, self._place = obstore, place
        bucket, _, prefix = place.removeprefix(S3).partition("/")
        if not bucket:
            raise BucketRefused(place=place, reason="it names no bucket: s3://BUCKET/PREFIX")
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="s3")
        self._sent: list[Future[object]] = []
        with self._refusals():
            self._store = _open_bucket(bucket, prefix.strip("/"), environment)

    @property
    def place(self) -> str:
        return self._place

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        with self._refusals():
            for batch in self._obstore.list(self._store, prefix=prefix or None):
                for found in batch:
                    yield str(found["path"]), int(found["size"])

    def put(self, key: str, size: int, pieces: Iterator[bytes]) -> None:
        with self._refusals():
            if size > _SMALL:
                part = max(_PART, -(-size // _MOST_PARTS))
                self._obstore.put(self._store, key, pieces, chunk_size=part, max_concurrency=2)
                return
            content = b"".join(pieces)
            if len(self._sent) >= 4 * _WORKERS:
                self._sent.pop(0).result()
            self._sent.append(self._pool.submit(self._obstore.put, self._store, key, content))

    def settle(self) -> None:
        with self._refusals():
            while self._sent:
                self._sent.pop(0).result()

    def read(self, key: str) -> Iterator[bytes]:
        try:
            with self._refusals():
                for piece in self._obstore.get(self._store, key).stream(min_chunk_size=CHUNK):
                    yield bytes(piece)
        except FileNotFoundError as error:
            raise BackupIncomplete(place=self._place, key=key, reason="it is missing") from error

    def delete(self, keys: Iterable[str]) -> None:
        waiting = list(keys)
        with self._refusals():
            for start in range(0, len(waiting), _MOST_DELETED):
                with suppress(FileNotFoundError):
                    self._obstore.delete(self._store, waiting[start : start + _MOST_DELETED])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raise the library's errors as `BucketRefused`, except for a missing object, which callers handle."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (self._obstore.exceptions.BaseError, ValueError, OSError) as error:
            raise BucketRefused(place=self._place, reason=_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error, without debug information and repeated answers of the service."""
    text = str(error).split("\n\nDebug source")[0]
    return " ".join(text.split())[:300].rstrip(" .")


def _open_bucket(bucket: str, prefix: str, environment: Mapping[str, str]) -> S3Store:
    from datetime import timedelta

    from obstore.store import S3Store

    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=region,
        config={} if endpoint is None else {"endpoint": endpoint},
        client_options={"allow_http": True, "timeout": _PATIENCE},
        retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=60)},
    )
