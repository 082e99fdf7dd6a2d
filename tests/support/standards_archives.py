"""The two Archives of R's examples, with the items that they keep there, as far as the standard tells of them.

File names, dates, labels and the forms in which labels are given (E29) are the standard's; sizes and digests are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ibi.archive.rules.answer import assemble_url_list
from ibi.archive.rules.profile import ArchiveProfile, Reader
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import Deletion, LabelForms, UrlKey, UrlList, UrlRequest, ip_addresses
from ibi.standard.relation import Relation
from tests.support.archive_catalog import PlainCatalog
from tests.support.flat_items import new_item

__all__ = [
    "CCSDS_643",
    "CCSDS_650",
    "MTC_M16C",
    "MTC_M16D",
    "NOW",
    "RELATIONS_OF_EXAMPLE_9_2",
    "REPORT",
    "StandardsArchive",
    "UrlibUrls",
    "forms",
    "item",
]

NOW = Instant.parse("2015-03-15T02:40:14Z")
CLIENT = ip_addresses("150.163.2.175")
CCSDS_643, CCSDS_650 = "8JMKD3MGP8W/35MME4E", "8JMKD3MGP8W/35MMLL8"
REPORT, BANON = "8JMKD3MGP7W/3EPGUE5", "LK47B6W/362SFKH"

RELATIONS_OF_EXAMPLE_9_2 = frozenset(
    map(
        Relation.from_modifier,
        ["", "!", "!:", "!:(oai_dc)", ":", ":(oai_dc)", ":+", "+"],
    )
)


@dataclass(frozen=True)
class UrlibUrls:
    """How URLib, the platform of the examples, builds its URLs: file names in ISO 8859-1 (E33), CGI scripts."""

    host: str

    def file(self, item: Item, path: str) -> str:
        name = quote(path, safe="/@-.", encoding="latin-1").replace("%F3", "%f3")
        return f"http://{self.host}/col/{item.rep.spelling}/doc/{name}"

    def target(self, item: Item) -> str:
        return f"http://{self.host}/col/{item.rep.spelling}/doc/"

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        page = self.file(own or item, "metadata.cgi")
        return page if metadata_format is None else f"{page}?choice={metadata_format}"

    def file_list(self, item: Item) -> str:
        return f"http://{self.host}/displaydoccontent.cgi/{item.labels.labels[-1].spelling}?displaytype=FileList"


@dataclass(frozen=True)
class StandardsArchive:
    profile: ArchiveProfile
    catalog: PlainCatalog

    def request(self, ibi: str, modifier: str = "", path: str | None = None, file_list: bool = False) -> UrlRequest:
        return UrlRequest(CLIENT, parse(ibi), Relation.from_modifier(modifier), path, file_list)

    def assemble(
        self,
        ibi: str,
        *,
        path: str | None = None,
        file_list: bool = False,
        key: str | None = None,
    ) -> UrlList | Deletion | None:
        """MONTARLISTADEURL, with the key that the example prints."""
        request = self.request(ibi, "", path, file_list)
        url_key = None if key is None else UrlKey(key)
        return assemble_url_list(self.profile, self.catalog, request, Reader(CLIENT, NOW), url_key)

    def pair(self, name: str, ibi: str, *, path: str | None = None, file_list: bool = False) -> str:
        """CRIARPAR, CRIARPARIBI or CRIARPARURL: one pair as it is written; empty if there is none."""
        answer = self.assemble(ibi, path=path, file_list=file_list)
        lines = [] if answer is None else answer.encode().decode().split("\r\n")
        return next((line for line in lines if line.startswith(f"{name} ")), "")


def forms(*labels: str) -> LabelForms:
    return LabelForms.of(*map(parse, labels))


def item(*labels: str, at: str, files: tuple[str, ...], **others: object) -> Item:
    """An item whose first file is the target."""
    kept = tuple(File(name, 1, "0" * 128) for name in files)
    values: dict[str, object] = {
        "labels": forms(*labels),
        "created": Instant.parse(at),
        "updated": Instant.parse(at),
        "files": kept,
        "target": files[0] if files else None,
        "metadata": DescriptiveMetadata(title=(Text("A title"),)),
    }
    return new_item(**{**values, **others})


_M18, _M18_2012, _M19 = "sid.inpe.br/mtc-m18@80/2009", "sid.inpe.br/mtc-m18/2012", "sid.inpe.br/mtc-m19/2013"
_PLATFORM = forms("dpi.inpe.br/banon/1998/08.02.08.56")
_EN, _PT = LanguageTag("en"), LanguageTag("pt")

MTC_M16C = StandardsArchive(
    ArchiveProfile(
        "mtc-m16c.sid.inpe.br",
        forms("sid.inpe.br/mtc-m18@80/2008/03.17.15.17"),
        UrlibUrls("mtc-m16c.sid.inpe.br"),
        _PLATFORM,
        RELATIONS_OF_EXAMPLE_9_2,
        follow_editions=False,
    ),
    PlainCatalog(
        item(
            f"{_M18}/07.21.13.23",
            CCSDS_643,
            at="2009-07-21T13:23:45Z",
            files=("CCSDS 643.0-B-1.pdf",),
            language=_EN,
            translations=((_EN, forms(f"{_M18}/07.21.13.23")), (_PT, forms(f"{_M18}/08.25.19.43"))),
            metadata_item=forms(f"{_M18}/07.21.13.23.47"),
        ),
        item(
            f"{_M18}/07.21.13.23.47",
            at="2014-04-04T17:39:54Z",
            files=("metadata.cgi",),
            describes=forms(f"{_M18}/07.21.13.23"),
        ),
        item(
            f"{_M18}/08.25.19.43",
            at="2011-09-22T14:45:11Z",
            files=("RTC-07.pdf",),
            language=_PT,
            translation_of=forms(f"{_M18}/07.21.13.23"),
        ),
        item(
            f"{_M18}/07.21.14.43",
            CCSDS_650,
            at="2009-07-21T14:43:31Z",
            files=("CCSDS 650.0-B-1.pdf",),
            next_edition=forms(f"{_M18_2012}/07.12.18.08"),
        ),
        item(
            f"{_M18_2012}/07.12.18.08",
            "8JMKD3MGP8W/3C9EP6P",
            at="2012-07-12T18:08:48Z",
            files=("650x0m2.pdf",),
            edition_of=forms(f"{_M18}/07.21.14.43", CCSDS_650),
            metadata_item=forms(f"{_M18_2012}/07.12.18.08.49"),
        ),
        item(
            f"{_M18_2012}/07.12.18.08.49",
            at="2014-04-04T17:36:01Z",
            files=("metadata.cgi",),
            describes=forms(f"{_M18_2012}/07.12.18.08"),
        ),
    ),
)

MTC_M16D = StandardsArchive(
    ArchiveProfile(
        "mtc-m16d.sid.inpe.br",
        forms("sid.inpe.br/mtc-m19@80/2009/08.21.17.02"),
        UrlibUrls("mtc-m16d.sid.inpe.br"),
        _PLATFORM,
        RELATIONS_OF_EXAMPLE_9_2,
        follow_editions=False,
    ),
    PlainCatalog(
        item(
            f"{_M19}/09.04.12.27.57",
            REPORT,
            at="2013-10-04T14:32:14Z",
            files=("Relatório Final.pdf",),
            metadata_item=forms(f"{_M19}/09.04.12.27.58"),
        ),
        item(
            f"{_M19}/09.04.12.27.58",
            at="2013-10-04T14:32:15Z",
            files=("metadata.cgi",),
            describes=forms(f"{_M19}/09.04.12.27.57"),
        ),
        item(
            "iconet.com.br/banon/2009/09.09.22.01",
            BANON,
            at="2009-09-10T01:02:03Z",
            files=("@relatorio.pdf", "reference.bib"),
        ),
    ),
)
