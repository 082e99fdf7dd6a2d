"""A file of an item: its name under `doc/`, its size, digest and type.

The files of an item are decoded on demand. A reader wants one of ten thousand, or a page of them, and decoding all
takes two hundred milliseconds, during which all other requests wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, overload
from unicodedata import normalize

import msgspec

from ibi.standard.document_errors import InvalidDocument, InvalidFileName, InvalidItem
from ibi.standard.errors import InvalidInput

DEFAULT_MEDIA_TYPE = "application/octet-stream"
MOST_BYTES: Final = (1 << 63) - 1
"""Most bytes of one file: the range of file systems and databases."""
UNKNOWN_SHA_512 = "0" * 128
"""Stands for the digest of a file that was not read yet."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHA_512 = re.compile("[0-9a-f]{128}")
_CRC_32 = re.compile("[0-9a-f]{8}")
# RFC 6838 §4.2: restricted-name; parameters such as charset may follow
_KIND = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_KEPT_TYPE = re.compile(rf"{_KIND}(?:; ?[ -~]{{1,200}})?")
"""The types that records may hold: those of earlier versions have anything after a semicolon."""
# RFC 9110 §5.6.6, without commas and backslashes: for some programs they end a quoted value
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MEDIA_TYPE = re.compile(rf"{_KIND}(?:; ?{_WORD}=(?:{_WORD}|\"[ !#-+\--\[\]-~]*\"))*")
_LONGEST_TYPE = 400


def checked_path(path: str) -> str:
    """Return `path`, if it is relative, stays below its starting place, and is text: every store needs that.

    `ibi.items.model.file` refuses names that other systems could not store, when something is deposited.
    """
    if path.startswith("/"):
        raise InvalidFileName(path, 0, "a name does not begin with a slash")
    if "\\" in path:
        raise InvalidFileName(path, path.index("\\"), "folders are told apart by a slash, not by a backslash")
    control = _CONTROL.search(path)
    if control is not None:
        raise InvalidFileName(path, control.start(), "it holds a character that cannot be shown")
    if _SURROGATE.search(path):
        raise InvalidFileName(path, 0, "it is no text: its bytes are not UTF-8")
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise InvalidFileName(path, 0, "no part of it may be empty, nor a dot or two alone")
    return path


def comparable_path(path: str) -> str:
    """Return the form that two spellings of one name share: composed characters (NFC)."""
    return path if path.isascii() else normalize("NFC", path)


def is_media_type(text: str) -> bool:
    """Return whether all programs read the same type in it: if a header has two, browsers use the last."""
    return len(text) <= _LONGEST_TYPE and _MEDIA_TYPE.fullmatch(text) is not None


def checked_media_type(text: str) -> str:
    """Return `text`, if it is acceptable as the type of a file."""
    if not is_media_type(text) or not _KEPT_TYPE.fullmatch(text):
        reason = "a media type looks like application/pdf or text/csv; charset=utf-8, without a comma"
        raise InvalidItem(text, 0, reason, field="media_type")
    return text


@dataclass(frozen=True, slots=True)
class File:
    """One file. `path` is relative to `doc/`; the digest is SHA-512 in lower-case hexadecimal digits, as in OCFL.

    `crc32` is that of ZIP, eight such digits; it is unknown for files from earlier versions.
    """

    path: str
    size: int
    sha512: str
    media_type: str = DEFAULT_MEDIA_TYPE
    crc32: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checked_path(self.path)
        if self.size < 0:
            raise InvalidItem(self.path, 0, "a file has no less than no bytes", field="size")
        if self.size > MOST_BYTES:
            raise InvalidItem(self.path, 0, "no file has so many bytes", field="size")
        if not _SHA_512.fullmatch(self.sha512):
            raise InvalidItem(self.sha512, 0, "a digest has 128 hexadecimal digits in lower case", field="sha512")
        if not _KEPT_TYPE.fullmatch(self.media_type):
            raise InvalidItem(self.media_type, 0, "a media type looks like application/pdf", field="media_type")
        if self.crc32 is not None and not _CRC_32.fullmatch(self.crc32):
            raise InvalidItem(self.crc32, 0, "a CRC-32 has 8 hexadecimal digits in lower case", field="crc32")


class _Recorded(msgspec.Struct, frozen=True):
    """One recorded file. Members of later versions are ignored."""

    path: str
    size: int
    sha512: str
    media_type: str
    crc32: str | None = None


class _Named(msgspec.Struct, frozen=True):
    path: str


_EACH: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ONE: Final = msgspec.json.Decoder(_Recorded)
_NAMES: Final = msgspec.json.Decoder(list[_Named])
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class RecordedFiles(Sequence[File]):
    """The files of an item's record, equal to the tuple of the same files.

    They are sorted and their paths are unique, because they are already an item's. An error in a file is found when
    that file is read, and raises `InvalidDocument`.
    """

    __slots__ = ("_each", "_record")

    def __init__(self, record: msgspec.Raw) -> None:
        """Take `record`, the member `files` of an `item.json`."""
        self._record = record
        try:
            self._each = _EACH.decode(record)
        except msgspec.MsgspecError as error:
            raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error

    @property
    def size(self) -> int:
        """Bytes of the record."""
        return memoryview(self._record).nbytes

    @property
    def paths(self) -> list[str]:
        """The paths of all files in order, without decoding the rest."""
        try:
            return [named.path for named in _NAMES.decode(self._record)]
        except msgspec.MsgspecError as error:
            raise InvalidDocument("item.json.files", 0, "{cause}", cause=str(error)) from error

    def __len__(self) -> int:
        return len(self._each)

    @overload
    def __getitem__(self, index: int) -> File: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[File, ...]: ...

    def __getitem__(self, index: int | slice) -> File | tuple[File, ...]:
        if isinstance(index, slice):
            return tuple(map(_file, self._each[index]))
        return _file(self._each[index])

    def __iter__(self) -> Iterator[File]:
        return map(_file, self._each)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RecordedFiles):
            return bytes(self._record) == bytes(other._record) or tuple(self) == tuple(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"RecordedFiles({len(self)} files)"


def without_files(item_json: bytes) -> tuple[bytes, RecordedFiles | None]:
    """Return a record without its files, and the files; None if it has none."""
    try:
        members = _MEMBERS.decode(item_json)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error
    files = members.pop("files", None)
    return msgspec.json.encode(members), None if files is None else RecordedFiles(files)


def _file(record: msgspec.Raw) -> File:
    try:
        one = _ONE.decode(record)
        return File(one.path, one.size, one.sha512, one.media_type, one.crc32)
    except (msgspec.MsgspecError, InvalidInput) as error:
        raise InvalidDocument("item.json.files", 0, "{cause}", cause=str(error)) from error


# A deposit with one bad name is refused, and the message names the file. Nothing is renamed, because links point to
# names.

MAX_SEGMENT: Final = 255
"""Bytes of UTF-8 between two slashes: the limit of ext4, XFS, APFS and S3 gateways."""
MAX_PATH: Final = 1024
"""Bytes of the whole path, which appears in a URL and in an OCFL inventory."""

# Windows, "Naming Files, Paths, and Namespaces": reserved characters and device names, with any extension
_WINDOWS_CHARACTERS = re.compile(r'[<>:"|?*]')
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])[ ]*(?:\..*)?", re.IGNORECASE | re.DOTALL
)

# Unicode that is invisible, or that reverses the reading direction, so that a name seems to end differently.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc]")


def collision_key(path: str) -> str:
    """Return a key that is equal for two names that some file system treats as one: NFC, case-folded."""
    if path.isascii():
        return path.lower()
    return normalize("NFC", normalize("NFC", path).casefold())


def check_file_name(path: str) -> str:
    """Return `path`, relative to `doc/`, if it can be stored; raise `InvalidFileName` with the reason if not."""
    checked_path(path)
    invisible = _INVISIBLE.search(path)
    if invisible is not None:
        raise InvalidFileName(path, invisible.start(), "it holds a character that is not seen")
    if len(path.encode()) > MAX_PATH:
        raise InvalidFileName(path, 0, "it is longer than {most} bytes", most=MAX_PATH)
    for segment in path.split("/"):
        _check_segment(path, segment)
    return path


def _check_segment(path: str, segment: str) -> None:
    if len(segment.encode()) > MAX_SEGMENT:
        raise InvalidFileName(path, 0, "a part of it is longer than {most} bytes", most=MAX_SEGMENT)
    if segment[-1] in ". " or segment[0] == " ":
        raise InvalidFileName(path, 0, "a part of it begins or ends with a blank, or ends with a dot")
    reserved = _WINDOWS_CHARACTERS.search(segment)
    if reserved is not None:
        raise InvalidFileName(path, path.index(reserved[0]), "{sign} is not possible on Windows", sign=reserved[0])
    if _DEVICE.fullmatch(segment):
        raise InvalidFileName(path, 0, "{part} is a device on Windows", part=segment)


def check_file_names(paths: Iterable[str]) -> None:
    """Raise `InvalidFileName` for a bad name or a conflict.

    Two names conflict if they are one on some system, or if a file has the name of a folder.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        key = collision_key(check_file_name(path))
        if key in files:
            raise InvalidFileName(path, 0, "{other} is the same name to many systems", other=files[key])
        files[key] = path
        for folder in folders_of(key):
            folders.setdefault(folder, path)
        _check_folder_spelling(path, folders)
    for key, path in files.items():
        if key in folders:
            raise InvalidFileName(path, 0, "{other} has a folder of this name", other=folders[key])


def folders_of(key: str) -> Iterator[str]:
    """Return the folders of a path, or of its collision key, from the outermost on."""
    parts = key.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _check_folder_spelling(path: str, folders: dict[str, str]) -> None:
    """Raise `InvalidFileName` if a folder is spelled in two ways.

    `Data/a` and `data/b` become one folder on some systems, with either spelling.
    """
    parts = path.split("/")
    for length in range(1, len(parts)):
        folder = "/".join(parts[:length])
        other = folders[collision_key(folder)]
        if "/".join(other.split("/")[:length]) != folder:
            raise InvalidFileName(path, 0, "{other} spells the same folder in another way", other=other)
