"""`archive.copies_at`: the Archives that hold Copies, by the labels of their services and the prefixes of items."""

from __future__ import annotations

import pytest

from ibi.settings import load_settings
from ibi.settings.errors import InvalidSetting
from ibi.standard.label import parse
from ibi.standard.messages.holders import CopyHolder

VARIABLE = "IBI_ARCHIVE_COPIES_AT"
ONE, TWO = "one.br/arq/2020/01.01.00.00", "8JMKD3MGP8W/3UM2JL2"


def many(number: int) -> str:
    return " ".join(f"one.br/arq/2020/01.01.00.{minute:02}" for minute in range(number))


def test_labels_of_either_form_are_read_each_once() -> None:
    assert load_settings({}, {}).archive.copies_at is None
    settings = load_settings({}, {VARIABLE: f" {ONE}  {TWO} {TWO.lower()} "})
    assert settings.archive.copies_at == (CopyHolder(parse(ONE)), CopyHolder(parse(TWO)))
    assert len(load_settings({}, {VARIABLE: many(32)}).archive.copies_at or ()) == 32


def test_a_holder_may_have_copies_of_some_prefixes_only() -> None:
    settings = load_settings({}, {VARIABLE: f"{ONE}=lab.br/arq,8JMKD3MGP8W {TWO}"})
    some, all_items = settings.archive.copies_at or ()
    assert some.prefixes == {"lab.br/arq", "8jmkd3mgp8w"}
    assert all_items.prefixes == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        many(33),
        "http://one.br",
        f"{ONE}, {TWO}",
        "one.br",
        f"{ONE} é",
        f"{ONE}=",
        f"{ONE}=lab.br/arq,",
        f"{ONE}={ONE}",
        f"{ONE} {ONE}=lab.br/arq",
        f"{ONE}=" + ",".join(f"lab.br/a{number}" for number in range(65)),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match=VARIABLE) as refused:
        load_settings({}, {VARIABLE: text})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400
