"""R Table 8.2: where every modifier leads, whether one Archive has all the items or two share them.

The items are ours: a work in two editions, each in English and Portuguese, each text with metadata in both languages.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ibi.archive.rules.answer import answer
from ibi.archive.rules.profile import ArchiveProfile
from ibi.items.model.item import Item
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Missing, Redirect, RelatedItemMissing
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, UrlRequest
from ibi.standard.messages.identification import UrlKeys
from tests.support.archive_catalog import PlainCatalog
from tests.support.scripted_archives import Script, archive, resolve
from tests.support.standards_archives import NOW, UrlibUrls, forms, item

KEYS = UrlKeys(b"s" * 32)
EN, PT = LanguageTag("en"), LanguageTag("pt")
ONE, OTHER = archive("one"), archive("other")

# Edition, language of the text, language of the metadata; the text itself has none of that.
NAMES = {
    f"{edition}{language}{about}": f"example.org/lib/20{edition}0/0{month}.01.00.0{minute}"
    for edition in "12"
    for month, language in enumerate(("en", "pt"), 1)
    for minute, about in enumerate(("", ":en", ":pt"), 1)
}


def label(name: str) -> LabelForms:
    return forms(NAMES[name])


def text(name: str) -> Item:
    edition, language = name[0], name[1:3]
    return item(
        NAMES[name],
        at="2015-03-15T02:40:14Z",
        files=("text.pdf",),
        language=LanguageTag(language),
        translation_of=label(f"{edition}en") if language == "pt" else None,
        translations=((EN, label(f"{edition}en")), (PT, label(f"{edition}pt"))),
        next_edition=label(f"2{language}") if edition == "1" else None,
        edition_of=label(f"1{language}") if edition == "2" else None,
        metadata_item=label(f"{name}:en"),
    )


def description(name: str) -> Item:
    described, _, language = name.partition(":")
    return item(
        NAMES[name],
        at="2015-03-15T02:40:14Z",
        files=("metadata.cgi",),
        language=LanguageTag(language),
        translation_of=label(f"{described}:en") if language == "pt" else None,
        translations=((EN, label(f"{described}:en")), (PT, label(f"{described}:pt"))),
        describes=label(described) if language == "en" else None,
    )


ITEMS = {name: description(name) if ":" in name else text(name) for name in NAMES}
SHARES = {
    "same Archive": frozenset(NAMES),
    "editions apart": frozenset(name for name in NAMES if name[0] == "1"),
    "languages apart": frozenset(name for name in NAMES if name[1:3] == "en"),
    "metadata apart": frozenset(name for name in NAMES if ":" not in name),
    "languages of metadata apart": frozenset(name for name in NAMES if not name.endswith(":pt")),
    "first edition in English apart": frozenset({"1en", "1en:en"}),
}
LEADS_TO = {
    "": "1en",
    ":": "1en:en",
    ":+": "1en:pt",
    "!": "2en",
    "!+": "2pt",
    "!:": "2en:en",
    "!+:": "2pt:en",
    "!:+": "2en:pt",
    "!+:+": "2pt:pt",
    "+": "1pt",
    "+!": "2pt",
    "+:": "1pt:en",
    "+!:": "2pt:en",
    "+:+": "1pt:pt",
    "+!:+": "2pt:pt",
}


def script(of: ArchiveRef, kept: frozenset[str], follow_editions: bool, filtered: bool) -> Script:
    return answering(of, PlainCatalog(*(ITEMS[name] for name in kept)), follow_editions, filtered)


def answering(of: ArchiveRef, catalog: PlainCatalog, follow_editions: bool = True, filtered: bool = True) -> Script:
    urls = UrlibUrls(of.address)
    profile = ArchiveProfile(of.address, of.service, urls, follow_editions=follow_editions, filtered=filtered)

    def ask(request: UrlRequest) -> bytes:
        return answer(profile, catalog, request.to_query(), NOW, 1, KEYS)[0]

    return ask


def network(share: str, follow_editions: bool = True, filtered: bool = True) -> Mapping[ArchiveRef, Script]:
    here = SHARES[share]
    return {
        ONE: script(ONE, here, follow_editions, filtered),
        OTHER: script(OTHER, frozenset(NAMES) - here, follow_editions, filtered),
    }


def place(name: str, share: str) -> str:
    host = ONE.address if name in SHARES[share] else OTHER.address
    return f"http://{host}/col/{NAMES[name]}/doc/{'metadata.cgi' if ':' in name else 'text.pdf'}"


@pytest.mark.parametrize("filtered", [True, False], ids=["filtered", "whole"])
@pytest.mark.parametrize("follow_editions", [True, False], ids=["following", "not following"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", LEADS_TO)
def test_the_modifier_leads_to_the_right_item(modifier: str, share: str, follow_editions: bool, filtered: bool) -> None:
    outcome = resolve(f"{NAMES['1en']}{modifier}", network(share, follow_editions, filtered), "pt-BR, fr;q=0.5")
    assert isinstance(outcome, Redirect)
    assert outcome.url == place(LEADS_TO[modifier], share)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", LEADS_TO)
def test_the_modifier_leads_to_the_right_item_with_the_languages_named_and_the_original_required(
    modifier: str, share: str
) -> None:
    url = f"{NAMES['1en']}{modifier.replace('+', '+(pt)')}?ibiurl.requireditemstatus=Original"
    outcome = resolve(url, network(share), "en")
    assert isinstance(outcome, Redirect)
    assert outcome.url == place(LEADS_TO[modifier], share)


@pytest.mark.parametrize("share", SHARES)
def test_a_language_that_no_archive_has_is_told_with_those_there_are(share: str) -> None:
    outcome = resolve(f"{NAMES['1en']}+(fr)", network(share))
    assert isinstance(outcome, RelatedItemMissing)
    assert (outcome.missing, list(map(str, outcome.languages))) == (Missing.TRANSLATION, ["en", "pt"])


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", ["", "!", "+", "!+", "+!"])
def test_a_file_that_is_not_there_is_told(modifier: str, share: str) -> None:
    """E16: the path travels along to the item that the modifier selects."""
    outcome = resolve(f"{NAMES['1en']}{modifier}/nothing.txt", network(share), "pt")
    assert isinstance(outcome, RelatedItemMissing)
    assert outcome.missing is Missing.FILE
    found = resolve(f"{NAMES['1en']}{modifier}/text.pdf", network(share), "pt")
    assert isinstance(found, Redirect)
    assert found.url == place(LEADS_TO[modifier], share)


@pytest.mark.parametrize("filtered", [True, False], ids=["filtered", "whole"])
@pytest.mark.parametrize("is_apart", [True, False], ids=["metadata apart", "same Archive"])
@pytest.mark.parametrize("modifier", [":+", "!:+", "+:+", "!+:+", "+!:+"])
def test_the_metadata_of_an_item_without_a_language_has_its_translations(
    modifier: str, is_apart: bool, filtered: bool
) -> None:
    """R §9.2: such an item is its own translation, into none; what is said of it is in languages nevertheless."""
    mute = item(NAMES["1en"], at="2015-03-15T02:40:14Z", files=("map.tif",), metadata_item=label("1en:en"))
    about = (ITEMS["1en:en"], ITEMS["1en:pt"])
    one, other = ((mute,), about) if is_apart else ((mute, *about), ())
    archives = {of: answering(of, PlainCatalog(*kept), filtered=filtered) for of, kept in ((ONE, one), (OTHER, other))}
    outcome = resolve(f"{NAMES['1en']}{modifier}", archives, "pt-BR, fr;q=0.5")
    assert isinstance(outcome, Redirect)
    assert outcome.url.endswith(f"/col/{NAMES['1en:pt']}/doc/metadata.cgi")
