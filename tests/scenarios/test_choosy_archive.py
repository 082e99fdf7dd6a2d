"""Archives of another make that decide by the reader's address, or know single relations: beside a resolver that is a
process of its own (R 9.2, R Example 9.3; E76, E101)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

from ibi.net.own_address import find_own_address
from tests.support.foreign_world import asked_about, foreign_world, sent
from tests.support.home_world import ResolverWorld, resolver_world
from tests.support.loopback_archives import EMPTY, LoopbackArchives, plain, target_of
from tests.support.lying_archive import Asked, LoopbackMember

CHOOSY, HOME, SINGLE = "choosy.org/arq/2009/07.21.14.01", "home.org/arq/2009/07.21.14.02", "one.org/x/2009/07.21.14.03"
HOMELESS, AT_HOME = "moved.org/x/2010/01.01.00.01", "home.org/arq/2010/01.01.00.01"
SOURCE, TRANSLATION = "one.org/x/2010/01.01.00.01", "one.org/x/2010/01.01.00.02"
READER = "127.0.0.1"
"""From where the test asks; its network is 127.0.0.0/24."""


class Member(LoopbackMember):
    def told(self, label: str = "") -> list[str]:
        """The addresses that came with questions about a label, in order; or with all requests."""
        targets = map(target_of, list(self.listener.requests))
        queries = [dict(parse_qsl(target.decode("ascii").partition("?")[2])) for target in targets]
        about = (each for each in queries if label in ("", each.get("parsedibiurl.ibi")))
        return [each["clientinformation.ipaddress"] for each in about if "clientinformation.ipaddress" in each]

    def wait_for_question(self, label: str) -> None:
        with self.listener.changed:
            assert self.listener.changed.wait_for(lambda: self.told(label), 60), self.listener.requests


class Choosy(Member):
    """Has the items in `holds`; where they are depends on who asks."""

    def __init__(self, sockets: LoopbackArchives, service: str, host: str, *holds: str) -> None:
        self.holds = holds
        super().__init__(sockets, service, host)

    def _respond(self, request: bytes) -> bytes:
        self.asked_by = dict(parse_qsl(target_of(request).decode("ascii").partition("?")[2])).get(
            "clientinformation.ipaddress"
        )
        return super()._respond(request)

    def says(self, asked: Asked) -> bytes:
        if asked.label.lower() not in self.holds:
            return EMPTY
        place = "inside" if self.asked_by == READER else "outside"
        pairs = ["contenttype Data", "state Original", f"url http://{self.address}/{place}"]
        return plain("\r\n".join([*self.head(asked), *pairs]).encode())


class Single(Member):
    """Knows the translation of one item, and of each that it is its own last edition."""

    def says(self, asked: Asked) -> bytes:
        pairs: list[str] = []
        label = asked.label.lower()
        if label not in (SOURCE, TRANSLATION):
            return EMPTY
        if asked.verbs == "GetTranslation(pt)" and label == SOURCE:
            qualifier, item = ".translation(pt)", TRANSLATION
        elif asked.verbs == "GetLastEdition":
            qualifier, item = ".lastedition", label
        else:
            return plain("\r\n".join(self.head(asked)).encode())
        pairs = [f"ibi{qualifier} {{rep {item}}}", f"contenttype{qualifier} Data", f"state{qualifier} Original"]
        url = f"url{qualifier} http://{self.address}/{item}"
        return plain("\r\n".join([*self.head(asked), *pairs, url]).encode())


def location(world: ResolverWorld, path: str) -> str:
    answer = world.ask(f"/{path}")
    assert answer.status == 302, (answer.status, answer.body)
    assert answer.location is not None
    return answer.location


def test_archives_of_another_make_get_the_address_by_which_they_decide(tmp_path: Path) -> None:
    with resolver_world(tmp_path) as world:
        choosy = Choosy(world.sockets, CHOOSY, "127.0.0.21", HOMELESS)
        home = Choosy(world.sockets, HOME, "127.0.0.22", AT_HOME)
        single = Single(world.sockets, SINGLE, "127.0.0.23")
        members = (choosy, home, single)
        for member in members:
            world.add(member)
        assert location(world, HOMELESS) == f"http://{choosy.address}/inside"
        assert choosy.told(HOMELESS)[:2] == ["127.0.0.0", READER]  # the search, and before the redirect
        trace = world.ask(f"/{HOMELESS}?ibiurl.trace=json").problem
        (report,) = (each for each in trace["hops"][0]["archives"] if each["address"] == choosy.address)
        # By now it is the known holder, which has the address at once.
        assert (report["verdict"], report["again"]) == ("chosen", None)
        assert location(world, AT_HOME) == f"http://{home.address}/inside"
        assert home.told(AT_HOME)[0] == READER
        assert location(world, f"{SOURCE}+(pt)!") == f"http://{single.address}/{TRANSLATION}"
        # Second claims are looked for without a reader: of an Archive that no link has asked for this item.
        choosy.wait_for_question(AT_HOME)
        for member in members:
            assert {"0.0.0.0", "::"}.isdisjoint(word for each in member.told() for word in each.split())


def test_a_reader_behind_a_proxy_that_hides_the_address_gets_nothing_that_is_for_the_resolver(tmp_path: Path) -> None:
    own, proxy = str(find_own_address()), READER
    assert own != proxy
    with foreign_world(tmp_path, IBI_TRUSTED_PROXIES="127.0.0.0/8") as world:
        archive = world.archive(HOME)
        for rep in ("home.org/arq/2011/01.01.01.01", "moved.org/x/2011/01.01.01.01"):
            archive("items", items=[{"rep": rep, "files": ["a.pdf"], "style": {"for_network": own}}])
            for hidden in ("unknown", "0.0.0.0", "198.51.100.7, _hidden"):
                for link in (f"/{rep}", f"/{rep}?ibiurl.trace=json"):
                    got = world.follow(link, X_Forwarded_For=hidden)
                    assert "a.pdf" not in got.location
                    assert b"a.pdf" not in got.body
            told = {sent(each, "clientinformation.ipaddress") for each in asked_about(archive, rep)}
            assert proxy in told
            assert told <= {"127.0.0.0", proxy, own}  # the resolver itself looks for second claims
