"""Whatever is asked of an Archive: an answer, a redirect that stays in its header, or a 4xx; never a failure."""

from __future__ import annotations

from urllib.parse import quote_from_bytes

from hypothesis import event, given
from hypothesis import strategies as st

from tests.support.archive_app import BASE, IBIP, OTHER, REP, RESOLVER, archive_app, deleted, kept

APP = archive_app(
    kept(REP, IBIP, files={"a.txt": ("text/plain", b"0123456789"), "d/é.html": ("text/html", b"<p>")}),
    deleted(OTHER),
    resolver=RESOLVER,
)
LABELS = st.sampled_from([REP, IBIP, OTHER, "dpi.inpe.br/banon/1998/08.02.08.56", "lab.br/arq/2020/01.01.00.00"])
PARTS = st.one_of(
    LABELS,
    st.sampled_from(
        [
            *(
                "/",
                "//",
                "col",
                "col/",
                "api/items/",
                "ibi/",
                "doc/",
                "/doc/",
                "/metadata",
                "/files",
                "/usage",
                "a.txt",
            ),
            *(
                "..",
                "%2e%2e",
                "%252e",
                "%2F",
                "%5C",
                "%00",
                "%0d%0a",
                "!",
                "+",
                ":",
                "+(pt)",
                ":(oai_dc)",
                "??",
                "-TDI",
            ),
            *("{", "}", ";", "d/%C3%A9.html", "d/%E9.html", "%"),
        ]
    ),
    st.binary(max_size=6).map(lambda raw: quote_from_bytes(raw, safe="/")),
)
QUERIES = st.lists(
    st.sampled_from(
        [
            *("servicesubject=urlRequest", "servicesubject=acknowledgment", "servicesubject", "list", "format=json"),
            *("format=oai_dc", "format=%0d%0a", "x=%0d%0aa:b", "x=%FF", "ibiurl.verblist=GetFileList", "=", "%"),
            *("clientinformation.ipaddress=1.2.3.4", f"parsedibiurl.ibi={IBIP}", "parsedibiurl.filepath=/../x"),
            *("parsedibiurl.verblist=GetMetadata", "ibiurl.language=pt", "ibiurl.requireditemstatus=Original"),
        ]
    ),
    max_size=5,
).map("&".join)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"),
                *("accept", "accept-language", "x-forwarded-for", "user-agent", "service-worker"),
            ]
        ),
        VALUES | st.sampled_from(["bytes=0-1", "bytes=99-", "*", "text/html", "application/json", "pt-BR,en;q=0.5"]),
    ),
    max_size=4,
)


@given(
    st.sampled_from([*["GET"] * 8, "HEAD", "POST"]),
    st.lists(PARTS, max_size=6).map("".join),
    QUERIES,
    HEADERS,
)
async def test_any_request_is_answered_or_refused(
    method: str, path: str, query: str, headers: list[tuple[str, str]]
) -> None:
    answer = await APP.get(f"/{path}?{query}", headers, method=method)
    event(f"status {int(answer.status)}")
    assert 200 <= answer.status < 500
    location = answer.headers.get("location", BASE)
    assert location.startswith((BASE, RESOLVER))
    assert location.isascii()
    assert location.isprintable()
    for value in answer.headers.values():
        assert not {"\r", "\n", "\x00"} & set(value)
