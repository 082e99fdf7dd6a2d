"""The port `Search`, tried on every adapter: each beside the catalogue that it searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.items.model.file import File
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.metadata import DC_ELEMENTS, Agent, DescriptiveMetadata, ResourceType, Text
from ibi.items.model.search import ENOUGH, Facet, FacetCount, FacetCounts, Order, SearchPage, SearchQuery
from ibi.items.model.visibility import Visibility
from ibi.items.ports.catalog import Catalog, Search
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, State
from ibi.standard.networks import network
from tests.properties.item_strategies import HOSTILE, forms_at, items
from tests.support.flat_items import new_item, replace
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.search import MemorySearch

DISK = Path("/dev/shm")


@dataclass(frozen=True)
class Searched:
    catalog: Catalog
    search: Search

    def put(self, *kept: Item) -> None:
        for one in kept:
            self.catalog.put(one)

    def page(self, text: str = "", *filters: tuple[Facet, str], **others: object) -> SearchPage:
        return self.search.search(SearchQuery(text=text, filters=filters, **others))  # type: ignore[arg-type]

    def minutes(self, text: str = "", *filters: tuple[Facet, str], **others: object) -> list[int]:
        """By which minute those found were named, in the order in which they are found."""
        return [minute(one) for one in self.page(text, *filters, **others).items]

    def counts(self, text: str = "", *filters: tuple[Facet, str], **others: object) -> FacetCounts:
        return self.search.facets(SearchQuery(text=text, filters=filters, **others))  # type: ignore[arg-type]


@contextmanager
def in_memory() -> Iterator[Searched]:
    catalog = MemoryCatalog()
    yield Searched(catalog, MemorySearch(catalog))


@contextmanager
def in_sqlite() -> Iterator[Searched]:
    with TemporaryDirectory(dir=DISK if DISK.is_dir() else None) as folder:
        catalog = SqliteCatalog(Path(folder) / "catalogue.sqlite")
        try:
            yield Searched(catalog, catalog)
        finally:
            catalog.close()


ADAPTERS = {"memory": in_memory, "sqlite": in_sqlite}


@pytest.fixture(params=ADAPTERS)
def searched(request: pytest.FixtureRequest) -> Iterator[Searched]:
    with ADAPTERS[request.param]() as searched:
        yield searched


def described(minute: int, title: str | Iterable[str] = "A title", **others: object) -> Item:
    """An item with that title; elements of its description by name, other fields too."""
    values: dict[str, object] = {"title": tuple(map(Text, (title,) if isinstance(title, str) else title))}
    for name in tuple(others):
        if name in DC_ELEMENTS and isinstance(others[name], (str, tuple)):
            made = Agent if name in {"creator", "contributor"} else Text
            values[name] = tuple(map(made, _several(others.pop(name))))
    if "resource_type" in others:
        values["resource_type"] = others.pop("resource_type")
    created = Instant(1_700_000_000)
    labels = others.pop("labels", forms_at(minute))
    description = DescriptiveMetadata(**values)  # type: ignore[arg-type]
    return new_item(labels=labels, created=created, updated=created, metadata=description, **others)


def _several(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (str(value),)


def minute(of: Item) -> int:
    return (of.rep.instant.seconds - 1_200_000_000) // 60


# --- words -----------------------------------------------------------------------------------------------------------


def test_an_empty_catalogue_has_nothing(searched: Searched) -> None:
    for text in ("", "word", '"a phrase"', "-word", str(forms_at(1).labels[0])):
        assert searched.page(text) == SearchPage()
        assert searched.counts(text) == FacetCounts()


@pytest.mark.parametrize(
    "field", ["title", "creator", "contributor", "subject", "description", "publisher", "identifier", "source"]
)
def test_words_are_found_in_every_field_that_describes(searched: Searched, field: str) -> None:
    searched.put(described(1), described(2, **{field: "Um Glaciar antártico"}))
    assert searched.minutes("glaciar") == [2]
    assert searched.minutes("antartico glaciar") == [2]
    assert searched.minutes("glaciar title polo") == []


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Relatório de Atividades", "RELATORIO"),
        ("Relato\u0301rio de Atividades", "relatório"),
        ("Ναυτιλία", "ναυτιλια"),
        ("Ёлка и Йод", "елка"),
        ("Straße nach Łódź", "strasse lodz"),
        ("日本語の文書", "本語"),
        ("한국어 문서", "한국"),
        ("हिन्दी साहित्य", "हिन्दी"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("שָׁלוֹם עולם", "שלום"),
        ("اَلْعَرَبِيَّةُ", "العربية"),
        ("ﬁeld ① ｆｕｌｌ", "field 1 full"),
        ("Festa 🎉 aqui", "🎉"),
        ("co­op\u200bera", "coop"),
        ("mtc-m18@80 / C++", "mtc-m18"),
        ("x" * 200, "x" * 100),
    ],
)
def test_case_diacritics_and_script_do_not_matter(searched: Searched, title: str, text: str) -> None:
    searched.put(described(1, title), described(2, "Other words"))
    assert searched.minutes(text) == [1]


def test_every_word_is_wanted_wherever_it_stands(searched: Searched) -> None:
    searched.put(
        described(1, "Glaciers of the south", creator="Banon, Gerald"), described(2, "Glaciers", creator="Ávila, Ana")
    )
    assert searched.minutes("banon glaciers") == [1]
    assert searched.minutes("avila south") == []


def test_the_last_word_may_be_a_beginning_and_the_others_may_not(searched: Searched) -> None:
    searched.put(described(1, "Atividades anuais"), described(2, "Ativo fixo"))
    assert searched.minutes("ativ") == [2, 1]
    assert searched.minutes("ativid") == [1]
    assert searched.minutes("ativ anuais") == []
    assert searched.minutes('"ativ"') == []
    assert searched.minutes("atividades anu") == [1]
    assert searched.minutes("a") == []  # one letter is a word of one letter


def test_a_phrase_is_found_in_its_order_and_within_one_value(searched: Searched) -> None:
    searched.put(
        described(1, "red and green"), described(2, "green and red"), described(3, ["and now green", "x and", "red"])
    )
    assert searched.minutes('"and green"') == [1]
    assert searched.minutes("“and red”") == [2]
    assert searched.minutes("and-green") == [1]
    assert searched.minutes('"and green" red') == [1]


def test_what_is_not_wanted_is_left_out(searched: Searched) -> None:
    searched.put(described(1, "red green"), described(2, "red blue"), described(3, "blue green sea"))
    assert searched.minutes("red -blue") == [1]
    assert searched.minutes("-blue") == [1]
    assert searched.minutes('-"green sea"', order=Order.OLDEST) == [1, 2]
    assert searched.minutes("-red -sea") == []
    assert searched.minutes("green -") == [3, 1]
    assert searched.counts("-blue").year == (FacetCount("2008", 1),)


LIBRARY = (
    described(1, "Red sea", creator="Banon, Gerald", date="1999", type="Doctoral thesis"),
    described(2, "Blue sea", creator="Ávila, Ana", date="2001-05", resource_type=ResourceType.STILL_IMAGE),
    described(3, "Banon and the others", subject="red clay", date="2009"),
    described(4, "Else", description="red, by Banon", date="2010", subject=("oceans", "blue clay")),
)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("creator:banon", [1]),
        ("title:banon", [3]),
        ("subject:red", [3]),
        ('subject:"blue clay"', [4]),
        ("title:sea creator:avila", [2]),
        ("title:red OR subject:red", [3, 1]),
        ("type:thesis", [1]),
        ("type:doct", [1]),
        ('type:"still image"', [2]),
        ('type:"image doctoral"', []),
        ("year:2001..2009", [3, 2]),
        ("year:2001", [2]),
        ("year:..1999", [1]),
        ("year:2001.. banon", [3, 4]),
        ("year:1999 OR year:2010", [4, 1]),
        ("-year:2001..2010", [1]),
        ("banon -creator:banon", [3, 4]),
        ("sea OR clay", [2, 1, 4, 3]),
        ("red sea OR clay", [1, 3, 4]),
        ("sea OR", []),
        ("thesis", []),
    ],
)
def test_fields_say_where_a_word_stands(searched: Searched, text: str, minutes: list[int]) -> None:
    searched.put(*LIBRARY)
    assert searched.minutes(text) == minutes


@pytest.mark.parametrize("first", [0, 1, 999, 1000, 1899, 1990, 2001, 2009, 2010])
@pytest.mark.parametrize("last", [2001, 2008, 2009, 2010, 2999, 9999])
def test_a_span_has_all_its_years_and_no_others(first: int, last: int) -> None:
    years = [1, 42, 999, 1000, 1899, 1900, 1989, 1990, 1999, 2000, 2001, 2008, 2009, 2010, 2011, 2100, 9999]
    with in_sqlite() as searched:
        searched.put(*(described(number, date=f"{year:04}") for number, year in enumerate(years)))
        found = searched.minutes("", (Facet.YEAR, f"{first}..{last}"), order=Order.OLDEST)
    assert found == [number for number, year in enumerate(years) if min(first, last) <= year <= max(first, last)]


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("relatorios anuias", "relatorios anuais"),
        ("relatroios", "relatorios"),
        ("title:relatorois -x", "title:relatorios -x"),
        ('"relatorio anuais"', '"relatorios anuais"'),
        ("relatorios anuais", None),
        ("rela", None),
        ("xyzzyx", None),
        ("relatoriso xyzzyx", None),
        ("sea", None),
        ("8JMKD3MGP8W/34PGRBS relatroios", None),
    ],
)
def test_a_slip_of_the_pen_is_noticed(searched: Searched, text: str, suggested: str | None) -> None:
    searched.put(described(1, "Relatórios anuais"), described(2, "The red sea"))
    assert searched.search.suggest(SearchQuery(text=text)) == suggested


STRANGE = [
    *("OR", "OR OR OR", "title:", "year:", "year:1..", "year:9999999", "title:title:red", "-title:", "a OR", "type:·"),
    *(
        "AND",
        "red AND",
        "red OR green",
        "NEAR(red green)",
        "NOT red",
        "title:red",
        "title : ^red",
        "red*",
        "*",
        "(red",
        ")",
    ),
    *(
        "^",
        '"',
        '"red',
        'red"',
        '""',
        '" "',
        "'",
        "';DROP TABLE items;--",
        "\0",
        "red\0green",
        "\ud800",
        "{a b}:red",
        "+red",
    ),
    *("%", "_", "\\", "red\\", "-", "--", "- red", '-"', "a" * 5_000, "a " * 5_000, '"a' * 999, "·", "··", "😀" * 50),
    *("\u202ered", *HOSTILE),
]


@pytest.mark.parametrize("text", STRANGE)
def test_hostile_text_is_just_words(searched: Searched, text: str) -> None:
    searched.put(described(1, "red and green near title or not"), described(2, "blue"))
    page = searched.page(text)
    assert page.total == len(page.items) <= 2
    assert sum(count.number for count in searched.counts(text).prefix) == page.total


def test_a_text_without_a_word_finds_nothing_and_a_blank_one_everything(searched: Searched) -> None:
    searched.put(described(1), described(2))
    assert searched.minutes("!?") == []
    assert searched.minutes("  \t ") == [2, 1]


# --- labels, and what may be known ---------------------------------------------------------------------------------


def test_a_label_finds_its_item_in_any_spelling_and_inside_a_citation(searched: Searched) -> None:
    searched.put(described(1, "One"), described(2, "Two words"))
    rep, ibip = forms_at(1).labels
    cited = f"BANON, G. Two words. Disponível em: <http://urlib.net/{ibip}>. Acesso em: 15 nov. 2026."
    for text in (str(rep), str(ibip).lower(), f"http://urlib.net/ibi/{ibip}", cited):
        assert searched.minutes(text) == [1]
    assert searched.minutes(f"{rep} {forms_at(2).labels[1]} {ibip}") == [1, 2]
    assert searched.minutes(str(rep), (Facet.YEAR, "1999")) == []
    assert searched.counts(str(rep)).prefix == (FacetCount("lab.br/arq", 1),)


def test_a_label_that_no_item_bears_is_just_words(searched: Searched) -> None:
    searched.put(described(1, f"About {forms_at(7).labels[1]}"))
    assert searched.minutes(str(forms_at(7).labels[1])) == [1]
    assert searched.minutes(str(forms_at(8).labels[1])) == []


def test_what_was_deleted_is_found_by_its_label_alone(searched: Searched) -> None:
    alive = described(1, "Withdrawn words", creator="Ávila, Ana")
    gone = replace(alive, state=State.DELETED, tombstone=Tombstone(Instant(1_700_000_000), "withdrawn"))
    searched.put(alive)
    assert searched.minutes("withdrawn") == [1]
    searched.put(gone)
    for text in ("withdrawn", "avila", "", "-nothing"):
        assert searched.page(text) == SearchPage()
        assert searched.counts(text) == FacetCounts()
    for label in gone.labels.labels:
        assert searched.page(str(label)) == SearchPage((gone,), 1)
        assert searched.counts(str(label)) == FacetCounts()
        assert searched.minutes(str(label), (Facet.CREATOR, "Ávila, Ana")) == []


def test_what_is_restricted_is_found_as_everything_is(searched: Searched) -> None:
    embargoed = described(1, "Secret words", visibility=Visibility(embargo=Instant(4_000_000_000)))
    searched.put(embargoed)
    assert searched.page("secret").items == (embargoed,)


@pytest.mark.parametrize("text", ["large", str(forms_at(1).labels[0])])
def test_what_is_found_comes_without_its_files(searched: Searched, text: str) -> None:
    """A list shows none of them, and there may be ten thousand of each item."""
    files = tuple(File(f"{number}.pdf", number, f"{number:0128x}") for number in range(500))
    searched.put(described(1, "Large", files=files, target="7.pdf"), described(2, "Small"))
    assert searched.page(text).items == (described(1, "Large"),)


def test_changes_are_found_at_once(searched: Searched) -> None:
    searched.put(described(1, "Before"), described(2, "Other"))
    searched.put(described(1, "After", subject="new"))
    assert searched.minutes("before") == []
    assert searched.minutes("after new") == [1]
    searched.put(replace(described(1, "After", subject="new"), next_edition=forms_at(2)))
    (found,) = searched.page("after").items
    assert found.next_edition == forms_at(2)
    searched.catalog.remove(forms_at(1).labels[1])
    assert searched.minutes("after") == []
    assert searched.minutes() == [2]


# --- facets ----------------------------------------------------------------------------------------------------------


def test_facets_are_counted_among_what_is_found(searched: Searched) -> None:
    other = LabelForms(RepositoryName.from_parts("b.lab.br", 8080, forms_at(3).labels[0].instant))
    searched.put(
        described(1, "red", creator=("Ávila, Ana", "Banon, G."), date="1999-05", language=LanguageTag("pt", "BR")),
        described(2, "red", creator=("Banon,  G.",), date="c. 2001", type="Thesis"),
        described(3, "red", labels=other, resource_type=ResourceType.IMAGE, date="nobody knows"),
        described(4, "blue", creator="Ávila, Ana", language=LanguageTag("en")),
    )
    counts = searched.counts("red")
    assert counts.year == (FacetCount("1999", 1), FacetCount("2001", 1), FacetCount("2008", 1))
    assert counts.creator == (FacetCount("Banon, G.", 2), FacetCount("Ávila, Ana", 1))
    assert counts.type == (FacetCount("Image", 1), FacetCount("Thesis", 1))
    assert counts.language == (FacetCount("pt", 1),)
    assert counts.prefix == (FacetCount("lab.br/arq", 2), FacetCount("lab.br/b.8080", 1))
    assert searched.counts().creator == (FacetCount("Banon, G.", 2), FacetCount("Ávila, Ana", 2))


def test_subjects_licences_access_and_files_are_facets(searched: Searched) -> None:
    pdf, image = File("a.pdf", 1, "0" * 128, "application/pdf"), File("b.png", 1, "1" * 128, "image/png")
    later, long_ago = Visibility(embargo=Instant(4_000_000_000)), Visibility(embargo=Instant(1_000_000_000))
    searched.put(
        described(1, subject=("Sea", "Ice"), files=(pdf, image)),
        described(2, subject="Sea", visibility=Visibility(networks=(network("10.0.0.0/8"),)), files=(pdf,)),
        described(3, visibility=later, files=(File("c.odt", 1, "2" * 128, "application/vnd.oasis.opendocument.text"),)),
        described(4, visibility=long_ago),
        described(5, visibility=Visibility(listing=False), files=(pdf,)),
    )
    counts = searched.counts()
    assert counts.subject == (FacetCount("Sea", 2), FacetCount("Ice", 1))
    assert counts.access == (FacetCount("open", 3), FacetCount("embargo", 1), FacetCount("restricted", 1))
    assert counts.file == (FacetCount("pdf", 2), FacetCount("document", 1), FacetCount("image", 1))
    assert searched.minutes("", (Facet.SUBJECT, "Sea")) == [2, 1]
    assert searched.minutes("", (Facet.ACCESS, "open")) == [5, 4, 1]
    assert searched.minutes("", (Facet.ACCESS, "embargo")) == [3]
    assert searched.minutes("", (Facet.ACCESS, "restricted")) == [2]
    assert searched.minutes("", (Facet.ACCESS, "nonsense")) == []
    assert searched.minutes("", (Facet.FILE, "pdf")) == [2, 1]
    assert searched.counts(str(forms_at(1).labels[0])).file == (FacetCount("image", 1), FacetCount("pdf", 1))


def test_all_years_are_told_in_their_order(searched: Searched) -> None:
    searched.put(*(described(number, date=str(1990 + 3 * (number % 25))) for number in range(30)))
    years = searched.counts().all_years
    assert [count.value for count in years] == [str(1990 + 3 * number) for number in range(25)]
    assert sum(count.number for count in years) == 30
    assert len(searched.counts().year) == 20


def test_filters_combine_with_words_and_with_each_other(searched: Searched) -> None:
    searched.put(
        described(1, "red", creator=("Ávila, Ana", "Banon, G."), date="1999"),
        described(2, "red", creator="Banon, G.", date="2001"),
        described(3, "blue", creator="Banon, G.", date="2001"),
    )
    banon, ana, y2001 = (Facet.CREATOR, "Banon, G."), (Facet.CREATOR, "Ávila, Ana"), (Facet.YEAR, "2001")
    assert searched.minutes("", banon) == [3, 2, 1]
    assert searched.minutes("red", banon, y2001) == [2]
    assert searched.minutes("", banon, ana) == [1]
    assert searched.minutes("", ana, y2001) == []
    assert searched.minutes("-red", banon) == [3]
    assert searched.minutes("", (Facet.CREATOR, "banon, g.")) == []  # values are values, not words
    assert searched.minutes("", (Facet.CREATOR, "A\u0301vila,  Ana")) == [1]
    assert searched.minutes("", (Facet.CREATOR, "\ud800\0")) == []
    assert searched.counts("", y2001).creator == (FacetCount("Banon, G.", 2),)


def test_the_most_frequent_values_are_given(searched: Searched) -> None:
    searched.put(*(described(number, creator=(f"Author {number:02}", "Everybody")) for number in range(30)))
    creators = searched.counts().creator
    assert len(creators) == 20
    assert creators[:2] == (FacetCount("Everybody", 30), FacetCount("Author 00", 1))
    assert creators[-1] == FacetCount("Author 18", 1)


# --- order, pages, and how many --------------------------------------------------------------------------------------


def test_relevance_is_where_the_words_stand_and_then_how_new(searched: Searched) -> None:
    searched.put(
        described(1, "Snow on the red sea"),
        described(2, "Red sea"),
        described(3, "Else", subject=("red", "sea")),
        described(4, "Else", description="the red sea"),
        described(5, "The sea, and red"),
        described(6, "Red sea, revised"),
        described(7, "Red", creator="Sea, A."),
    )
    assert searched.minutes("red sea") == [6, 2, 5, 1, 7, 3, 4]
    assert searched.minutes("red sea", order=Order.NEWEST) == [7, 6, 5, 4, 3, 2, 1]
    assert searched.minutes("red sea", page=2, size=3) == [1, 7, 3]
    assert searched.minutes("red sea -revised", page=1, size=3) == [2, 5, 1]


def test_titles_are_ordered_by_their_words(searched: Searched) -> None:
    titles = ["Zebra", "água", "Agua viva", "“Água” benta", "élan", "Echo"]
    searched.put(*(described(number, title) for number, title in enumerate(titles)), described(9, []))
    assert searched.minutes(order=Order.TITLE) == [1, 3, 2, 5, 4, 9, 0]  # without a title: by its label
    assert searched.minutes("agua", order=Order.TITLE) == [1, 3, 2]


@pytest.mark.parametrize("text", ["", "title", "tit", "-other"])
@pytest.mark.parametrize("order", Order)
def test_pages_make_up_the_whole(searched: Searched, text: str, order: Order) -> None:
    searched.put(*(described(number, f"title {number:02}") for number in range(11)))
    expected = list(range(11)) if order in {Order.OLDEST, Order.TITLE} else list(range(10, -1, -1))
    pages = [searched.page(text, order=order, page=number, size=4) for number in (1, 2, 3, 4)]
    assert [minute(one) for page in pages for one in page.items] == expected
    assert [len(page.items) for page in pages] == [4, 4, 3, 0]
    assert {(page.total, page.is_more) for page in pages} == {(11, False)}


@pytest.mark.parametrize("text", ["", "title", "tit", "-other", "title title"])
def test_what_is_too_much_is_capped_and_says_so(searched: Searched, text: str) -> None:
    searched.put(*(described(number, f"title {number:02}", creator=f"C{number}") for number in range(12)))
    assert searched.page(text, most=12).is_more is False
    for order, expected in (
        (Order.RELEVANCE, [11, 10, 9, 8, 7]),
        (Order.NEWEST, [11, 10, 9, 8, 7]),
        (Order.OLDEST, [0, 1, 2, 3, 4]),
        # Everything has one order by title; of matches the newest are put in order.
        (Order.TITLE, [7, 8, 9, 10, 11] if text else [0, 1, 2, 3, 4]),
    ):
        page = searched.page(text, order=order, most=5, size=100)
        assert ([minute(one) for one in page.items], page.total, page.is_more) == (expected, 5, True)
        assert searched.minutes(text, order=order, most=5, size=3, page=2) == expected[3:]
    assert sum(count.number for count in searched.counts(text, most=5).creator) == 5


def walk(searched: Searched, text: str, *filters: tuple[Facet, str], **others: object) -> Iterator[SearchPage]:
    """All pages, as a program asks for them: after the place that a page names, or else by number."""
    query = SearchQuery(text=text, filters=filters, **others)  # type: ignore[arg-type]
    while True:
        page = searched.search.search(query)
        yield page
        if page.following is not None:
            query = replace(query, after=page.following)
        elif query.after is None and query.offset + query.size < page.total:
            query = replace(query, page=query.page + 1)
        else:
            return


def ranked_and_rest(order: Order, text: str) -> list[int]:
    """Twelve, the newest five of them ranked."""
    newest = list(range(11, -1, -1))
    if order is Order.OLDEST or (order is Order.TITLE and not text):
        return newest[::-1]
    return [*sorted(newest[:5]), *newest[5:]] if order is Order.TITLE else newest


@pytest.mark.parametrize("size", [2, 5, 7])
@pytest.mark.parametrize("text", ["", "title", "tit", "-other"])
@pytest.mark.parametrize("order", Order)
def test_a_list_is_walked_to_its_end_however_long_it_is(searched: Searched, text: str, order: Order, size: int) -> None:
    searched.put(*(described(number, f"title {number:02}") for number in range(12)))

    pages = list(walk(searched, text, order=order, size=size, most=5))

    assert [minute(one) for page in pages for one in page.items] == ranked_and_rest(order, text)
    assert {(page.total, page.is_more) for page in pages} == {(5, True)}


@pytest.mark.parametrize("order", Order)
def test_items_of_one_title_are_walked_through_too(searched: Searched, order: Order) -> None:
    searched.put(*(described(number, "Same" if number % 3 else "Other") for number in range(20)))
    found = [minute(one) for page in walk(searched, "", order=order, size=2, most=4) for one in page.items]
    assert sorted(found) == list(range(20))


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("text", ["", "title"])
def test_what_comes_and_goes_moves_no_place(searched: Searched, order: Order, text: str) -> None:
    """Between two pages an item is deleted at which the second one begins, and a new one is deposited."""
    searched.put(*(described(number, f"title {number:02}") for number in range(2, 12)))
    first = searched.page(text, order=order, size=5, most=5)
    assert first.following is not None
    last = searched.catalog.find(first.following.name)
    assert last is not None
    searched.put(replace(last, state=State.DELETED, tombstone=Tombstone(Instant(1_700_000_000), "withdrawn")))
    searched.put(described(40 if order in {Order.NEWEST, Order.RELEVANCE} else 0, "title 00"))

    second = searched.page(text, order=order, size=5, most=5, after=first.following)

    expected = ranked_and_rest(order, text)
    rest = [number for number in expected if number >= 2 and number not in {minute(one) for one in first.items}]
    assert [minute(one) for one in second.items] == rest[:5]


def test_who_finds_enough_with_the_finished_word_does_not_look_for_longer_ones(searched: Searched) -> None:
    searched.put(*(described(number, "sea" if number % 2 else "seashore") for number in range(10)))
    assert searched.minutes("sea", most=4, size=10) == [9, 7, 5, 3]
    assert searched.minutes("sea", most=5, size=10) == [9, 8, 7, 6, 5]
    assert searched.page("seas", most=5).total == 5


def test_a_thousand_matches_are_enough_to_call_a_word_finished() -> None:
    titles = ["sea"] * (ENOUGH + 1) + ["seashore"]
    with in_memory() as one, in_sqlite() as other:
        for searched in (one, other):
            for number, title in enumerate(titles):
                searched.put(described(number, title))
            assert searched.page("sea").total == ENOUGH + 1
            searched.catalog.remove(forms_at(0).labels[0])
            assert searched.page("sea").total == ENOUGH + 1  # the longer word among them


def test_any_page_and_size_is_answered(searched: Searched) -> None:
    searched.put(described(1), described(2))
    assert searched.minutes(page=0) == searched.minutes(page=-5) == searched.minutes(size=100_000) == [2, 1]
    assert searched.minutes(size=0) == [2]
    assert searched.minutes(page=10**30) == []


# --- any items, any questions: every adapter finds the same --------------------------------------------------------

WORDS = st.sampled_from(
    ["a b.pdf", "Relatório", "relato", "x", "100%", "日本語", "ファイル", "url", "script", "evil.org", "B"]
)
TEXTS = st.lists(
    st.builds(str.format, st.sampled_from(["{}", "-{}", '"{}"', '-"{}"']), WORDS | st.text(max_size=4)), max_size=3
).map(" ".join)


@settings(deadline=None)
@given(st.data())
def test_every_adapter_finds_the_same(data: st.DataObject) -> None:
    kept = [data.draw(items(number)) for number in range(data.draw(st.integers(1, 6)))]
    with in_memory() as one, in_sqlite() as other:
        for searched in (one, other):
            searched.put(*kept)
        pairs = [(facet, count.value) for facet in Facet for count in one.counts().of(facet)] or [(Facet.YEAR, "2000")]
        for _ in range(5):
            query = SearchQuery(
                text=data.draw(TEXTS),
                filters=tuple(data.draw(st.lists(st.sampled_from(pairs), max_size=1))),
                order=data.draw(st.sampled_from(Order)),
                page=data.draw(st.integers(1, 2)),
                size=data.draw(st.integers(1, 4)),
                most=data.draw(st.integers(2, 20)),
            )
            assert one.search.search(query) == other.search.search(query)
            assert one.search.facets(query) == other.search.facets(query)


@settings(deadline=None)
@given(st.data())
def test_a_count_is_what_its_filter_finds(data: st.DataObject) -> None:
    with in_sqlite() as searched:
        searched.put(*(data.draw(items(number)) for number in range(4)))
        for facet in Facet:
            for count in searched.counts().of(facet):
                assert searched.page("", (facet, count.value)).total == count.number
