"""Our Archive, as a resolver of another make sees it: membership, questions with every verb, acknowledgments, keys.

The resolver is a process that was written from R's text alone (`tests/foreign/resolver.py`); it reads answers to the
letter of R Table 6.2.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.foreign.processes import ForeignProcess, foreign
from tests.foreign.resolver import labels_of, read_list
from tests.support.foreign_world import Followed, follow, until
from tests.support.home_world import in_process
from tests.support.ibi_command import IbiCommand

KEY = "1234567890-7730914258"
NAMES = {"1en": "Relatório Final.txt", "1pt": "1pt.txt", "2en": "2en.txt", "2pt": "2pt.txt"}
LEADS_TO = {
    "": "1en",
    ":": "1en metadata",
    ":+": "1en metadata",
    "!": "2en",
    "!+": "2pt",
    "!:": "2en metadata",
    "!+:": "2pt metadata",
    "!:+": "2en metadata",
    "!+:+": "2pt metadata",
    "+": "1pt",
    "+!": "2pt",
    "+:": "1pt metadata",
    "+!:": "2pt metadata",
    "+:+": "1pt metadata",
    "+!:+": "2pt metadata",
    "+(en)": "1en",
    "!:(oai_dc)": "2en metadata",
    "?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)": "2en metadata",
}
"""R Table 8.2, for a reader of Portuguese. Metadata are written by the Archive, and have no language of their own."""


def member_settings(resolver: str) -> dict[str, str]:
    return {
        "IBI_MINT_HOST": "arq.lab.br",
        "IBI_MINT_IP": "150.163.34.120",
        "IBI_RESOLVER": f"http://{resolver}",
        "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
        "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
        "IBI_ARCHIVE_IP": "127.0.0.1",
    }


@dataclass(frozen=True)
class Member:
    """Our Archive, included by the foreign resolver."""

    resolver: ForeignProcess
    command: IbiCommand
    service: str
    ibip: str
    labels: dict[str, str]
    url: str

    def ask(self, *pairs: tuple[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = self.resolver("ask", service=self.service, pairs=pairs)
        return found

    def url_list(self, label: str, verbs: str = "", path: str = "") -> dict[str, str]:
        """An answer to the letter of R 6.2."""
        pairs = [("servicesubject", "urlRequest"), ("clientinformation.ipaddress", "172.16.44.200 150.163.68.1")]
        pairs += [("parsedibiurl.ibi", label)]
        pairs += [("parsedibiurl.verblist", verbs)] if verbs else []
        pairs += [("parsedibiurl.filepath", path)] if path else []
        answer = self.ask(*pairs)
        assert (answer["status"], answer["type"]) == (200, "text/plain")
        return read_list(answer["body"])

    def fetched(self, url: str) -> Followed:
        address, _, path = url.removeprefix("http://").partition("/")
        return follow(address, f"/{path}", Accept="application/json" if "metadata" in url else "*/*")


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    path = tmp_path_factory.mktemp("member")
    command = IbiCommand(path, log=path.parent / f"{path.name}.log")
    with ExitStack() as stack:
        resolver = stack.enter_context(foreign("resolver"))
        settings = member_settings(resolver.address)
        own = {name: value for name, value in settings.items() if "MINT" in name}
        begun = json.loads(in_process(command, "archive", "init", "--json", **own))
        labels: dict[str, str] = {}

        def deposit(name: str, *flags: str) -> None:
            (path / NAMES[name]).write_text(name)
            told = in_process(
                command, "deposit", str(path / NAMES[name]), "--title", name, "--language", name[1:], "--json", *flags,
                **own,
            )  # fmt: skip
            labels[name] = str(json.loads(told)["rep"])

        deposit("1en")
        deposit("1pt", "--translation-of", labels["1en"])
        deposit("2en", "--edition-of", labels["1en"])
        deposit("2pt", "--translation-of", labels["2en"])
        in_process(command, "relate", labels["1pt"], "--next-edition", labels["2pt"], **own)
        resolver("register", service=begun["rep"], key=KEY)
        _, url = stack.enter_context(command.up("--log-level", "info", **settings))
        until(lambda: resolver("members") == {begun["rep"]: True})
        yield Member(resolver, command, begun["rep"], begun["ibip"], labels, url.rstrip("/"))


# --- membership ------------------------------------------------------------------------------------------------------


def test_an_inclusion_has_the_eight_pairs_of_the_table(member: Member) -> None:
    first = next(each for each in member.resolver("messages") if each["kind"] == "inclusionRequest")
    assert first["wrong"] == []
    assert f"archiveserviceibi={member.service}" in unquote(first["query"])
    assert f"registrationkey={KEY}" in first["query"]
    assert "archiveprotocol=HTTP&" in f"{first['query']}&"


def test_the_confirmation_is_the_constant(member: Member) -> None:
    answer = member.ask(("servicesubject", "inclusionConfirmationRequest"))
    assert answer == {"status": 200, "type": "text/plain", "body": "confirmation yes"}


def test_an_archive_is_excluded_when_it_is_switched_off_and_included_again(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path, log=tmp_path.parent / f"{tmp_path.name}.log")
    with foreign("resolver") as resolver:
        settings = member_settings(resolver.address)
        own = {name: value for name, value in settings.items() if "MINT" in name}
        service = json.loads(in_process(command, "archive", "init", "--json", **own))["rep"]
        with command.up("--log-level", "info", **settings):  # not registered, so refused
            until(lambda: "inclusionRequest" in str(resolver("messages")))
            assert resolver("members") == {}
            until(lambda: resolver.address in command.log_text)
        resolver("register", service=service, key=KEY)
        for _ in range(2):
            with command.up("--log-level", "info", **settings):
                until(lambda: resolver("members") == {service: True})
            assert resolver("members") == {}
        kinds = [each["kind"] for each in resolver("messages") if each["kind"] != "asked"]
        assert kinds[-1] == "exclusionRequest"
        assert [each["wrong"] for each in resolver("messages") if each["kind"] == "exclusionRequest"][-1] == []


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LEADS_TO)
def test_a_link_of_the_foreign_resolver_leads_to_the_right_bytes(member: Member, link: str) -> None:
    got = follow(member.resolver.address, f"/{member.labels['1en']}{link}", Accept_Language="pt-BR, pt;q=0.8")
    assert got.status == 302, got
    name, _, about = LEADS_TO[link].partition(" ")
    answer = member.fetched(got.location)
    assert answer.status == 200, got.location
    if about:
        assert member.labels[name] in unquote(got.location)
        if "oai_dc" in link:
            assert f"<dc:title>{name}</dc:title>".encode() in answer.body
        else:
            assert json.loads(answer.body)["metadata"]["title"][0]["value"] == name
    else:
        assert answer.body.decode() == name


@pytest.mark.parametrize(
    "verbs",
    [
        "",
        "GetMetadata",
        "GetMetadata(oai_dc)",
        "GetLastEdition",
        "GetTranslation",
        "GetTranslation(pt)",
        "GetLastEdition GetMetadata(oai_dc)",
        "GetTranslation(pt) GetLastEdition GetMetadata",
        "GetFileList",
        "GetMetadata GetMetadata",
        "GetLastEdition GetFileList",
    ],
)
@pytest.mark.parametrize("name", ["1en", "2en"])
def test_an_answer_names_the_archive_and_completes_each_url(member: Member, name: str, verbs: str) -> None:
    """R Algorithm 2, lines 6 to 10, 19 and 25 to 32."""
    pairs = member.url_list(member.labels[name], verbs)
    assert pairs["archiveaddress"] == member.url.removeprefix("http://")
    assert labels_of(pairs["ibi.archiveservice"]) == {"rep": member.service, "ibip": member.ibip}
    assert labels_of(pairs["ibi"])["rep"] == member.labels[name]
    assert "ibi.platformsoftware" in pairs
    qualifiers = [each.removeprefix("url") for each in pairs if each.partition(".")[0] == "url"]
    assert qualifiers or (name == "1en" and "Last" in verbs)
    for qualifier in qualifiers:
        assert pairs[f"contenttype{qualifier}"] in ("Data", "Metadata")
        assert pairs[f"state{qualifier}"] == "Original"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", pairs[f"timestamp{qualifier}"])
        assert re.fullmatch(r"[0-9]{10,}(-[0-9]{10,})?", pairs["urlkey"])
        assert member.fetched(pairs[f"url{qualifier}"]).status == 200


def test_verbs_that_say_the_same_twice_are_one(member: Member) -> None:
    """R 8.2: united without repetition."""
    once, twice = (member.url_list(member.labels["1en"], verbs) for verbs in ("GetMetadata", "GetMetadata GetMetadata"))
    assert {**once, "urlkey": ""} == {**twice, "urlkey": ""}
    assert "url.metadata" in once


@pytest.mark.parametrize("path", ["/Relatório Final.txt", "Relatório Final.txt"])
@pytest.mark.parametrize("charset", ["latin-1", "utf-8"])
def test_a_file_is_found_by_its_name_in_either_encoding(member: Member, path: str, charset: str) -> None:
    """R Example 6.2 has ISO 8859-1; a name in UTF-8 is what most send today."""
    octets = "".join(f"%{octet:02x}" if octet > 0x7E or octet == 0x20 else chr(octet) for octet in path.encode(charset))
    query = (
        f"servicesubject=urlRequest&clientinformation.ipaddress=172.16.44.200"
        f"&parsedibiurl.ibi={member.labels['1en']}&parsedibiurl.filepath={octets}"
    )
    got = follow(member.url.removeprefix("http://"), f"/{member.service}?{query}")
    pairs = read_list(got.body.decode("ascii"))
    assert member.fetched(pairs["url"]).body == b"1en"


def test_metadata_are_answered_whatever_path_stands_beside_the_verb(member: Member) -> None:
    """R CRIARPARURL: the verbs prevail."""
    plain = member.url_list(member.labels["1en"], "GetMetadata")["url.metadata"]
    for path in ("/1pt.txt", "/no such file.txt"):
        assert member.url_list(member.labels["1en"], "GetMetadata", path).get("url.metadata") == plain


def test_what_is_not_here_gets_an_empty_answer(member: Member) -> None:
    for label in ("arq.lab.br/nothing/2009/07.21.14.43", "8JMKD3MGP8W/35MMLL8", "no label at all"):
        answer = member.ask(
            ("servicesubject", "urlRequest"),
            ("clientinformation.ipaddress", "172.16.44.200"),
            ("parsedibiurl.ibi", label),
        )
        assert (answer["status"], answer["body"]) == (200, "")
    assert "url" not in member.url_list(member.labels["1en"], path="/no such file.txt")
    assert "url.translation(wa)" not in member.url_list(member.labels["1en"], "GetTranslation(wa)")


def test_keys_differ_from_answer_to_answer(member: Member) -> None:
    """R 9.2: a key should be replaced at each answer."""
    assert len({member.url_list(member.labels["1en"])["urlkey"] for _ in range(5)}) == 5


def test_a_deleted_item_is_said_to_be(member: Member) -> None:
    """R Algorithm 2, lines 11 to 15."""
    (member.command.home / "gone.txt").write_text("gone")
    settings = {"IBI_MINT_HOST": "arq.lab.br", "IBI_MINT_IP": "150.163.34.120"}
    made = json.loads(
        in_process(
            member.command, "deposit", str(member.command.home / "gone.txt"), "--title", "x", "--json", **settings
        )
    )
    assert "url" in member.url_list(made["rep"])
    in_process(member.command, "delete", made["rep"], "--reason", "withdrawn", **settings)
    pairs = member.url_list(made["rep"])
    names = {"archiveaddress", "ibi", "ibi.archiveservice", "ibi.platformsoftware", "state", "timestamp"}
    assert (set(pairs), pairs["state"]) == (names, "Deleted")
    assert follow(member.resolver.address, f"/{made['rep']}").status == 404


# --- acknowledgments -------------------------------------------------------------------------------------------------


def test_the_acknowledgment_of_a_link_is_received(member: Member) -> None:
    follow(member.resolver.address, f"/{member.labels['2en']}")
    last = [each for each in member.resolver("messages") if "acknowledgment" in str(each.get("query"))][-1]
    assert (last["status"], last["body"]) == (200, "notice {acknowledgment received}")


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [("urlkey", "1")],
        [("clientinformation.ipaddress", "nobody"), ("state", "Lost")],
        [("url", "http://urlib.net/a b"), ("urlkey", "1234567890-1234567890"), ("x", "y")],
    ],
)
def test_an_acknowledgment_without_its_pairs_gets_the_constant(member: Member, pairs: list[tuple[str, str]]) -> None:
    """R Algorithm 1, line 20."""
    answer = member.ask(("servicesubject", "acknowledgment"), *pairs)
    assert answer == {"status": 200, "type": "text/plain", "body": "notice {acknowledgment received}"}


# --- services that R does not have -----------------------------------------------------------------------------------


def test_an_archive_that_takes_no_transfers_is_named_within_seconds(member: Member) -> None:
    label = member.labels["1en"]
    with foreign("archive", "--service", "sid.inpe.br/mtc-m18@80/2008/03.17.15.17") as other:
        begun = time.monotonic()
        done = member.command("transfer", label, "--to", f"http://{other.address}", "--token", "0" * 40)
        took = time.monotonic() - begun
    assert done.code == 1
    assert f"{other.address} takes no transfers" in done.out, done
    assert took < 10
    assert member.url_list(label)["state"] == "Original"
