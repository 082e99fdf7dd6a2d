"""Files of an item on their way into a folder."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha512
from pathlib import Path

import pytest

from ibi.items.model.file import File
from ibi.reading.store import PART, DownloadCut, DownloadDamaged, DownloadDiffers, DownloadFolder, UnsafeFolder
from ibi.standard.document_errors import InvalidFileName
from ibi.standard.errors import IbiError

CONTENT = bytes(range(256)) * 40


def file_of(content: bytes = CONTENT, path: str = "a/b.bin") -> File:
    return File(path, len(content), sha512(content).hexdigest())


class Source:
    """Gives the bytes of a file, as many at a time as it is told to, and remembers from where it was asked."""

    def __init__(self, content: bytes = CONTENT, most: int | None = None) -> None:
        self.content, self.most, self.asked = content, most, list[int]()

    def __call__(self, offset: int) -> Iterator[bytes]:
        self.asked.append(offset)
        end = len(self.content) if self.most is None else offset + self.most
        yield from (self.content[start : start + 1000] for start in range(offset, min(end, len(self.content)), 1000))


def test_a_file_is_fetched_once(tmp_path: Path) -> None:
    downloads, source, done = DownloadFolder(tmp_path / "new"), Source(), list[int]()
    assert downloads.fetch(file_of(), source, done.append)
    assert (tmp_path / "new/a/b.bin").read_bytes() == CONTENT
    assert not downloads.fetch(file_of(), source, done.append)
    assert (source.asked, sum(done)) == ([0], 2 * len(CONTENT))
    assert [path.name for path in (tmp_path / "new/a").iterdir()] == ["b.bin"]


def test_a_fetch_cut_ten_times_goes_on_and_ends_with_the_right_digest(tmp_path: Path) -> None:
    downloads, source = DownloadFolder(tmp_path), Source(most=1000)
    for _ in range(10):
        with pytest.raises(DownloadCut):
            downloads.fetch(file_of(), source)
    source.most = None
    assert downloads.fetch(file_of(), source)
    assert (tmp_path / "a/b.bin").read_bytes() == CONTENT
    assert source.asked == [1000 * number for number in range(11)]


def test_what_was_left_of_another_file_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / f"a/b.bin{PART}").write_bytes(b"something else")
    downloads = DownloadFolder(tmp_path)
    with pytest.raises(DownloadDamaged, match="its digest is another"):
        downloads.fetch(file_of(), Source())
    assert downloads.fetch(file_of(), Source())
    assert (tmp_path / "a/b.bin").read_bytes() == CONTENT


def test_a_part_that_is_whole_needs_no_more_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / f"a/b.bin{PART}").write_bytes(CONTENT + b"more")
    source = Source()
    assert DownloadFolder(tmp_path).fetch(file_of(), source)
    assert (tmp_path / "a/b.bin").read_bytes() == CONTENT
    assert source.asked == []


def test_an_empty_file_is_fetched(tmp_path: Path) -> None:
    assert DownloadFolder(tmp_path).fetch(file_of(b""), Source(b""))
    assert (tmp_path / "a/b.bin").read_bytes() == b""


@pytest.mark.parametrize("sent", [CONTENT + b"x", CONTENT[:-1] + b"x"])
def test_bytes_that_are_others_are_not_kept(tmp_path: Path, sent: bytes) -> None:
    with pytest.raises(DownloadDamaged):
        DownloadFolder(tmp_path).fetch(file_of(), Source(sent))
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("there", [b"", b"short", bytes(len(CONTENT))])
def test_a_file_that_is_there_and_differs_is_left_alone(tmp_path: Path, there: bytes) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.bin").write_bytes(there)
    with pytest.raises(DownloadDiffers):
        DownloadFolder(tmp_path).fetch(file_of(), Source())
    assert (tmp_path / "a/b.bin").read_bytes() == there


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\x", "", "a//b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "in"
    with pytest.raises((InvalidFileName, IbiError)):
        DownloadFolder(folder).fetch(file_of(path=path), Source())
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize("kind", ["folder", "file", "part"])
def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, kind: str) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "in"
    outside.mkdir()
    folder.mkdir()
    if kind == "folder":
        (folder / "a").symlink_to(outside)
    else:
        (folder / "a").mkdir()
        (folder / ("a/b.bin" if kind == "file" else f"a/b.bin{PART}")).symlink_to(outside / "stolen")
    with pytest.raises(IbiError) as caught:
        DownloadFolder(folder).fetch(file_of(), Source())
    assert kind == "part" or isinstance(caught.value, UnsafeFolder)
    assert list(outside.iterdir()) == []
