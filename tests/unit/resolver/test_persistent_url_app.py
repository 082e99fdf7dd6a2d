"""Persistent URLs at a resolver: whom readers are sent to, and what programs are told instead."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from ibi.resolver.service.misses import MissLimit
from ibi.resolver.service.resolution_runner import ForeignUrls
from ibi.standard.reply import Failure
from tests.support.resolver_app import BROWSER, IBIP, REP, A, B, item, resolver_app
from tests.support.scripted_archives import body
from tests.support.scripted_gateway import After, FreshFeeds, at_once

URL = f"http://a.example.org/col/{REP}/doc/a.txt"


class TestRedirect:
    async def test_a_reader_is_sent_on_and_the_archive_thanked(self) -> None:
        app = resolver_app({A: item(A)})
        answer = await app.get(f"/{REP}")
        assert (answer.status, answer.headers["location"], answer.body) == (302, URL, b"")
        ((thanked, thanks),) = app.gateway.thanked
        assert thanked == A
        assert thanks.persistent_url == f"http://resolver.example.org:80/{REP}"
        assert str(thanks.client_addresses[0]) == "192.0.2.77"

    async def test_head_is_answered_alike_and_no_archive_thanked(self) -> None:
        app = resolver_app({A: item(A)})
        answer = await app.get(f"/{REP}", method="HEAD")
        assert (answer.status, answer.headers["location"], answer.body) == (302, URL, b"")
        assert app.gateway.thanked == []

    async def test_pairs_for_the_item_go_along_and_those_for_the_resolver_do_not(self) -> None:
        """E35."""
        answer = await resolver_app({A: item(A)}).get(f"/{REP}?page=2&ibiurl.unknown=1&x=%2f")
        assert answer.headers["location"] == f"{URL}?page=2&x=%2f"

    @pytest.mark.parametrize(
        "target",
        [
            *(f"/ibi/{REP}", f"/rep/{REP}", f"/{REP}-TDI", f"/{REP.replace('/', '%2F')}"),
            *(f"/upn:7EKRSA:{REP}", f"/goto-/{REP}", f"/attachment.cgi/{REP}"),
        ],
    )
    async def test_links_in_use_are_understood(self, target: str) -> None:
        """E21."""
        assert (await resolver_app({A: item(A)}).get(target)).status == 302

    async def test_a_link_to_a_file_in_some_archive_is_resolved_where_there_is_none(self) -> None:
        """E21."""
        app = resolver_app({A: item(A)})
        assert (await app.get(f"/col/{REP}/doc/b%20c.txt")).status == 302
        ((_, request),) = app.gateway.asked
        assert (str(request.label), request.file_path) == (REP, "/b c.txt")
        assert (await app.get("/col")).status == 404

    async def test_a_redirect_is_kept_no_longer_than_the_archive_allows(self) -> None:
        """E32."""
        assert (await resolver_app({A: item(A)}).get(f"/{REP}")).headers["cache-control"] == "no-store"
        app = resolver_app({A: at_once(item(A), 5)}, feeds=FreshFeeds())
        assert (await app.get(f"/{REP}")).headers["cache-control"] == "max-age=5"

    async def test_caches_of_readers_keep_a_redirect_for_ten_seconds_however_long_the_resolver_keeps_it(self) -> None:
        """E32: a feed empties the resolver's cache, and no other."""
        app = resolver_app({A: at_once(item(A), 300)}, feeds=FreshFeeds())
        assert (await app.get(f"/{REP}")).headers["cache-control"] == "max-age=10"
        again = await app.get(f"/{REP}?page=2")
        assert again.headers["cache-control"] == "max-age=10"
        assert len(app.gateway.asked) == 1
        assert len(app.gateway.thanked) == 2

    async def test_a_redirect_of_an_archive_without_a_feed_is_kept_for_ten_seconds(self) -> None:
        """E32."""
        app = resolver_app({A: at_once(item(A), 300)})
        assert (await app.get(f"/{REP}")).headers["cache-control"] == "max-age=10"

    async def test_a_reader_who_does_not_want_what_is_kept_gets_it_anew(self) -> None:
        """E32."""
        app = resolver_app({A: at_once(item(A), 300)})
        anew = [{"cache-control": "max-age=0"}, {"cache-control": "no-cache"}, {"pragma": "no-cache"}]
        for headers in ({}, *anew, {"cache-control": "max-age=60"}, {}):
            assert (await app.get(f"/{REP}", headers)).status == 302
        assert len(app.gateway.asked) == 1 + len(anew)

    async def test_a_reader_who_cannot_have_it_anew_is_told_the_age_of_what_is_kept(self) -> None:
        """E32."""
        app = resolver_app({A: After(0.0, item(A), 300)}, misses=MissLimit(20))
        assert "age" not in (await app.get(f"/{REP}")).headers
        app.site.resolving.misses.charge(None, 1_000_000)
        app.site.resolving.misses.end()  # as if the line were full
        answer = await app.get(f"/{REP}", {"cache-control": "no-cache"})
        assert (answer.status, answer.headers["age"]) == (302, "0")
        assert "age" not in (await app.get(f"/{REP}")).headers

    async def test_a_redirect_varies_with_what_it_depends_on(self) -> None:
        translated = body(
            A,
            f"rep {REP}",
            **{"url.translation(pt)": "http://a.example.org/pt", "contenttype.translation(pt)": "Data"},
            **{"state.translation(pt)": "Original", "url.translation(en)": "http://a.example.org/en"},
            **{"contenttype.translation(en)": "Data", "state.translation(en)": "Original"},
        )
        app = resolver_app({A: at_once(translated, 300)})
        for language in ("pt", "en"):
            answer = await app.get(f"/{REP}+", {"accept-language": language})
            assert answer.headers["location"] == f"http://a.example.org/{language}"
            assert answer.headers["vary"] == "Accept, Accept-Language"
        assert (await resolver_app({A: item(A)}).get(f"/{REP}")).headers["vary"] == "Accept"

    async def test_a_page_varies_with_who_is_signed_in(self) -> None:
        for target in ("/lab.br/none/2009/07.21.14.43", f"/{REP}?ibiurl.trace=html", "/favicon.ico", "/a/b"):
            answer = await resolver_app({A: item(A)}).get(target, {"accept": "text/html"})
            assert answer.headers["content-type"].startswith("text/html")
            assert "Cookie" in answer.headers["vary"]

    async def test_scripts_of_other_sites_may_read_it(self) -> None:
        app = resolver_app({A: item(A)})
        for target in (f"/{REP}", f"/{REP}?ibiurl.info=json", "/lab.br/none", "/favicon.ico"):
            assert (await app.get(target)).headers["access-control-allow-origin"] == "*"
        asked = await app.get(f"/{REP}", method="OPTIONS")
        assert asked.status == 204
        assert asked.headers["access-control-allow-methods"] == "GET, HEAD"

    async def test_other_methods_are_refused(self) -> None:
        answer = await resolver_app({A: item(A)}).get(f"/{REP}", method="POST")
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


class TestClients:
    """R Table 8.10: the reader first, then the proxies; only ours are believed."""

    async def asked_for(self, forwarded: str, client: tuple[str, int] | None) -> list[str]:
        app = resolver_app({A: item(A)}, proxies=(ip_network("10.0.0.0/8"),))
        await app.get(f"/{REP}", {"x-forwarded-for": forwarded}, client=client)
        return list(map(str, app.gateway.asked[0][1].client_addresses))

    async def test_a_stranger_is_not_believed(self) -> None:
        assert await self.asked_for("203.0.113.5", ("192.0.2.77", 1)) == ["192.0.2.77"]

    async def test_our_proxies_are_passed_in_order(self) -> None:
        found = await self.asked_for("203.0.113.5, 198.51.100.7, 10.0.0.2", ("10.0.0.1", 1))
        assert found == ["198.51.100.7", "10.0.0.2", "10.0.0.1"]

    async def test_a_client_whose_address_is_not_known_is_asked_for_as_0_0_0_0(self) -> None:
        assert await self.asked_for("", None) == ["0.0.0.0"]

    @pytest.mark.parametrize("forwarded", ["unknown", "0.0.0.0", "203.0.113.5, nonsense"])
    async def test_behind_a_client_whose_address_is_not_known_the_proxies_are_named(self, forwarded: str) -> None:
        assert await self.asked_for(forwarded, ("10.0.0.1", 1)) == ["0.0.0.0", "10.0.0.1"]


class TestRecord:
    """`?ibiurl.info=json` and `Accept: application/json`."""

    @pytest.mark.parametrize(
        ("target", "headers"),
        [
            (f"/{REP}?ibiurl.info=json", {}),
            (f"/{REP}?IBIURL.Info=JSON", {}),
            (f"/{REP}", {"accept": "application/json"}),
        ],
    )
    async def test_a_record_tells_where_the_link_leads_instead_of_redirecting(
        self, target: str, headers: dict[str, str]
    ) -> None:
        app = resolver_app({A: item(A)})
        answer = await app.get(target, headers)
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        told = answer.json()
        assert told.pop("seconds") >= 0
        assert told == {
            "persistent_url": f"http://resolver.example.org/{REP}",
            "label": REP,
            "url": URL,
            "state": "Original",
            "content_type": "Data",
            "timestamp": "2014-01-02T17:23:57Z",
            "relation": "",
            "ibi": {"rep": REP, "ibip": IBIP},
            "asked_for": {"rep": REP, "ibip": IBIP},
            "next_edition": None,
            "languages": [],
            "archive": {
                "address": "a.example.org",
                "ibi": {"rep": "example.org/a/2008/03.17.15.17", "ibip": None},
            },
            "archive_url": "http://a.example.org",
            "max_age": 0,
            "was_kept": False,
        }
        assert app.gateway.thanked == []

    async def test_browsers_and_curl_are_sent_on(self) -> None:
        app = resolver_app({A: item(A)})
        for accept in (BROWSER, "*/*", "image/png"):
            assert (await app.get(f"/{REP}", {"accept": accept})).status == 302

    async def test_an_alert_is_told_as_a_problem(self) -> None:
        answer = await resolver_app({A: b""}).get(f"/{REP}?ibiurl.info=json", {"accept": BROWSER})
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")

    async def test_what_it_cannot_be_is_refused(self) -> None:
        answer = await resolver_app({A: item(A)}).get(f"/{REP}?ibiurl.info=xml")
        assert answer.status == 400
        assert "json only" in answer.json()["detail"]

    async def test_the_key_is_told_to_no_reader(self) -> None:
        app = resolver_app({A: item(A)})
        for pair in ("ibiurl.info=json", "ibiurl.trace=json", "ibiurl.trace=html"):
            assert b"12345678901234" not in (await app.get(f"/{REP}?{pair}")).body


class TestTrace:
    async def test_as_json(self) -> None:
        app = resolver_app({A: Failure.REFUSED, B: item(B)})
        told = (await app.get(f"/{REP}?ibiurl.trace=json")).json()
        assert (told["outcome"], told["url"]) == ("Redirect", URL.replace("a.example", "b.example"))
        (hop,) = told["hops"]
        assert [(one["address"], one["verdict"], one["failure"]) for one in hop["archives"]] == [
            ("a.example.org", "failed", "it refused the request"),
            ("b.example.org", "chosen", None),
        ]
        assert hop["archives"][1]["said"]["state"] == "Original"
        assert app.gateway.thanked == []

    async def test_who_was_not_waited_for_is_not_blamed(self) -> None:
        app = resolver_app({A: item(A), B: After(60, b"")})
        told = (await app.get(f"/{REP}?ibiurl.trace=json")).json()
        assert [one["why"] for one in told["hops"][0]["archives"]] == [
            "its URL was chosen",
            "not waited for: another answer was sufficient",
        ]

    async def test_a_trace_is_made_anew_each_time(self) -> None:
        app = resolver_app({A: at_once(item(A), 300)})
        await app.get(f"/{REP}")
        assert len((await app.get(f"/{REP}?ibiurl.trace=json")).json()["hops"]) == 1

    @pytest.mark.parametrize(
        ("language", "words"),
        [("en", "Resolution of the link"), ("pt-BR", "Resolução do link"), ("es", "Resolución")],
    )
    async def test_as_a_page(self, language: str, words: str) -> None:
        status, page = await resolver_app({A: b"", B: item(B)}).page(f"/{REP}?ibiurl.trace=html", language)
        assert status == 200
        assert words in page
        assert "a.example.org" in page
        assert f"{REP}/doc/a.txt" in page

    async def test_what_an_archive_says_is_not_believed_to_be_markup(self) -> None:
        evil = item(A, url="http://a.example.org/x?<script>alert(1)</script>".replace("<", "%3C").replace(">", "%3E"))
        _, page = await resolver_app({A: evil}).page(f"/{REP}?ibiurl.trace=html")
        assert "<script>alert" not in page


class TestForeignUrls:
    """E31: with `confirm`, nobody is sent to a host that the Archive did not declare; the reader may go."""

    async def test_refused(self) -> None:
        answer = await resolver_app({A: item(A, host="evil.example.com")}).get(f"/{REP}")
        assert (answer.status, answer.json()["missing"]) == (404, "believable_url")
        assert "location" not in answer.headers

    async def test_shown_for_confirmation(self) -> None:
        app = resolver_app({A: item(A, host="evil.example.com")}, foreign_urls=ForeignUrls.CONFIRM)
        status, page = await app.page(f"/{REP}")
        assert status == 300
        assert f'href="http://evil.example.com/col/{REP}/doc/a.txt"' in page
        answer = await app.get(f"/{REP}")
        assert answer.status == 300
        assert answer.json()["host"] == "evil.example.com"
        assert "location" not in answer.headers
        assert app.gateway.thanked == []
