"""Previews of files: what is shown of each kind, and that nothing of it runs."""

from __future__ import annotations

import random
from io import BytesIO
from struct import pack
from typing import Any, cast
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.item import Item
from ibi.items.model.visibility import Visibility
from ibi.items.rules.file_summaries.pictures import read_points
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.reading.pages.file_pages import file_tree
from ibi.reading.pages.preview import _look_at_picture
from ibi.standard.networks import network
from tests.support.archive_app import BASE, REP, archive_app, deleted, kept
from tests.support.page_reader import Page, read_page

BYTES = "application/octet-stream"


async def looked_at(path: str, media: str, content: bytes, **others: Any) -> Page:
    app = archive_app(kept(REP, files={path: (media, content)}, **others))
    answer = await app.get(f"/col/{REP}/preview/{path}")
    assert answer.status == 200
    assert "unsafe-inline" not in answer.headers["content-security-policy"]
    return read_page(answer.body)


async def test_svg_scripts_never_run_it_is_a_picture_from_a_sandbox() -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
    page = await looked_at("a.svg", "image/svg+xml", drawing)
    (picture,) = [each for each in page.all("img") if "/col/" in each.attrib["src"]]
    assert "alert" not in page.text
    app = archive_app(kept(REP, files={"a.svg": ("image/svg+xml", drawing)}))
    sent = await app.get(picture.attrib["src"].removeprefix(BASE))
    assert sent.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_a_picture_that_says_nothing_of_its_size_for_long_is_not_offered_as_one() -> None:
    class Opened:
        size = 2 << 20

        def read_beginning(self, length: int) -> bytes:
            return (b"\xff\xd8" + (b"\xff\xe1\xff\xff" + bytes(0xFFFD)) * 32)[:length]

    file: Any = None
    assert _look_at_picture(file, cast("VerifiedFile", Opened()), 0, "") is None


def png(width: int, height: int, padding: int = 0) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + pack(">LL", width, height) + b"\x01\0\0\0\0" + bytes(padding)


@pytest.mark.parametrize(
    ("name", "content", "is_shown"),
    [
        ("png", png(10_000, 10_000), True),
        ("png", png(60_000, 60_000), False),
        ("png", png(60_000, 60_000, 438_000), False),
        ("png", b"no picture", True),
        ("gif", b"GIF89a" + pack("<HH", 65_535, 65_535), False),
        ("gif", b"GIF89a" + pack("<HH", 10, 10), True),
        ("jpeg", b"\xff\xd8\xff\xe0\0\x10" + bytes(14) + b"\xff\xc2\0\x11\x08" + pack(">HH", 65_000, 65_000), False),
        ("jpeg", b"\xff\xd8\xff\xff\xc0\0\x11\x08" + pack(">HH", 600, 800), True),
        ("webp", b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\xff\xff\0" * 2, False),
        ("webp", b"RIFF\0\0\0\0WEBPVP8L\x0a\0\0\0\x2f\xff\xff\xff\x0f", False),
        ("webp", b"RIFF\0\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x10\0\x10\0", True),
    ],
)
async def test_a_picture_of_very_many_points_is_not_offered_as_one(name: str, content: bytes, is_shown: bool) -> None:
    page = await looked_at(f"a.{name}", f"image/{name}", content)
    assert any("/col/" in each.attrib["src"] for each in page.all("img")) is is_shown
    assert ("There is no preview" in page.text) is not is_shown


@given(
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF", b"RIFF\0\0\0\0WEBP", b"\xff\xd8"]),
    st.binary(max_size=60),
)
def test_any_bytes_are_no_picture_or_one_of_some_size(beginning: bytes, rest: bytes) -> None:
    found = read_points(beginning + rest)
    assert found is None or min(found) >= 0


@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("a.txt", "text/plain"),
        ("a.csv", "text/csv"),
        ("a.md", "text/markdown"),
        ("a.png", "image/png"),
        ("a.zip", BYTES),
    ],
)
async def test_an_empty_file_is_said_to_be_empty(path: str, media: str) -> None:
    assert "This file is empty." in (await looked_at(path, media, b"")).text


async def test_html_scripts_never_run_there_is_no_preview() -> None:
    page = await looked_at("a.html", "text/html", b"<script>alert(1)</script>")
    assert "There is no preview" in page.text
    assert "alert" not in page.text


async def test_csv_is_a_table() -> None:
    page = await looked_at("a.csv", "text/csv", "name;value\nÁgua;=cmd()\n".encode())
    assert [each.text for each in page.all("td")] == ["Água", "=cmd()"]


async def test_zip_contents_are_listed_and_nothing_is_unpacked() -> None:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as made:
        made.writestr("a.txt", b"x")
        made.writestr("../evil.sh", b"x")
        made.writestr("bomb", bytes(10_000_000))
    page = await looked_at("a.zip", "application/zip", content.getvalue())
    assert "a.txt" in page.text
    assert "unsafe name" in page.text
    assert "10 MB" in page.text


async def test_decompression_bombs_are_named_as_such() -> None:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as made:
        made.writestr("bomb", bytes(20_000_000))
    page = await looked_at("a.zip", BYTES, content.getvalue())
    assert "more than a thousand times" in page.text


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("a.fits", ("SIMPLE  =                    T".ljust(80) + "END".ljust(80)).ljust(2880).encode(), "SIMPLE"),
        ("a.nc", b"CDF\x01" + bytes(28), "netCDF, classic"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5"),
        ("a.nc", b"CDF\x01 and nothing", "There is no preview"),
        ("a.fits", b"SIMPLE  = no", "There is no preview"),
        ("a.zip", b"PK no", "There is no preview"),
        ("a.zip", b"", "This file is empty."),
    ],
)
async def test_data_files_say_what_they_are(path: str, content: bytes, words: str) -> None:
    assert words in (await looked_at(path, BYTES, content)).text


async def test_recordings_are_played_from_the_file_itself() -> None:
    for media, element in (("audio/mpeg", "audio"), ("video/mp4", "video")):
        page = await looked_at("a", media, b"x")
        assert page.one(element).attrib["src"] == f"{BASE}/col/{REP}/doc/a"
        assert page.one(element).attrib["preload"] == "none"


async def test_any_bytes_have_a_page() -> None:
    chance = random.Random(5)
    for path in ("a.md", "a.csv", "a.zip", "a.fits", "a.nc", "a.txt"):
        await looked_at(path, BYTES if path != "a.txt" else "text/plain", chance.randbytes(5_000))


async def test_a_reader_who_may_not_have_a_file_sees_nothing_of_it() -> None:
    restricted = Visibility(networks=(network("198.51.100.0/24"),))
    files = {"a.txt": ("text/plain", b"secret")}
    app = archive_app(kept(REP, files=files, visibility=restricted))
    answer = await app.get(f"/col/{REP}/preview/a.txt")
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/col/{REP}/metadata")
    assert (await app.get(f"/col/{REP}/preview/a.txt", client="198.51.100.9")).status == 200
    assert (await app.get(f"/col/{REP}/preview/none")).status == 404
    hidden = archive_app(kept(REP, files=files, visibility=Visibility(listing=False, networks=restricted.networks)))
    assert (await hidden.get(f"/col/{REP}/preview/none")).status == 302
    assert (await archive_app(deleted(REP)).get(f"/col/{REP}/preview/a.txt")).status == 410


# --- the tree of files ---


def tree_of(*paths: str) -> list[Any]:
    item: Item = kept(REP, files=dict.fromkeys(sorted(paths), (BYTES, b"xy")))[0]

    def plain(node: Any) -> Any:
        return node.name if node.file else (node.name, node.number, node.size, [plain(each) for each in node.nodes])

    return [plain(node) for node in file_tree(item.files)]


def test_files_are_in_their_folders_with_sizes() -> None:
    assert tree_of("a", "data/b", "data/raw/c", "z/y/x/w") == [
        "a",
        ("data", 2, 4, ["b", ("raw", 1, 2, ["c"])]),
        ("z/y/x", 1, 2, ["w"]),
    ]


def test_a_folder_counts_the_files_that_are_not_listed_too() -> None:
    files = dict.fromkeys((f"data/{number:03}" for number in range(300)), (BYTES, b"xy"))
    item: Item = kept(REP, files=files)[0]
    (folder,) = file_tree(item.files[:50], item.files)
    assert (folder.number, folder.size, len(folder.nodes)) == (300, 600, 50)


def test_a_folder_of_more_files_than_are_counted_for_a_page_tells_no_number() -> None:
    files = dict.fromkeys((f"data/{number:04}" for number in range(2001)), (BYTES, b"xy"))
    item: Item = kept(REP, files=files)[0]
    (folder,) = file_tree(item.files[:50], item.files)
    assert folder.number is None


def test_a_very_deep_folder_is_one_with_a_long_name() -> None:
    assert tree_of("/".join("abcdefghijklmnopqrstuvwxyz")) == [("/".join("abcdefghijklmnopqrstuvwxy"), 1, 2, ["z"])]


async def test_each_file_has_its_persistent_link_and_its_latest() -> None:
    app = archive_app(kept(REP, files={"a b.txt": ("text/plain", b"x")}), resolver="http://urlib.net")
    for place in (f"/col/{REP}/metadata", f"/col/{REP}/doc/?list"):
        page = read_page((await app.get(place)).body)
        assert f"http://urlib.net/{REP}/a%20b.txt" in page.links
        assert f"http://urlib.net/{REP}!/a%20b.txt" in page.links


async def test_all_files_are_offered_at_once_if_there_are_several() -> None:
    one = archive_app(kept(REP, files={"a": (BYTES, b"x")}))
    several = archive_app(kept(REP, files={"a": (BYTES, b"x"), "b": (BYTES, b"y")}))
    address = f"{BASE}/col/{REP}.zip"
    assert address not in read_page((await one.get(f"/col/{REP}/metadata")).body).links
    assert address in read_page((await several.get(f"/col/{REP}/metadata")).body).links
