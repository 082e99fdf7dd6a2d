"""Every message of pages, letters and errors is there in every language, and none that nobody says."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from ibi.web.reader import LOCALES, PAGE_LANGUAGES, locale_of, translations
from tools.messages import messages

TRANSLATED = PAGE_LANGUAGES[1:]


def written(language: str) -> Iterator[tuple[str, Message]]:
    folder = Path(str(LOCALES)) / str(locale_of(language))
    for file in sorted(folder.glob("*.po")):
        for each in read_po(BytesIO(file.read_bytes()), locale=locale_of(language)):
            if each.id:
                yield file.name, each


def _key(message: Message) -> object:
    return message.id if isinstance(message.id, str) else tuple(message.id)


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_message_is_untranslated(language: str) -> None:
    there = {_key(message) for _, message in written(language) if message.string and all(_strings(message))}

    assert messages() - there == set()


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_translation_is_of_something_that_nobody_says(language: str) -> None:
    assert {_key(message) for _, message in written(language)} - messages() == set()


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_message_is_translated_twice_or_left_uncertain(language: str) -> None:
    keys = [_key(message) for _, message in written(language)]

    assert len(keys) == len(set(keys))
    assert [message.id for _, message in written(language) if message.fuzzy] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_places_of_its_message(language: str) -> None:
    for _, message in written(language):
        ours = message.id if isinstance(message.id, str) else message.id[-1]
        for each in _strings(message):
            assert _places(each) == _places(ours), f"{language}: {ours}"


def test_a_translation_is_what_a_page_says() -> None:
    assert translations("pt-BR").gettext("Sign in") == "Entrar"
    assert translations("en").gettext("Sign in") == "Sign in"


def _strings(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ())


def _places(text: str) -> set[str]:
    """`%(name)s` of templates, `{name}` of code."""
    percent = {part.partition(")")[0] for part in text.split("%(")[1:]}
    try:
        return percent | {name for _, name, _, _ in Formatter().parse(text) if name}
    except ValueError:
        return percent
