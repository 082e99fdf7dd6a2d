"""The items of the demonstration, each with a name in this list and its relations to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from ibi.items.model.metadata import Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.networks import network

_EN: Final = LanguageTag("en")
_ANA: Final = Agent("Ávila, Ana Beatriz", Orcid("0000-0002-1825-0097"))
_TEAM: Final = (Agent("Moreira, Júlio"), Agent("Okafor, Ngozi"), Agent("Suárez, Lucía"))
_INSTITUTE: Final = Agent("Institute of Example Studies")
_EMBARGO: Final = Instant.parse("2031-01-01T00:00:00Z")


@dataclass(frozen=True, slots=True)
class DemoDeletion:
    """The deletion of an item after its deposit. `replaced_by` is the name of another item of this list."""

    reason: str
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoItem:
    """An item of the demonstration. `edition_of` and `translation_of` are names of items earlier in the list."""

    name: str
    metadata: DescriptiveMetadata
    language: LanguageTag | None = _EN
    files: Callable[[], Mapping[str, bytes]] = dict
    """Called when the files are needed: a start that finds all items deposited makes none."""
    target: str | None = None
    path_of_service: str | None = None
    """The path on this site of an item that is a service."""
    edition_of: str | None = None
    translation_of: str | None = None
    visibility: Visibility = Visibility.PUBLIC
    deleted: DemoDeletion | None = None


def demo_items() -> tuple[DemoItem, ...]:
    return (
        *_thesis(),
        _rainfall(),
        *_guides(),
        _images(),
        _notebook(),
        _make_embargoed(),
        _service(),
        _make_withdrawn(),
    )


def _thesis() -> tuple[DemoItem, DemoItem]:
    title = "Flying rivers: how a forest waters a continent"
    abstract = "A thesis on the water that a rain forest lifts into the air, where the wind takes it, and who gets it."
    first = DemoItem(
        name="thesis, first edition",
        metadata=_describe(title, abstract, (_ANA,), "2019", ResourceType.TEXT, "hydrology", "forests"),
        files=lambda: {"thesis.pdf": _content("thesis-1.pdf")},
        target="thesis.pdf",
    )
    second = DemoItem(
        name="thesis, second edition",
        metadata=_describe(
            f"{title} (2nd edition)", abstract, (_ANA,), "2023", ResourceType.TEXT, "hydrology", "forests"
        ),
        files=lambda: {
            "thesis.pdf": _content("thesis-2.pdf"),
            "corrections.txt": b"Chapter 1, table 2: stations 7 and 9 are counted once.\n",
        },
        target="thesis.pdf",
        edition_of=first.name,
    )
    return first, second


def _rainfall() -> DemoItem:
    readme = (
        b"Monthly rain at three stations that do not exist.\nColumns: month, rain in millimetres, days with rain.\n"
    )
    return DemoItem(
        name="rainfall",
        metadata=_describe(
            "Monthly rainfall at three stations, 2023 to 2025",
            "Measurements for a demonstration: nine tables in three folders.",
            _TEAM,
            "2026",
            ResourceType.DATASET,
            "rainfall",
            "open data",
        ),
        files=lambda: {"README.txt": readme, **_tables()},
        target="README.txt",
    )


def _tables() -> dict[str, bytes]:
    places = [(station, year) for station in (1, 2, 3) for year in (2023, 2024, 2025)]
    return {f"station {station}/{year}.csv": _rainfall_table(station, year) for station, year in places}


_GUIDES: Final = {
    "en": ("How to read an IBI", "What an identifier says by itself: who named an item, and when."),
    "pt-BR": ("Como ler um IBI", "O que um identificador diz por si só: quem nomeou um item, e quando."),
    "es": ("Cómo leer un IBI", "Lo que un identificador dice por sí solo: quién nombró un ítem, y cuándo."),
}


def _guides() -> tuple[DemoItem, ...]:
    return tuple(_guide(language, *described) for language, described in _GUIDES.items())


def _guide(language: str, title: str, abstract: str) -> DemoItem:
    tag = LanguageTag.parse(language, registered=True)
    return DemoItem(
        name=f"guide in {language}",
        metadata=DescriptiveMetadata(
            title=(Text(title, tag),),
            creator=(_INSTITUTE,),
            description=(Text(abstract, tag),),
            date=(Text("2025"),),
            publisher=(Text("Institute of Example Studies"),),
            resource_type=ResourceType.TEXT,
            licence=Licence("CC-BY-4.0"),
        ),
        language=tag,
        files=lambda: {"guide.html": _content(f"guide.{language}.html")},
        target="guide.html",
        translation_of=None if language == "en" else "guide in en",
    )


def _images() -> DemoItem:
    names = [f"{month}.png" for month in ("january", "april", "july", "october")]
    return DemoItem(
        name="images",
        metadata=_describe(
            "One valley in four seasons",
            "Four images of a valley that was never photographed.",
            (Agent("Suárez, Lucía"),),
            "2024",
            ResourceType.IMAGE,
            "remote sensing",
        ),
        files=lambda: {name: _content(name) for name in names},
        target="january.png",
        language=None,
    )


def _notebook() -> DemoItem:
    return DemoItem(
        name="notebook",
        metadata=_describe(
            "Field notebook of the third campaign",
            "Kept for those who were there: its file is given out in the institute's own network alone.",
            _TEAM[:2],
            "2024",
            ResourceType.TEXT,
            "field work",
        ),
        files=lambda: {"notebook.txt": _content("notebook.txt")},
        target="notebook.txt",
        visibility=Visibility(networks=(network("192.0.2.0/24"),)),
    )


def _make_embargoed() -> DemoItem:
    return DemoItem(
        name="model output",
        metadata=_describe(
            "Output of the vapour model, run 12",
            "Described for all readers today, given out from 2031 on.",
            _TEAM,
            "2026",
            ResourceType.DATASET,
            "models",
        ),
        files=lambda: {"run12.csv": _rainfall_table(12, 2026)},
        target="run12.csv",
        visibility=Visibility(embargo=_EMBARGO),
    )


def _service() -> DemoItem:
    return DemoItem(
        name="explainer",
        metadata=_describe(
            "Identifier explainer",
            "A Web service with an identifier of its own: pairs after the persistent link are passed on to it.",
            (_INSTITUTE,),
            "2026",
            ResourceType.SERVICE,
            "persistent identifiers",
        ),
        path_of_service="/explain",
        language=None,
    )


def _make_withdrawn() -> DemoItem:
    return DemoItem(
        name="withdrawn tables",
        metadata=_describe(
            "Monthly rainfall at three stations, preliminary",
            "Withdrawn: one of the gauges had been read in inches.",
            _TEAM,
            "2025",
            ResourceType.DATASET,
            "rainfall",
        ),
        files=lambda: {"rain.csv": _rainfall_table(1, 2022)},
        deleted=DemoDeletion("One of the gauges had been read in inches.", replaced_by="rainfall"),
    )


def _describe(
    title: str, abstract: str, creators: tuple[Agent, ...], year: str, kind: ResourceType, *subjects: str
) -> DescriptiveMetadata:
    return DescriptiveMetadata(
        title=(Text(title, _EN),),
        creator=creators,
        description=(Text(abstract, _EN),),
        subject=tuple(Text(subject, _EN) for subject in subjects),
        date=(Text(year),),
        publisher=(Text("Institute of Example Studies"),),
        resource_type=kind,
        licence=Licence("CC-BY-4.0"),
    )


def _content(name: str) -> bytes:
    """Return a file of this package."""
    return (files("ibi.app.demo") / "content" / name).read_bytes()


def _rainfall_table(station: int, year: int) -> bytes:
    """Return twelve months of an invented station, always the same."""
    rows = ["month,rain_mm,days_of_rain"]
    for month in range(1, 13):
        wet = abs(month - 7) * 31
        amount = wet + (station * 37 + year * 13 + month * 101) % 47
        rows.append(f"{year}-{month:02d},{amount},{min(29, amount // 9)}")
    return ("\n".join(rows) + "\n").encode()
