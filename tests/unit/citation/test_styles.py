from __future__ import annotations

import pytest

from ibi.citation.rules.abnt import abnt
from ibi.citation.rules.apa import apa
from ibi.citation.rules.work import Day, Run, Work, plain
from ibi.items.model.metadata import ResourceType
from ibi.standard.instant import Instant
from tests.unit.citation.works import ACCESSED, BANON, URL, cited

END = f"Disponível em: {URL}. Acesso em: 15 nov. 2026."


def in_abnt(work: Work) -> str:
    return marked(abnt(work, ACCESSED))


def marked(runs: tuple[Run, ...]) -> str:
    """What is in italics, between asterisks."""
    return "".join(f"*{run.text}*" if run.italic else run.text for run in runs)


def people(number: int) -> tuple[str, ...]:
    return tuple(f"F{index}, Ana" for index in range(1, number + 1))


# --- ABNT ------------------------------------------------------------------------------------------------------------


def test_abnt_of_a_work_that_stands_for_itself() -> None:
    work = cited(creator=BANON, publisher="São José dos Campos: INPE", date="2009-02-16")
    assert in_abnt(work) == f"BANON, Gerald Jean Francis. *Um título*. São José dos Campos: INPE, 2009. {END}"


def test_abnt_says_what_is_not_known() -> None:
    assert in_abnt(cited(creator=BANON)) == f"BANON, Gerald Jean Francis. *Um título*. [*S. l.: s. n.*], [2009?]. {END}"
    work = cited(creator=BANON, publisher="INPE", date="2001")
    assert in_abnt(work) == f"BANON, Gerald Jean Francis. *Um título*. [*S. l.*]: INPE, 2001. {END}"


def test_abnt_without_an_author_begins_with_the_title() -> None:
    assert in_abnt(cited("Relatório de atividades", date="2001")) == (
        f"RELATÓRIO de atividades. [*S. l.: s. n.*], 2001. {END}"
    )


def test_abnt_without_anything_cites_the_label() -> None:
    assert in_abnt(cited(None)).startswith("SID.INPE.BR/MTC-M18@80/2009/02.16.17.46. [")


@pytest.mark.parametrize(
    ("creators", "shown"),
    [
        (people(2), "F1, Ana; F2, Ana."),
        (people(3), "F1, Ana; F2, Ana; F3, Ana."),
        (people(4), "F1, Ana *et al*."),
        (("Instituto Nacional de Pesquisas Espaciais",), "INSTITUTO NACIONAL DE PESQUISAS ESPACIAIS."),
        (("José Almeida Filho",), "ALMEIDA FILHO, José."),
        (("Banon, G. J. F.",), "BANON, G. J. F."),
    ],
)
def test_abnt_names(creators: tuple[str, ...], shown: str) -> None:
    assert in_abnt(cited(creator=creators)).startswith(f"{shown} *Um título*.")


def test_abnt_of_parts_and_theses() -> None:
    article = cited(creator=BANON, type="Artigo", source="Revista X, v. 3", date="2009")
    assert in_abnt(article) == f"BANON, Gerald Jean Francis. Um título. *Revista X, v. 3*, 2009. {END}"
    chapter = cited(creator=BANON, type="Book chapter", source="O livro", publisher="Rio: Ed", date="2009")
    assert in_abnt(chapter) == f"BANON, Gerald Jean Francis. Um título. In: *O livro*. Rio: Ed, 2009. {END}"
    thesis = cited(creator=BANON, type="Tese (Doutorado)", publisher="INPE", date="2009")
    assert in_abnt(thesis) == f"BANON, Gerald Jean Francis. *Um título*. 2009. Tese (Doutorado) – INPE, 2009. {END}"


def test_abnt_writes_may_in_full() -> None:
    assert plain(abnt(cited(), Day(2026, 5, 1))).endswith("Acesso em: 1 maio 2026.")
    assert Day.of(Instant(1_794_700_800)) == Day(2026, 11, 15)


@pytest.mark.parametrize("title", ["O que é?", "Fim.", "Ele disse “sim.”"])
def test_no_stop_after_a_stop(title: str) -> None:
    assert f"*{title}* [" in in_abnt(cited(title, creator=BANON))


# --- APA -------------------------------------------------------------------------------------------------------------


def test_apa_of_a_work_that_stands_for_itself() -> None:
    work = cited(creator=(*BANON, "Ana Ávila"), publisher="INPE", date="2009-02-16")
    assert marked(apa(work)) == f"Banon, G. J. F., & Ávila, A. (2009). *Um título*. INPE. {URL}"


def test_apa_without_author_date_or_publisher() -> None:
    assert marked(apa(cited())) == f"*Um título*. (2009). {URL}"


def test_apa_leaves_out_a_publisher_that_is_the_author() -> None:
    work = cited(creator="Instituto Nacional", publisher="instituto nacional", date="2009")
    assert marked(apa(work)) == f"Instituto Nacional. (2009). *Um título*. {URL}"


def test_apa_says_what_is_not_a_text() -> None:
    assert marked(apa(cited("Maps", ResourceType.DATASET))) == f"*Maps* [Data set]. (2009). {URL}"


def test_apa_of_parts_and_theses() -> None:
    article = cited(creator=BANON, type="article", source="Journal of X", date="2009", publisher="P")
    assert marked(apa(article)) == f"Banon, G. J. F. (2009). Um título. *Journal of X*. {URL}"
    paper = cited(creator=BANON, type="Conference paper", source="Proceedings", date="2009", publisher="P")
    assert marked(apa(paper)) == f"Banon, G. J. F. (2009). Um título. In *Proceedings*. P. {URL}"
    thesis = cited(creator=BANON, type="Doctoral thesis", date="2009", publisher="INPE")
    assert marked(apa(thesis)) == f"Banon, G. J. F. (2009). *Um título* [Doctoral thesis, INPE]. {URL}"


def test_apa_names_twenty_and_of_more_the_first_nineteen_and_the_last() -> None:
    twenty, many = plain(apa(cited(creator=people(20)))), plain(apa(cited(creator=people(30))))
    assert "F19, A., & F20, A. (" in twenty
    assert "F19, A., … F30, A. (" in many
    assert "F20" not in many


# --- volume, issue and pages -----------------------------------------------------------------------------------------

IN_JOURNAL = cited(creator=BANON, type="Artigo", date="2020", source=("Revista", "v. 3, n. 2, p. 1–9"))


def test_abnt_of_an_article_tells_volume_issue_and_pages() -> None:
    assert "*Revista*, v. 3, n. 2, p. 1-9, 2020." in in_abnt(IN_JOURNAL)


def test_apa_of_an_article_tells_volume_issue_and_pages() -> None:
    assert "*Revista*, *3*(2), 1–9." in marked(apa(IN_JOURNAL))


def test_pages_of_a_chapter_follow_what_it_is_part_of() -> None:
    chapter = cited(creator=BANON, type="Book chapter", date="2020", source=("p. 1–9", "A book"))
    assert "In: *A book*. [*S. l.: s. n.*], 2020. p. 1-9." in in_abnt(chapter)
    assert "In *A book* (pp. 1–9)." in marked(apa(chapter))
