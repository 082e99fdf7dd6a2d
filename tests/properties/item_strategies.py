"""Items and their parts, drawn by hypothesis, hostile texts among them."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network

from hypothesis import strategies as st

from ibi.items.model.description_values import Alternate
from ibi.items.model.file import File, checked_path
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.metadata import DC_ELEMENTS, Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.label.generate import mount_prefix_of_ibip
from ibi.standard.label.label import Ibip
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, State
from tests.support.flat_items import new_item

assert mount_prefix_of_ibip("150.163.34.243", 800) == "8JMKD3MGP8W"

HOSTILE = [
    "a b.pdf",
    "x\r\nurl http://evil.org/",
    "} state Deleted {",
    "{",
    "%0d%0aurl",
    "%",
    "100%.pdf",
    "a+b&c=d?e#f",
    "Relatório Final.pdf",
    "Relato\u0301rio.pdf",
    "日本語/ファイル.pdf",
    "@relatorio.pdf",
    '"><script>.html',
    "a{b}c",
    "urlkey 1426203276-5985125171467764",
]

tags = st.builds(LanguageTag, st.sampled_from(["pt", "en", "es", "fr"]), st.sampled_from([None, "BR", "US"]))
seconds = st.integers(1_200_000_000, 1_800_000_000)


def is_path(text: str) -> bool:
    try:
        return bool(checked_path(text))
    except IbiError:
        return False


_alternates = st.lists(
    st.builds(Alternate, st.sampled_from(["ibi", "doi", "x-other"]), st.text("aB/0%é", min_size=1, max_size=9)),
    max_size=3,
).map(tuple)
_words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
paths = (st.sampled_from(HOSTILE) | _words | st.builds("{}/{}".format, _words, _words)).filter(is_path)
files = st.builds(
    File,
    paths,
    st.integers(0, 1 << 50),
    st.integers(0, (1 << 512) - 1).map(lambda number: f"{number:0128x}"),
    st.sampled_from(["application/pdf", "text/plain; charset=utf-8", "application/octet-stream"]),
)


def forms_at(minute: int, *, both: bool = True) -> LabelForms:
    """The labels of the item that a subsystem of ours named in that minute."""
    instant = Instant(1_200_000_000 + minute * 60)
    rep = RepositoryName.from_parts("arq.lab.br", 80, instant)
    return LabelForms(rep, Ibip.from_parts("150.163.34.243", 800, instant) if both else None)


label_forms = st.builds(lambda minute, both: forms_at(minute, both=both), st.integers(100, 200), st.booleans())
texts = (st.sampled_from(HOSTILE) | _words).filter(lambda text: bool(text.strip()) and "\ufffe" not in text)
values = st.builds(Text, texts.filter(lambda text: "\uffff" not in text), st.none() | tags)
agents = st.builds(
    Agent,
    texts.filter(lambda text: "\uffff" not in text),
    st.sampled_from([None, Orcid("0000-0002-1825-0097"), Orcid("0000-0001-5109-3700")]),
    st.none() | tags,
)
metadata = st.builds(
    DescriptiveMetadata,
    **{
        element: st.lists(agents if element in ("creator", "contributor") else values, max_size=2).map(tuple)
        for element in DC_ELEMENTS
    },
    licence=st.sampled_from([None, Licence("CC-BY-4.0"), Licence("https://example.org/terms?a=b")]),
    resource_type=st.none() | st.sampled_from(ResourceType),
)
networks = st.sampled_from([IPv4Network("150.163.0.0/16"), IPv4Network("10.1.2.3/32"), IPv6Network("2001:db8::/32")])
visibilities = st.builds(
    Visibility,
    st.lists(networks, max_size=2, unique=True).map(tuple),
    st.none() | seconds.map(Instant),
    st.booleans(),
)


@st.composite
def items(
    draw: st.DrawFn,
    minute: int = 0,
    *,
    related: st.SearchStrategy[LabelForms] = label_forms,
    described: st.SearchStrategy[DescriptiveMetadata] = metadata,
) -> Item:
    """Any item that may exist; those it is related to come from `related` and are never itself."""
    optional = st.none() | related
    created = draw(seconds)
    state = draw(st.sampled_from(State))
    kept = draw(st.lists(files, max_size=3, unique_by=lambda file: file.path).map(tuple))
    service = draw(st.none() | st.just("https://maps.lab.br/wms?service=WMS")) if not kept else None
    language = draw(st.none() | tags)
    translations = draw(st.dictionaries(tags.filter(lambda tag: tag != language), related, max_size=2))
    edition_of, next_edition = draw(optional), draw(optional)
    describes = draw(optional)
    gone = state is State.DELETED
    return new_item(
        labels=forms_at(minute, both=draw(st.booleans())),
        state=state,
        created=Instant(created),
        updated=Instant(created + draw(st.integers(0, 10_000_000)), draw(st.sampled_from(["", "5", "001"]))),
        version=draw(st.integers(1, 100)),
        metadata=draw(described),
        language=language,
        files=() if gone else kept,
        target=draw(st.sampled_from([None, *(file.path for file in kept)])) if not gone else None,
        target_url=None if gone else service,
        visibility=draw(visibilities),
        edition_of=edition_of,
        next_edition=None if edition_of == next_edition or _share(edition_of, next_edition) else next_edition,
        translation_of=draw(optional) if language is not None else None,
        translations=tuple(translations.items()),
        metadata_item=draw(optional) if describes is None else None,
        describes=describes,
        transferable=draw(st.booleans()),
        source=draw(st.sampled_from([None, "arq.other.br", "127.0.0.1:8765"])) if state is State.COPY else None,
        owner=draw(st.sampled_from([None, "ana", "Ana Ávila"])),
        alternates=draw(_alternates),
        tombstone=Tombstone(Instant(created), "a reason", draw(optional), draw(st.booleans())) if gone else None,
    )


def _share(one: LabelForms | None, other: LabelForms | None) -> bool:
    return one is not None and other is not None and not set(one.labels).isdisjoint(other.labels)
