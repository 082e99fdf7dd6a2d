"""`archive.copies_at`: the Archives that hold Copies, by the labels of their services."""

from __future__ import annotations

import pytest

from ibi.config import load_settings
from ibi.config.errors import InvalidSetting
from ibi.label import parse

VARIABLE = "IBI_ARCHIVE_COPIES_AT"
ONE, TWO = "one.br/arq/2020/01.01.00.00", "8JMKD3MGP8W/3UM2JL2"


def many(number: int) -> str:
    return " ".join(f"one.br/arq/2020/01.01.00.{minute:02}" for minute in range(number))


def test_labels_of_either_form_are_read_each_once() -> None:
    assert load_settings({}, {}).archive.copies_at is None
    settings = load_settings({}, {VARIABLE: f" {ONE}  {TWO} {TWO.lower()} "})
    assert settings.archive.copies_at == (parse(ONE), parse(TWO))
    assert len(load_settings({}, {VARIABLE: many(32)}).archive.copies_at or ()) == 32


@pytest.mark.parametrize("text", [many(33), "http://one.br", f"{ONE}, {TWO}", "one.br", f"{ONE} é"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match=VARIABLE) as refused:
        load_settings({}, {VARIABLE: text})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400
