from __future__ import annotations

import pickle
import time

import pytest

from ibi.standard.errors import IbiError, InvalidPersistentUrl
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.persistent_url import MAX_LENGTH, PersistentUrl, PunctuatedLabel
from ibi.standard.relation import Relation

IBIP = "8JMKD3MGP8W/35MME4E"
LABEL = Ibip.parse(IBIP)
SECONDS_PER_KILOBYTE = 0.001
MARGIN = 4
"""How much slower the machine may be, as in tests/hostile/test_time.py: old, shared, or counting lines."""


def refused(target: str) -> InvalidPersistentUrl:
    with pytest.raises(InvalidPersistentUrl) as caught:
        PersistentUrl.parse(target)
    return caught.value


class TestReading:
    @pytest.mark.parametrize(
        "target", [f"/{IBIP}", IBIP, f"http://urlib.net/{IBIP}", f"https://[::1]:80/{IBIP}", f"{IBIP}?"]
    )
    def test_a_target_may_be_a_path_a_url_or_a_label(self, target: str) -> None:
        assert PersistentUrl.parse(target) == PersistentUrl(LABEL)

    @pytest.mark.parametrize(
        "target",
        [
            *(
                "",
                "/",
                "*",
                "?",
                "#",
                "//",
                "/favicon.ico",
                "http://urlib.net",
                "http://urlib.net/",
                f"http://urlib.net?{IBIP}",
            ),
            *(f"//{IBIP}", f" {IBIP}", f"/ {IBIP}", f"ftp://urlib.net/{IBIP}", f"http:///{IBIP}", f"http:/{IBIP}"),
            *(
                f"http://user@urlib.net/{IBIP}",
                f"http://ur lib.net/{IBIP}",
                f"urlib.net/{IBIP}",
                f"/x/{IBIP}",
                f"http://h\\/{IBIP}",
            ),
        ],
    )
    def test_what_does_not_begin_with_a_label_is_refused(self, target: str) -> None:
        refused(target)

    def test_the_spelling_of_the_label_is_kept(self) -> None:
        url = PersistentUrl.parse("/Sid.INPE.br/mtc-m18@80/2009/07.21.13.23!")
        assert url.label.spelling == "Sid.INPE.br/mtc-m18@80/2009/07.21.13.23"
        assert url == PersistentUrl.parse("/sid.inpe.br/mtc-m18@80/2009/07.21.13.23!")

    def test_a_label_that_begins_like_a_prefix_is_read_as_a_label(self) -> None:
        label = RepositoryName.parse("rep/lk47b6w/2345/02.16.17.46")
        assert PersistentUrl.parse("/rep/lk47b6w/2345/02.16.17.46") == PersistentUrl(label)
        assert PersistentUrl.parse("/ibi/rep/lk47b6w/2345/02.16.17.46/a") == PersistentUrl(label, file_path="/a")

    def test_blanks_and_foreign_letters_in_a_query_are_encoded_as_browsers_do(self) -> None:
        assert PersistentUrl.parse(f"{IBIP}?q=a é&ibiurl.language=pt").query_string == "q=a%20%C3%A9"

    @pytest.mark.parametrize("query", ["a=b\r\nSet-Cookie: c=d", "a=\0", "a=\x7f", "\t=a"])
    def test_control_characters_in_a_query_are_refused(self, query: str) -> None:
        refused(f"/{IBIP}?{query}")

    @pytest.mark.parametrize("path", ["/a%0D%0Ab", "/a\nb", "/%1b", "/%7F", "/a%0A/b"])
    def test_control_characters_in_a_path_are_refused(self, path: str) -> None:
        assert "control" in str(refused(f"/{IBIP}{path}"))

    @pytest.mark.parametrize("target", [f"/{IBIP}/\ud800", f"/{IBIP}?\udfff=", f"\ud800{IBIP}", f"/{IBIP}/%41\udfff"])
    def test_half_a_surrogate_pair_is_refused(self, target: str) -> None:
        assert "surrogate" in str(refused(target))

    def test_empty_pieces_of_a_query_are_no_pairs(self) -> None:
        assert PersistentUrl.parse(f"/{IBIP}?&&a=1&&b=2&").query == (("a", "1"), ("b", "2"))


class TestErrors:
    @pytest.mark.parametrize(
        ("target", "offset", "said"),
        [
            ("/", 1, "no label"),
            ("http://urlib.net/", 17, "no label"),
            ("/sid.inpe.br/mtc-m18/2009/02.30.12.00/x", 29, "30 February does not exist"),
            ("/ibi/8JMKD3MGP0W/34PGRBS/file", 14, "does not occur in an IBIp"),
            ("/8JMKD3MGP0W%2F34PGRBS!", 10, "does not occur in an IBIp"),
            (f"/{IBIP}x", 20, "'x' cannot follow the label"),
            (f"/{IBIP}%21%21", 23, "once each"),
            (f"/{IBIP}+(xx)", 22, "no language xx"),
            (f"/{IBIP}/%C3%B3/../b", 27, "no part . or .."),
            (f"/{IBIP}/%F3/%C3%B3//", 31, "is empty"),
            (f"/{IBIP}/a/", 22, "ends in the name of a file"),
            (f"/{IBIP}/ó\\", 22, "backslash"),
            (f"/{IBIP}?a=b&ibiurl.verblist=x", 25, "the verbs are"),
            (f"/{IBIP}?ibiurl.a=1&ibiurl.a=1", 32, "ibiurl.a is there twice"),
            (f"/{IBIP}?ibiurl.language=xx", 21, "no language xx"),
            (f"http://urlib.net/{IBIP}).", 36, f"perhaps {IBIP} was meant"),
        ],
    )
    def test_an_error_says_what_is_wrong_and_where_in_the_text_received(
        self, target: str, offset: int, said: str
    ) -> None:
        error = refused(target)
        assert (error.text, error.offset) == (target, offset)
        assert said in str(error)

    def test_punctuation_has_a_code_of_its_own(self) -> None:
        assert refused(f"/{IBIP}.").code == "punctuated-label"
        assert refused(f"/{IBIP}=").code == "invalid-persistent-url"

    def test_an_error_survives_pickling(self) -> None:
        error = pickle.loads(pickle.dumps(refused(f"/{IBIP}.")))
        assert isinstance(error, PunctuatedLabel)
        assert error.details == {"suggestion": IBIP}

    def test_braces_in_a_text_do_no_harm_to_a_message(self) -> None:
        assert "{x}" in str(refused(f"/{IBIP}+{{x}}"))
        assert "{0}" in str(refused(f"/{IBIP}?ibiurl.{{0}}=1&ibiurl.{{0}}=1"))


class TestWriting:
    def test_everything_has_its_place(self) -> None:
        url = PersistentUrl(
            LABEL,
            Relation.from_modifier("!+(pt)"),
            True,
            "/a b/ç+&=?#%.txt",
            True,
            "pt-BR",
            (("q", "%41"), ("wsdl", None)),
        )
        assert url.text("https://resolver.example.org/") == (
            f"https://resolver.example.org/{IBIP}!+(pt)/a%20b/%C3%A7%2B%26%3D%3F%23%25.txt"
            "?ibiurl.language=pt-BR&ibiurl.requireditemstatus=Original&ibiurl.verblist=GetFileList&q=%41&wsdl"
        )
        assert PersistentUrl.parse(str(url)) == url

    def test_a_base_needs_no_last_slash_and_may_be_missing(self) -> None:
        assert PersistentUrl(LABEL).text("http://urlib.net") == f"http://urlib.net/{IBIP}"
        assert PersistentUrl(LABEL).text("") == IBIP

    def test_the_label_is_canonical_unless_its_spelling_is_asked_for(self) -> None:
        url = PersistentUrl.parse(f"/{IBIP.lower()}:")
        assert str(url) == f"http://urlib.net/{IBIP}:"
        assert url.text("", keep_spelling=True) == f"{IBIP.lower()}:"

    @pytest.mark.parametrize("modifier", ["", ":"])
    def test_a_query_that_begins_with_a_question_mark_is_not_taken_for_metadata(self, modifier: str) -> None:
        url = PersistentUrl(LABEL, Relation.from_modifier(modifier), query=(("?a", "b"),))
        assert str(url) == f"http://urlib.net/{IBIP}{modifier}/??a=b"
        assert PersistentUrl.parse(str(url)) == url

    @pytest.mark.parametrize(
        "path", ["/!", "/-TDI", "/:", "/+(pt)", "/??", "/2010/08.25.12.38", "/%2e%2e", "/ibi/a", "/a.", "/~"]
    )
    def test_a_path_that_looks_like_something_else_stays_a_path(self, path: str) -> None:
        for label in (LABEL, RepositoryName.parse("rep/ibi/2009/02.16.17.46")):
            url = PersistentUrl(label, file_path=path)
            assert PersistentUrl.parse(str(url)) == url


class TestValue:
    @pytest.mark.parametrize(
        "path", ["", "/", "a", "a/b", "/a/", "//a", "/a/../b", "/.", "/a\\b", "/a\0", "/a ", "/\ud800", "/a\n"]
    )
    def test_a_path_that_could_not_be_read_back_is_refused(self, path: str) -> None:
        with pytest.raises(InvalidPersistentUrl):
            PersistentUrl(LABEL, file_path=path)

    @pytest.mark.parametrize("language", ["", "xx", "PT", "pt-br", "english"])
    def test_a_language_is_canonical_and_registered(self, language: str) -> None:
        with pytest.raises(InvalidPersistentUrl):
            PersistentUrl(LABEL, language=language)

    def test_the_languages_of_a_relation_are_registered(self) -> None:
        with pytest.raises(InvalidPersistentUrl):
            PersistentUrl(LABEL, Relation.from_qualifier(".translation(xx)"))

    @pytest.mark.parametrize(
        "pair",
        [
            ("", None),
            ("a&b", "c"),
            ("a=b", None),
            ("a", "b&c"),
            ("a", "b#c"),
            ("a", "b c"),
            ("a", "é"),
            ("ibiurl.a", "b"),
            ("IBIURL%2Ea", "b"),
        ],
    )
    def test_a_pair_that_could_not_be_read_back_is_refused(self, pair: tuple[str, str | None]) -> None:
        with pytest.raises(InvalidPersistentUrl):
            PersistentUrl(LABEL, query=(pair,))

    def test_a_persistent_url_is_hashable_and_survives_pickling(self) -> None:
        url = PersistentUrl.parse(f"/{IBIP}!:(BibINPE)/a?b=c")
        assert pickle.loads(pickle.dumps(url)) == url
        assert len({url, PersistentUrl.parse(f"/{IBIP.lower()}!:(bibinpe)/a?b=c")}) == 1

    def test_a_persistent_url_cannot_change(self) -> None:
        with pytest.raises(AttributeError):
            PersistentUrl(LABEL).file_list = True  # type: ignore[misc]

    def test_a_persistent_url_says_what_is_asked_of_archives(self) -> None:
        url = PersistentUrl.parse(f"/{IBIP}!?ibiurl.verblist=GetFileList")
        assert url.verb_list.verbs == ("GetLastEdition", "GetFileList")


class TestLimits:
    def test_what_is_just_long_enough_is_read_whatever_the_host(self) -> None:
        target = f"{IBIP}/".ljust(MAX_LENGTH, "a")
        assert PersistentUrl.parse(f"/{target}").text("") == target
        assert PersistentUrl.parse(f"http://resolver.example.org/{target}").text("") == target

    def test_what_is_longer_is_refused(self) -> None:
        assert "longer" in str(refused("/" + f"{IBIP}/".ljust(MAX_LENGTH + 1, "a")))

    @pytest.mark.parametrize("path", ["é" * 2000, "%C3%B3" * 1300 + "=" * 200, "&" * 3000])
    def test_what_would_be_longer_when_written_is_refused(self, path: str) -> None:
        assert "longer" in str(refused(f"/{IBIP}/{path}"))

    @pytest.mark.parametrize(
        "target",
        [
            *(
                "/" * 8000,
                "ibi/" * 2000,
                "a." * 4000,
                "a-" * 4000,
                "W/" * 4000,
                "%" * 8000,
                "%C3" * 2700,
                "%80" * 2700,
                "X" * 8000,
            ),
            *(
                IBIP + rest
                for rest in (
                    "!" * 8000,
                    "+(" * 4000,
                    "+(a" * 2600,
                    "." * 8000,
                    "-" + "a" * 8000 + "~",
                    " " * 8000 + "a",
                )
            ),
            *(
                f"{IBIP}/" + rest
                for rest in ("a/" * 4000, "a" * 8000 + "\\", "%C3%B3" * 1300 + "//", "../" * 2600, "%2e/" * 2000)
            ),
            *(
                f"{IBIP}?" + rest
                for rest in ("&" * 8000 + "\0", "a&" * 4000 + "\0", "=" * 8000 + "\0", "ibiurl.%61=1&" * 600)
            ),
            *(
                f"{IBIP}?ibiurl.verblist=" + rest
                for rest in ("GetMetadata+GetTranslation+" * 300, "(" * 8000, "Get" * 2600, "%20" * 2600 + "x")
            ),
            *(
                "/" + ("a" * 63 + ".") * 120 + "b/c/2009/02.16.17.4x",
                "http://" + "a" * 8000,
                f"{IBIP}/" + "a" * 100_000,
            ),
        ],
        ids=lambda target: target[:30],
    )
    def test_hostile_targets_are_refused_within_a_millisecond_per_kilobyte(self, target: str) -> None:
        quickest = min(time_to_refuse(target) for _ in range(3))
        assert quickest < SECONDS_PER_KILOBYTE * MARGIN * max(len(target) / 1024, 1)


def time_to_refuse(target: str) -> float:
    """CPU seconds: what else the machine does meanwhile is not counted."""
    start = time.process_time()
    with pytest.raises(IbiError):
        PersistentUrl.parse(target)
    return time.process_time() - start
