"""Works to cite."""

from __future__ import annotations

from ibi.citation.rules.work import Day, Work, work_of
from ibi.items.model.metadata import Agent, DescriptiveMetadata, ResourceType, Text
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms
from tests.support.flat_items import new_item

__all__ = ["ACCESSED", "BANON", "URL", "cited"]

LABELS = LabelForms.of(parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46"), parse("8JMKD3MGP8W/34PGRBS"))
URL = "http://urlib.net/8JMKD3MGP8W/34PGRBS"
ACCESSED = Day(2026, 11, 15)
BANON = ("Banon, Gerald Jean Francis",)


def cited(
    title: str | None = "Um título", resource_type: ResourceType | None = None, **elements: tuple[str, ...] | str
) -> Work:
    values = {name: (value,) if isinstance(value, str) else value for name, value in elements.items()}
    agents = {name: tuple(map(Agent, values.pop(name))) for name in ("creator", "contributor") if name in values}
    texts = {name: tuple(map(Text, value)) for name, value in values.items()}
    titles = () if title is None else (Text(title),)
    metadata = DescriptiveMetadata(title=titles, resource_type=resource_type, **agents, **texts)  # type: ignore[arg-type]
    now = Instant(1_700_000_000)
    item = new_item(labels=LABELS, created=now, updated=now, metadata=metadata, language=LanguageTag("pt"))
    return work_of(item, URL)
