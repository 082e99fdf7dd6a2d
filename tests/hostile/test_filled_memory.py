"""What strangers ask and what an Archive answers, over sockets: none of it makes the resolver keep more than it should,
nor forget what others ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import pytest

from ibi.resolver.rules.caching import Cache
from ibi.standard.messages.url_list import MOST_ENTRIES
from tests.support.loopback_archives import LoopbackArchive, LoopbackArchives, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

SERVICE, HOST = "lab.br/arq/2008/03.17.15.17", "arq.lab.br"
ITEM = "lab.br/arq/2009/07.21.14.43"
MOST = 10
"""Places in the cache of these tests."""


@dataclass
class Archive:
    """Has every item, in two languages, and every file but those called `none`; and says `more` of each."""

    more: bytes = b""
    asked: list[str] = field(default_factory=list)

    def says(self, request: bytes) -> bytes:
        query = parse_qs(urlsplit(target_of(request).decode()).query)
        match query["servicesubject"]:
            case ["inclusionConfirmationRequest"]:
                return plain(b"confirmation yes")
            case ["acknowledgment"]:
                return plain(b"notice {acknowledgment received}")
        label = query["parsedibiurl.ibi"][0]
        self.asked.append(label)
        lines = [
            f"archiveaddress {HOST}",
            f"ibi {{rep {label}}}",
            f"ibi.archiveservice {{rep {SERVICE}}}",
            "ibi.platformsoftware {}",
        ]
        if "none" in query.get("parsedibiurl.filepath", [""])[0]:
            return plain("\r\n".join(lines).encode())
        for qualifier in ("", ".translation(pt)", ".translation(en)"):
            lines += [f"contenttype{qualifier} Data", f"state{qualifier} Original", f"url{qualifier} http://{HOST}/x"]
        body = "\r\n".join([*lines, "urlkey 1424636122-5137095699"]).encode() + self.more
        return plain(body, b"Cache-Control: max-age=3600")


@dataclass(frozen=True)
class Scene:
    resolver: WholeResolver
    archive: Archive
    cache: Cache

    def statuses(self, links: list[str], **headers: str) -> set[int]:
        return {self.resolver.get(link, **headers)[0].status for link in links}

    def asks_for(self, link: str) -> int:
        """How often the Archive is asked when somebody follows it."""
        before = len(self.archive.asked)
        assert self.statuses([link]) == {302}
        return len(self.archive.asked) - before


@pytest.fixture
def scene() -> Iterator[Scene]:
    archive, cache = Archive(), Cache(MOST)
    with LoopbackArchives() as sockets, whole_resolver({HOST: ("127.0.0.3",)}, cache=cache) as resolver:
        opened: LoopbackArchive = sockets.open(archive.says, host="127.0.0.3")
        resolver.register(SERVICE, "127.0.0.0/8", hosts=[HOST])
        said = resolver.include(SERVICE, f"{HOST}:{opened.port}")
        assert said == b"status.archive included status.confirmation successful"
        yield Scene(resolver, archive, cache)


def items(number: int) -> list[str]:
    return [f"/lab.br/a{each}/2009/07.21.14.43" for each in range(number)]


def relations(number: int) -> bytes:
    return b"".join(b"\r\nibi.metadata(f%d) {rep lab.br/x%d/2020/01.01.01.01}" % (each, each) for each in range(number))


def test_an_answer_that_speaks_of_thousands_of_relations_is_no_answer(scene: Scene) -> None:
    scene.archive.more = relations(4000)
    assert scene.statuses(items(3)) == {502}
    assert len(scene.cache) == 0


def test_an_answer_that_speaks_of_hundreds_takes_no_more_than_one_of_few(scene: Scene) -> None:
    assert scene.statuses(items(3)) == {302}
    size = scene.cache.size
    scene.archive.more = relations(MOST_ENTRIES - 3)
    assert scene.statuses(items(6)[3:]) == {302}
    assert (len(scene.cache), scene.cache.size) == (6, 2 * size)


def test_readers_of_many_languages_fill_nothing_and_drive_nothing_out(scene: Scene) -> None:
    assert [scene.asks_for(link) for link in items(MOST)] == [1] * MOST
    for number in range(3 * MOST):
        few, many = f"pt;q=0.5, x{number}", ", ".join(f"x{number}-{each}" for each in range(64))
        for languages in (few, many):
            assert scene.statuses([f"/{ITEM}+"], accept_language=languages) <= {302, 404}
    assert [scene.asks_for(link) for link in items(MOST)] == [0] * MOST
    assert len(scene.cache) <= MOST + MOST // 5 + 1


def test_one_label_in_any_capitals_drives_nothing_out(scene: Scene) -> None:
    assert [scene.asks_for(link) for link in items(MOST)] == [1] * MOST
    mixed = ["".join(c.upper() if number >> i & 1 else c for i, c in enumerate("abcde")) for number in range(1, 31)]
    assert scene.statuses([f"/z{each}.br/arq/2009/07.21.14.43" for each in mixed]) == {302}
    assert [scene.asks_for(link) for link in items(MOST)] == [0] * MOST


def test_long_links_are_not_kept(scene: Scene) -> None:
    found = [f"/{ITEM}/{'a' * 7000}{number}" for number in range(5)]
    missing = [f"/{ITEM}/none%F0%9F%98%80{'a' * 7000}{number}" for number in range(5)]
    formats = [f"/{ITEM}:({'f' * 3000}{number})" for number in range(5)]
    assert scene.statuses(found) == {302}
    assert scene.statuses(missing) == scene.statuses(formats) == {404}
    assert len(scene.cache) == 0


def test_files_that_are_not_there_drive_nothing_out(scene: Scene) -> None:
    assert [scene.asks_for(link) for link in items(MOST)] == [1] * MOST
    assert scene.statuses([f"/{ITEM}/none{number}" for number in range(3 * MOST)]) == {404}
    assert [scene.asks_for(link) for link in items(MOST)] == [0] * MOST
