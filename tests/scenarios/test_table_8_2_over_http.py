"""R Table 8.2 over HTTP: every modifier leads to the right bytes, kept in one Archive or shared by two.

Archives and resolver are processes of the command; items are deposited and related with the command, run in this
process because there are many, and links are followed with a plain client. The work has two editions, each in English
and Portuguese. Its metadata is an item of its own, in English, with a translation into Portuguese; or it is what the
Archive writes from a description, which has no language of its own, so that `:+` is what `:` is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenarios.test_membership import log_line
from tests.scenarios.test_resolver import KEY, get, home
from tests.support.home_world import in_process
from tests.support.ibi_command import IbiCommand

TEXTS = ("1en", "1pt", "2en", "2pt")
ABOUT = tuple(f"{text}:{language}" for text in TEXTS for language in ("en", "pt"))
"""The metadata of each text, in two languages."""
WRITTEN = {
    "same Archive": frozenset(TEXTS),
    "editions apart": frozenset({"1en", "1pt"}),
    "languages apart": frozenset({"1en", "2en"}),
    "first text apart": frozenset({"1en"}),
}
"""What the first Archive has, where metadata is written by the Archive of the text; the other one has the rest."""
KEPT = {
    "metadata in the same Archive": frozenset((*TEXTS, *ABOUT)),
    "metadata apart": frozenset(TEXTS),
    "editions and languages of metadata apart": frozenset(
        name for name in (*TEXTS, *ABOUT) if name.startswith("1") != name.endswith(":pt")
    ),
}
"""The same where metadata is kept."""
SHARES = {**WRITTEN, **KEPT}
LEADS_TO = {
    "": "1en",
    ":": "1en:en",
    ":+": "1en:pt",
    "!": "2en",
    "!+": "2pt",
    "!:": "2en:en",
    "!+:": "2pt:en",
    "!:+": "2en:pt",
    "!+:+": "2pt:pt",
    "+": "1pt",
    "+!": "2pt",
    "+:": "1pt:en",
    "+!:": "2pt:en",
    "+:+": "1pt:pt",
    "+!:+": "2pt:pt",
}
"""The empty modifier and the fourteen of the table, for a reader who wants Portuguese."""


@dataclass(frozen=True)
class Archive:
    command: IbiCommand
    variables: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        return in_process(self.command, *arguments, **self.variables)

    def deposit(self, name: str, text: str, *flags: str) -> str:
        """The label under which it is kept."""
        path = self.command.home / f"{name.replace(':', ' about ')}.txt"
        path.write_text(text)
        made = json.loads(self.run("deposit", str(path), "--title", text, "--language", name[-2:], "--json", *flags))
        return str(made["rep"])


def archive(path: Path, host: str) -> Archive:
    """One that mints under a name of its own."""
    return Archive(home(path), {"IBI_MINT_HOST": host, "IBI_ARCHIVE_IP": "127.0.0.1"})


def title(share: str, name: str) -> str:
    return f"{share}: {name}"


def deposited(share: str, one: Archive, other: Archive) -> str:
    """The texts and their metadata, each told of by those beside it and by those elsewhere; the label of the first."""
    places = {name: one if name in SHARES[share] else other for name in (*TEXTS, *ABOUT)}
    labels: dict[str, str] = {}

    def deposit(name: str, *flags: str) -> None:
        labels[name] = places[name].deposit(name, title(share, name), *flags)

    deposit("1en")
    for edition, text in (("1", "1pt"), ("2", "2en"), ("2", "2pt")):
        language = text[1:]
        if language == "pt":
            deposit(text, "--translation-of", labels[f"{edition}en"])
        else:
            deposit(text, "--edition-of", labels["1en"])
    for old in ("1en", "1pt"):
        new = f"2{old[1:]}"
        if (places[old] is not places[new]) or old == "1pt":
            places[old].run("relate", labels[old], "--next-edition", labels[new])
    for edition in "12":
        source, translation = f"{edition}en", f"{edition}pt"
        if places[source] is not places[translation]:
            places[source].run("relate", labels[source], "--translation", "pt", labels[translation])
    for text in TEXTS if share in KEPT else ():
        about, translated = f"{text}:en", f"{text}:pt"
        deposit(about, "--metadata-of", labels[text])
        if places[about] is not places[text]:
            places[text].run("relate", labels[text], "--metadata", labels[about])
        if places[translated] is places[about]:
            deposit(translated, "--translation-of", labels[about])
        else:
            deposit(translated, "--translation-of", labels[about], "--metadata-of", labels[text])
            places[about].run("relate", labels[about], "--translation", "pt", labels[translated])
    return labels["1en"]


@dataclass(frozen=True)
class Network:
    resolver: str
    archives: tuple[str, str]
    firsts: Mapping[str, str]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    place = tmp_path_factory.mktemp("network")
    one, other = archive(place / "one", "one.lab.br"), archive(place / "other", "other.lab.br")
    resolver = archive(place / "resolver", "resolver.lab.br")
    firsts = {share: deposited(share, one, other) for share in SHARES}
    with ExitStack() as up:
        _, url = up.enter_context(resolver.command.up(**resolver.variables))
        urls = []
        for member in (one, other):
            with member.command.up(**member.variables):  # an Archive begins with its first start
                service = json.loads(member.run("archive", "status", "--json"))["rep"]
            loopback = ("--allow-network", "127.0.0.0/8")
            done = resolver.command("resolver", "register", service, *loopback, IBI_REGISTRATION_KEY=KEY)
            assert done.code == 0, done
            joining = {
                **member.variables,
                "IBI_RESOLVER": url,
                "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
                "IBI_ARCHIVE_ADMIN_EMAIL": "ana@example.org",
            }
            server, member_url = up.enter_context(member.command.up("--log-level", "info", **joining))
            log_line(server, "included this Archive")
            urls.append(member_url)
        yield Network(url, (urls[0], urls[1]), firsts)


def place(network: Network, share: str, name: str) -> str:
    return network.archives[0 if name in SHARES[share] else 1]


def check(network: Network, share: str, modifier: str, link: str, **headers: str) -> None:
    """The reader is sent to the Archive that has it, and gets there the very text, or the description of that text."""
    text, _, about = LEADS_TO[modifier].partition(":")
    is_written = bool(about) and share in WRITTEN
    name = text if is_written else LEADS_TO[modifier]
    answer, body = get(f"{network.resolver}/{network.firsts[share]}{link}", **headers)
    assert answer.status == 302, (link, body)
    location = answer.getheader("Location")
    assert location is not None
    assert location.startswith(f"{place(network, share, name)}/"), location
    answer, body = get(location, Accept="application/json" if is_written else "*/*")
    assert answer.status == 200, (location, body)
    found = json.loads(body)["metadata"]["title"][0]["value"] if is_written else body.decode()
    assert found == title(share, name)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", LEADS_TO)
def test_the_modifier_leads_to_the_right_bytes(network: Network, modifier: str, share: str) -> None:
    check(network, share, modifier, modifier, Accept_Language="pt-BR, fr;q=0.5")


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", LEADS_TO)
def test_the_verbs_with_the_language_named_and_the_original_required_lead_to_the_right_bytes(
    network: Network, modifier: str, share: str
) -> None:
    """R Tables 8.4 and 8.5: what the query asks for is what a modifier would."""
    texts, _, metadata = modifier.partition(":")
    verbs = [{"!": "GetLastEdition", "+": "GetTranslation(pt)"}[each] for each in texts]
    translated = "GetTranslation(pt)" if share in KEPT else "GetTranslation"
    verbs += ["GetMetadata", *([translated] if metadata else [])] if ":" in modifier else []
    pairs = [f"ibiurl.verblist={'+'.join(verbs)}"] if verbs else []
    link = "?" + "&".join([*pairs, "ibiurl.requireditemstatus=Original"])
    check(network, share, modifier, link, Accept_Language="en")


@pytest.mark.parametrize("share", SHARES)
def test_a_file_and_a_format_are_those_of_the_item_that_the_modifier_selects(network: Network, share: str) -> None:
    """E16."""
    first = network.firsts[share]
    answer, _ = get(f"{network.resolver}/{first}!+(pt)/2pt.txt")
    assert get(str(answer.getheader("Location")))[1].decode() == title(share, "2pt")
    answer, _ = get(f"{network.resolver}/{first}!+(pt):(oai_dc)")
    _, body = get(str(answer.getheader("Location")))
    assert f"<dc:title>{title(share, '2pt')}</dc:title>".encode() in body


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("modifier", LEADS_TO)
def test_the_content_type_says_whether_it_is_metadata(network: Network, modifier: str, share: str) -> None:
    """R Table 9.3, `contenttype`: also of an item that was asked for with no verb left."""
    answer, body = get(
        f"{network.resolver}/{network.firsts[share]}{modifier}?ibiurl.info=json", Accept_Language="pt-BR, fr;q=0.5"
    )
    assert answer.status == 200, body
    assert json.loads(body)["content_type"] == ("Metadata" if ":" in modifier else "Data")


@pytest.mark.parametrize("share", KEPT)
def test_metadata_in_a_language_that_there_is_not_is_told_with_those_there_are(network: Network, share: str) -> None:
    answer, body = get(f"{network.resolver}/{network.firsts[share]}:+(fr)", Accept="application/json")
    assert answer.status == 404, body
    assert "en, pt" in json.loads(body)["detail"]
