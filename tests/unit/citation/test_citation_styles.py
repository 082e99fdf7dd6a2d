"""The text of citations is frozen: varied works in every style and language, compared with a recorded file.

To record it again, after a change that is meant: `.venv/bin/python -m tests.unit.citation.test_citation_styles`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from lxml import etree

from ibi.citation import service as citation_styles
from ibi.citation.rules.work import Run, Work
from ibi.citation.service import STYLES, cite
from ibi.items.model.metadata import ResourceType
from ibi.standard.instant import Instant
from tests.unit.citation.works import BANON, cited

RECORDED = Path(__file__).with_name("recorded_citations.txt")
LANGUAGES = ("en", "pt-BR", "es")
ON = Instant(1_794_700_000)
INSTITUTION = "Instituto Nacional de Pesquisas Espaciais"
TWO = ("Banon, Gerald Jean Francis", "Lise Christine Banon")
MANY = tuple(f"Silva{index:02}, Ana Bê" for index in range(1, 13))
WORKS = {
    "nothing but a title": cited(),
    "not even a title": cited(None),
    "thesis": cited(
        "Uma tese: com subtítulo",
        creator=BANON,
        contributor="Ana Ávila",
        type="Tese",
        date="2009-02-16",
        publisher="São José dos Campos: INPE",
        description="Um resumo.",
    ),
    "article with its place": cited(
        "On images",
        creator=TWO,
        type="journal article",
        date="2020-11",
        source=("Revista Brasileira", "v. 3, n. 2, p. 1–9"),
    ),
    "article of many authors": cited("On rivers", creator=MANY, type="Artigo", date="2021", source="Nature"),
    "chapter": cited(
        "First steps",
        creator=TWO,
        contributor="Editor, Eva",
        type="book part, chapter",
        date="1999",
        source=("A big book", "cap. 4, p. 10–20"),
        publisher="Springer",
    ),
    "book": cited("Um livro", creator=BANON, type="Livro", date="1987-05-03", publisher="Rio de Janeiro: Vozes"),
    "book of an institution": cited("Atlas", creator=(INSTITUTION,), type="book", date="2001", publisher=INSTITUTION),
    "conference paper": cited(
        "Mathematical morphology",
        creator=TWO,
        type="conference paper",
        date="1995-07-02",
        source="Proceedings of ISMM",
    ),
    "report without author": cited("Relatório de atividades", type="Relatório", date="2003", publisher="INPE"),
    "report without author and publisher": cited("Relatório de atividades", type="Relatório", date="2003"),
    "dataset": cited("Leaf areas", ResourceType.DATASET, creator=MANY[:3], date="2026-11-15", publisher="Zenodo"),
    "software": cited("ibi <em>& more</em>", ResourceType.SOFTWARE, creator=BANON, date="2026", publisher="URLib"),
    "image": cited("O rio", ResourceType.STILL_IMAGE, creator=("Cher",), date="1930"),
    "film": cited("Um filme", ResourceType.MOVING_IMAGE, creator=TWO, date="c. 1960"),
    "music": cited("Bachianas", ResourceType.SOUND, creator=("Villa-Lobos, Heitor",), date="1945"),
    "page": cited("A page", ResourceType.INTERACTIVE_RESOURCE, creator=("Иван Петров", "毛泽东"), date="2011-01"),
    "DOI and quotes": cited(
        'He said “yes” and "no"',
        creator=("Silva, José, Jr.", "Ludwig van Beethoven"),
        type="article",
        date="2015",
        identifier="10.1590/S0102-261X2009000100001",
        source="Journal of Tests",
    ),
}


def marked(runs: tuple[Run, ...]) -> str:
    """The text of a citation, with italics between asterisks."""
    return "".join(f"*{run.text}*" if run.italic else run.text for run in runs)


def written(style: str) -> Iterator[str]:
    """One line for each language and work: style, language, work and citation."""
    for language in LANGUAGES:
        for name, work in WORKS.items():
            yield f"{style}|{language}|{name}|{_cite(work, style, language)}"


def _cite(work: Work, style: str, language: str) -> str:
    made = cite(work, style, language, ON)
    assert made.style == STYLES[style]  # and not the style that stands in for one that fails
    return marked(made.runs)


@pytest.mark.parametrize("style", STYLES)
def test_every_work_is_cited_as_recorded(style: str) -> None:
    recorded = RECORDED.read_text(encoding="utf-8").splitlines()
    assert list(written(style)) == [line for line in recorded if line.startswith(f"{style}|")]


def test_the_files_of_the_styles_are_as_their_licence_and_origin_say() -> None:
    folder = Path(citation_styles.__file__).parent / "csl"
    text = (folder / "LICENSE.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z0-9-]+\.csl)` \| `([0-9a-f]{64})` \|$", text, re.MULTILINE))
    assert told == {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.csl")}
    for name in told:
        info = etree.parse(folder / name).getroot().find("{*}info")
        assert info is not None
        rights = info.find("{*}rights")
        assert rights is not None
        assert rights.get("license") == "http://creativecommons.org/licenses/by-sa/3.0/"
        assert info.find("{*}author") is not None


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for style in STYLES for line in written(style)), encoding="utf-8")
