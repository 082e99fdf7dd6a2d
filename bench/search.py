"""What a search costs: in catalogues of a hundred thousand and a million titles, for words that stand in a quarter of
them; and what it adds to a deposit that items can be found.

Time is that of the processor: on a machine that others use too, the clock on the wall tells of the others. Words are
as unevenly frequent as those of a language. Every search is asked of the catalogue itself, without what the
service above remembers, and of a server in the end. `python -m bench.search 1000000` measures one size alone.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote, urlsplit

from bench.catalogue import HOST, START, own
from bench.figure import Figure, figure_table
from bench.serving import Client, Running, ibi_up
from ibi.items.model.file import File
from ibi.items.model.item import Description, Item
from ibi.items.model.metadata import Agent, DescriptiveMetadata, ResourceType, Text
from ibi.items.model.search import LARGEST_PAGE, Facet, ListPlace, Order, SearchQuery
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.items.store.catalogue.rows import put_row, row_of
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.storage.connection import connect, transaction

__all__ = ["figures"]

SIZES = {100_000: "10⁵", 1_000_000: "10⁶"}
ROUNDS = 9
ASKED = 40
LISTED = 100_000
"""Items that are listed to the end; of a million that takes minutes, and each page costs the same."""
PUTS = 1_000
SEARCH_AIM, PAGE_AIM, TYPING_AIM = 20.0, 50.0, 30.0
"""Milliseconds of a processor, of a search, of all that a page of results shows, and of what each key asks for."""
COMMON, EVERY = "relatório", 4
"""A word, and how many titles there are to each that has it."""
_SYLLABLES = "ba ce di fo gu ra te li mo nu sa pe vi to lu xa ma co es an in ção".split()
_BATCH = 2_000


@dataclass(frozen=True)
class Words:
    """A language, of which the first words are frequent and the last ones rare."""

    words: tuple[str, ...]
    weights: tuple[float, ...]
    names: tuple[str, ...]
    chance: random.Random

    @classmethod
    def invented(cls) -> Words:
        chance = random.Random(1)
        made = {"".join(chance.choices(_SYLLABLES, k=chance.randint(2, 5))) for _ in range(60_000)}
        words = sorted(made)
        chance.shuffle(words)
        names = tuple(f"{chance.choice(words).title()}, {chance.choice(words).title()}" for _ in range(60_000))
        return cls(tuple(words), tuple(accumulate(1 / (rank + 3) for rank in range(len(words)))), names, chance)

    def some(self, number: int) -> list[str]:
        return self.chance.choices(self.words, cum_weights=self.weights, k=number)


def figures(sizes: Sequence[int] = tuple(SIZES)) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        measured = []
        for size in sizes:
            words = Words.invented()
            path = filled(Path(home) / f"{size}.sqlite", size, words)
            measured += [*searches(path, size, words), *deposits(path, size, words)]
            measured += requests(Path(home) / f"{size}", path, words)
            path.unlink(missing_ok=True)
        return measured


# --- a catalogue -----------------------------------------------------------------------------------------------------


def sample(second: int, words: Words) -> Item:
    chance, instant = words.chance, Instant(START + second)
    title = words.some(8)
    if second % EVERY == 0:
        title[chance.randrange(8)] = COMMON
    metadata = DescriptiveMetadata(
        title=(Text(" ".join(title).capitalize()),),
        creator=tuple(map(Agent, dict.fromkeys(chance.choices(words.names, k=2)))),
        subject=tuple(map(Text, words.some(3))),
        date=(Text(f"{1990 + chance.randrange(35)}-03"),),
        publisher=(Text("INPE, São José dos Campos"),),
        resource_type=chance.choice((ResourceType.TEXT, ResourceType.DATASET, ResourceType.IMAGE)),
    )
    labels = LabelForms(RepositoryName.from_parts(HOST, 8_000 + chance.randrange(5), instant))
    files = (File("relatorio.pdf", 1_234_567, "0123456789abcdef" * 8, "application/pdf"),)
    language = LanguageTag(chance.choice(("pt", "pt", "pt", "en", "es")))
    described = Description(metadata=metadata, language=language)
    return Item(labels=labels, created=instant, updated=instant, description=described, files=files)


def filled(path: Path, size: int, words: Words) -> Path:
    with closing(connect(path, MIGRATIONS)) as connection:
        for setting in ("synchronous = OFF", "cache_size = -65536"):
            connection.execute(f"PRAGMA {setting}")
        for start in range(0, size, _BATCH):
            with transaction(connection):
                for second in range(start, start + _BATCH):
                    put_row(connection, row_of(sample(second, words)))
    return path


# --- searches --------------------------------------------------------------------------------------------------------


def searches(path: Path, size: int, words: Words) -> Iterator[Figure]:
    name, aimed = SIZES.get(size, str(size)), size == max(SIZES)
    with closing(SqliteCatalog(path)) as catalog:
        for asked, query in queries(words, size).items():
            spent = [timed(lambda query=query: catalog.search(query)) for _ in range(ROUNDS)]  # type: ignore[misc]
            found = catalog.search(query)
            note = f"{'more than ' if found.is_more else ''}{found.total:,} found"
            yield figure(f"search {asked}, {name} titles", median(spent), SEARCH_AIM if aimed else None, note)
        common = SearchQuery(text=COMMON)
        for asked, query in {"a common word": common, "everything": SearchQuery()}.items():
            spent = [timed(lambda query=query: catalog.facets(query)) for _ in range(ROUNDS)]  # type: ignore[misc]
            yield figure(f"facets of {asked}, {name} titles", median(spent), PAGE_AIM)
        spent = [timed(lambda: (catalog.search(common), catalog.facets(common))) for _ in range(ROUNDS)]
        yield figure(f"search and facets of a common word, {name} titles", median(spent), PAGE_AIM)


def queries(words: Words, size: int) -> dict[str, SearchQuery]:
    frequent, rare = words.words[1], words.words[-1]
    middle = ListPlace(RepositoryName.from_parts(HOST, 8_000, Instant(START + size // 2)))
    return {
        "for a common word": SearchQuery(text=COMMON),
        "for its beginning": SearchQuery(text=COMMON[:5]),
        "for two common words": SearchQuery(text=f"{COMMON} {frequent}"),
        "for a common and a rare word": SearchQuery(text=f"{COMMON} {rare}"),
        "for a rare word": SearchQuery(text=rare),
        "for a phrase": SearchQuery(text=f'"{COMMON} {frequent}"'),
        "without a common word": SearchQuery(text=f"-{COMMON}"),
        "for a common word in a year": SearchQuery(text=COMMON, filters=((Facet.YEAR, "1999"),)),
        "for a common word in a language": SearchQuery(text=COMMON, filters=((Facet.LANGUAGE, "pt"),)),
        "for a common word, last page": SearchQuery(text=COMMON, page=1_000),
        "for a common word, by title": SearchQuery(text=COMMON, order=Order.TITLE),
        "for a common word, oldest first": SearchQuery(text=COMMON, order=Order.OLDEST),
        "for a common word, beyond the ranked": SearchQuery(text=COMMON, after=middle),
        "for everything, from the middle on": SearchQuery(order=Order.NEWEST, after=middle),
        "for everything by title, from the middle on": SearchQuery(order=Order.TITLE, after=replace(middle, title="m")),
        "for everything": SearchQuery(),
        "for everything of a language": SearchQuery(filters=((Facet.LANGUAGE, "es"),)),
    }


def figure(name: str, milliseconds: float, aim: float | None, note: str = "") -> Figure:
    is_met = aim is None or milliseconds < aim
    return Figure(name, milliseconds, "ms CPU", None, None if aim is None else f"< {aim:g} ms", is_met, note)


def timed(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return 1e3 * (time.thread_time() - start)


# --- the same as requests of programs --------------------------------------------------------------------------------


def requests(data: Path, path: Path, words: Words) -> Iterator[Figure]:
    """CPU of a server that has this catalogue, of which it is in the end. Each request asks for something else, so that
    nothing is found that was kept for the one before."""
    size = int(path.stem)
    name, aim = SIZES.get(size, str(size)), SEARCH_AIM if size == max(SIZES) else None
    with ibi_up(data):
        pass
    (data / "catalogue.sqlite").unlink()
    path.rename(data / "catalogue.sqlite")
    own(data)
    with ibi_up(data) as server, Client(server) as client:
        for asked, targets in _targets(words, size).items():
            client.ask(targets[:2])
            yield figure(f"API: {asked}, {name} titles", client.ask(targets[2:]).cpu_each / 1e3, aim)
        for asked, targets in _typed(words).items():
            client.ask(targets[:2])
            yield figure(f"typing: {asked}, {name} titles", client.ask(targets[2:]).cpu_each / 1e3, TYPING_AIM)
        if size <= LISTED:
            yield from listing(server, size, name)


def _typed(words: Words) -> dict[str, list[bytes]]:
    """What a browser asks for while words are typed; each text once."""
    chance = random.Random(5)
    some = dict.fromkeys(chance.sample(words.words, ASKED))
    lengths = {"two letters": 2, "three letters": 3, "four letters": 4, "all but the last": -1}
    texts = {name: [word[:length] for word in some] for name, length in lengths.items()}
    texts["a common word, and three letters"] = [f"{COMMON} {word[:3]}" for word in some]
    texts["a common word, letter by letter"] = [COMMON[:length] for length in range(2, len(COMMON) + 1)]
    return {
        name: [f"/search/suggestions?q={quote(text)}".encode() for text in dict.fromkeys(asked)]
        for name, asked in texts.items()
    }


def listing(server: Running, size: int, name: str) -> Iterator[Figure]:
    """All items in pages to the end, each once; and how many there are, as the facets count them."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        target, found, pages, cpu = f"/api/items?size={LARGEST_PAGE}", set[str](), 0, server.cpu()
        number = 0
        while target:
            page = _document(connection, target)
            found.update(each["labels"]["rep"] for each in page["items"])
            number, pages = number + len(page["items"]), pages + 1
            following = urlsplit(page["links"].get("next", ""))
            target = f"{following.path}?{following.query}" if following.query else ""
        each = 1e3 * (server.cpu() - cpu) / pages
        is_whole = number == len(found) >= size
        note = f"{number:,} items on {pages:,} pages"
        yield Figure(f"API: list all {name} to the end, a page", each, "ms CPU", None, "each item once", is_whole, note)
        told = _document(connection, "/api/items?facets=true")
        counted = sum(each["number"] for each in told["facets"]["language"])
        # The own item of the server has no language.
        is_right = told["is_more"] or told["total"] - 1 <= counted <= told["total"]
        note = f"{'more than ' if told['is_more'] else ''}{told['total']:,} told"
        yield Figure(
            f"API: {name} items counted by their facets", counted, "items", None, "all, or said", is_right, note
        )


def _document(connection: HTTPConnection, target: str) -> dict[str, Any]:
    connection.request("GET", target)
    with connection.getresponse() as answer:
        found = json.loads(answer.read())
    assert answer.status == 200, found
    assert isinstance(found, dict)
    return found


def _targets(words: Words, size: int) -> dict[str, list[bytes]]:
    chance = random.Random(3)
    some = chance.sample(words.words[100:], ASKED + 2)
    places = [RepositoryName.from_parts(HOST, 8_000, Instant(START + chance.randrange(size))) for _ in range(ASKED + 2)]
    return {
        "search for a word": [f"/api/items?q={quote(word)}".encode() for word in some],
        "search for a common and another word": [f"/api/items?q={quote(f'{COMMON} {word}')}".encode() for word in some],
        "list everything, anywhere": [f"/api/items?after={quote(str(place))}".encode() for place in places],
        "list a common word, anywhere": [
            f"/api/items?q={quote(COMMON)}&after={quote(str(place))}".encode() for place in places
        ],
    }


# --- what it adds to a deposit ---------------------------------------------------------------------------------------


def deposits(path: Path, size: int, words: Words) -> Iterator[Figure]:
    """CPU of putting an item, each in a commit of its own, with what a search needs and without; in turns."""
    seconds = iter(range(size, size + 10 * PUTS))
    with closing(connect(path, MIGRATIONS)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # what the disk takes is not the point

        def put(*, listed: bool) -> float:
            made = [sample(next(seconds), words) for _ in range(PUTS // 5)]
            start = time.process_time()
            for item in made:
                row = row_of(item)
                with transaction(connection):
                    put_row(connection, row if listed else row._replace(listed=None))
            return 1e6 * (time.process_time() - start) / len(made)

        rounds = [(put(listed=True), put(listed=False)) for _ in range(5)]
    with_search, without = (median(spent) for spent in zip(*rounds, strict=True))
    name = SIZES.get(size, str(size))
    yield Figure(
        f"put beside {name} titles, CPU", with_search, "µs", with_search / without, note="beside a put unlisted"
    )


if __name__ == "__main__":
    measured = figures(tuple(map(int, sys.argv[1:])) or tuple(SIZES)[:1])
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
