"""A resolver of another make: a process that knows R's text and nothing else.

It takes in Archives (R 7.2), follows persistent URLs (R 8.1, 8.2) and writes down all that was said, on sockets and
threads of the standard library. Orders come as lines of JSON on standard input, one answer for each on standard output.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote

SERVICE = "J8LNKB5R7W/3FUQHC5"
REPOSITORY = (
    r"(?:[A-Za-z0-9-]+\.)*[A-Za-z][A-Za-z0-9-]*\.?/[A-Za-z0-9-]+(?:[.@][0-9]+)?"
    r"/[0-9]{4}/[0-9]{2}(?:\.[0-9]{2}){3,4}(?:\.[0-9]+)?"
)
"""G Table 6.1."""
IBIP = r"[2-9A-HJ-NP-UWXa-hj-np-uwx]+/[2-9A-HJ-NP-UWXa-hj-np-uwx]+"
"""G Table 7.1."""
LANGUAGE = r"(?:\([a-z]{2}(?:-[A-Z]{2})?\))?"
MODIFIER = rf"(?:!(?:\+{LANGUAGE})?|\+{LANGUAGE}!?)?(?::(?:\(oai_dc\))?(?:\+{LANGUAGE})?)?"
PERSISTENT_URL = re.compile(rf"/(?P<ibi>{REPOSITORY}|{IBIP})(?P<mdf>{MODIFIER})(?P<path>/[^?]*)?(?:\?(?P<query>.*))?")
"""R Table 8.1."""
STEP = re.compile(r"([!+:])(\([^)]*\))?")
VERBS = {"!": "GetLastEdition", "+": "GetTranslation", ":": "GetMetadata"}
RELATIONS = {"GetLastEdition": ".lastedition", "GetTranslation": ".translation", "GetMetadata": ".metadata"}
SPECIAL = {"%": "%25", " ": "%20", "&": "%26", "+": "%2B", "=": "%3D", "?": "%3F"}
"""R Table 6.1."""
PAIR = re.compile(r"([!-z|~]+) +(\{([!-z|~]+(?: [!-z|~]+)*)?\}|[!-z|~]+)(?:\r\n| |\Z)")
"""R Table 6.2; and `{}`, which R 9.2 has for an IBI that there is not."""
SUBJECTS = ("inclusionRequest", "exclusionRequest")
OBLIGATORY = {
    "servicesubject": r"inclusionRequest|exclusionRequest",
    "archiveaddress": r"[A-Za-z0-9.-]+(?::[0-9]+)?|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?",
    "archiveserviceibi": rf"{REPOSITORY}|{IBIP}",
    "archiveip": r"[0-9]+(?:\.[0-9]+){3}|[0-9A-Fa-f:.]+",
    "archiveprotocol": r"HTTP",
    "archiveplatformversion": r"[!-~]+",
    "archiveadmemailaddress": r"[^@ ]+@[^@ ]+",
    "registrationkey": r"[0-9]{10,}(?:-[0-9]{10,})?",
}
"""R Table 7.2."""
MOST_HOPS = 8


class NotAList(Exception):
    """An answer that is no list of pairs (R Table 6.2)."""


def encoded(value: str, charset: str = "latin-1") -> str:
    """R Table 6.1; and R 6.2 for what is not ASCII."""
    plain = "".join(SPECIAL.get(character, character) for character in value)
    return "".join(chr(octet) if octet < 0x7F else f"%{octet:02x}" for octet in plain.encode(charset))


def pairs_of(query: str) -> dict[str, str]:
    named = (pair.partition("=") for pair in query.split("&"))
    return {name: unquote(value.replace("+", " ")) for name, _, value in named}


def read_list(text: str) -> dict[str, str]:
    """R Table 6.2, to the letter."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        pair = PAIR.match(text, at)
        if pair is None:
            raise NotAList(text[at : at + 80])
        if pair[1] in found:
            raise NotAList(f"{pair[1]} comes twice")
        found[pair[1]] = pair[2]
        at = pair.end()
    return found


def labels_of(value: str) -> dict[str, str]:
    """R Table 9.4: the forms of an IBI."""
    words = value.strip("{}").split(" ")
    return dict(zip(words[::2], words[1::2], strict=True))


@dataclass
class Member:
    address: str
    service: str
    key: str
    is_confirmed: bool


@dataclass
class Answer:
    member: Member
    status: int
    headers: dict[str, str]
    body: str
    pairs: dict[str, str] = field(default_factory=dict)


class Resolver:
    def __init__(self, address: str) -> None:
        self.address = address
        self.registered: dict[str, str] = {}
        self.members: dict[str, Member] = {}
        self.messages: list[dict[str, object]] = []
        self.lock = threading.Lock()
        self.fault = ""
        """What it does wrong: `utf-8` writes paths in another encoding, an address is told in place of the reader's."""

    def note(self, **message: object) -> None:
        with self.lock:
            self.messages.append(message)

    # --- R 7.2 ---

    def take_message(self, query: str) -> str:
        """The status that an inclusion or exclusion gets; nothing if it is refused."""
        pairs = pairs_of(query)
        wrong = [name for name, form in OBLIGATORY.items() if not re.fullmatch(form, pairs.get(name, ""))]
        self.note(kind=pairs.get("servicesubject", ""), query=query, wrong=wrong)
        service = pairs.get("archiveserviceibi", "").lower()
        if wrong or self.registered.get(service) != pairs["registrationkey"]:
            return ""
        if pairs["servicesubject"] == "exclusionRequest":
            self.members.pop(service, None)
            return "status.archive excluded"
        member = Member(pairs["archiveaddress"], pairs["archiveserviceibi"], pairs["registrationkey"], False)
        confirmed = self.ask(member, [("servicesubject", "inclusionConfirmationRequest")]).body
        member.is_confirmed = confirmed == "confirmation yes"
        self.members[service] = member
        return f"status.archive included status.confirmation {'' if member.is_confirmed else 'un'}successful"

    # --- R 6.1 ---

    def ask(self, member: Member, pairs: list[tuple[str, str]]) -> Answer:
        charset = "utf-8" if self.fault == "utf-8" else "latin-1"
        query = "&".join(f"{name}={encoded(value, charset)}" for name, value in pairs)
        host, _, port = member.address.partition(":")
        with socket.create_connection((host, int(port or 80)), timeout=60) as connection:
            head = f"GET /{member.service}?{query} HTTP/1.0\r\nHost: {member.address}\r\n\r\n"
            connection.sendall(head.encode("latin-1"))
            received = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode("latin-1")
        head, _, body = received.partition("\r\n\r\n")
        status, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        answer = Answer(member, int(status.split(" ")[1]), headers, body)
        self.note(kind="asked", query=query, status=answer.status, type=headers.get("content-type"), body=body)
        return answer

    # --- R 8.2 ---

    def resolve(self, target: str, reader: str, languages: str) -> tuple[str, str]:
        """The URL, or an empty one and the alert."""
        found = PERSISTENT_URL.fullmatch(target)
        if found is None:
            return "", "this is no persistent URL"
        query = pairs_of(found["query"]) if found["query"] else {}
        verbs = [VERBS[sign] + parameter for sign, parameter in STEP.findall(found["mdf"])]
        verbs += [verb for verb in query.get("ibiurl.verblist", "").split() if verb not in verbs]
        is_original = query.get("ibiurl.requireditemstatus") == "Original"
        ibi, path, seen = found["ibi"], unquote(found["path"] or "", "latin-1"), set[tuple[str, tuple[str, ...]]]()
        reader = reader if self.fault in ("", "utf-8") else self.fault
        for _ in range(MOST_HOPS):
            if (ibi.lower(), tuple(verbs)) in seen:
                break
            seen.add((ibi.lower(), tuple(verbs)))
            chosen = self.select(self.asked(ibi, path, verbs, reader), verbs, languages, is_original)
            if isinstance(chosen, str):
                return "", chosen
            answer, relation = chosen
            if url := answer.pairs.get(f"url{relation}"):
                self.thank(answer, relation, url, target, reader)
                return url, ""
            following = self.next_ibi(answer, verbs)
            if following is None:
                return "", "the item of information was not found"
            ibi, verbs = following
        return "", "the item of information was not found: a loop"

    def asked(self, ibi: str, path: str, verbs: list[str], reader: str) -> list[Answer]:
        """The answers that are not empty, of all Archives."""
        pairs = [("clientinformation.ipaddress", reader)]
        pairs += [("parsedibiurl.filepath", path)] if path else []
        pairs += [("parsedibiurl.ibi", ibi)]
        pairs += [("parsedibiurl.verblist", " ".join(verbs))] if verbs else []
        answers = [self.ask(member, [*pairs, ("servicesubject", "urlRequest")]) for member in self.members.values()]
        for answer in answers:
            answer.pairs = read_list(answer.body)
        return [answer for answer in answers if answer.pairs]

    def select(
        self, answers: list[Answer], verbs: list[str], languages: str, is_original: bool
    ) -> tuple[Answer, str] | str:
        """The answer to go on with and the relation that is wanted of it, or an alert."""
        answers = [answer for answer in answers if answer.pairs.get("state") != "Deleted"]
        if not answers:
            return "the item of information was not found, or was removed"
        found = [(answer, self.relation(answer, verbs, languages)) for answer in answers]
        if is_original:
            originals = [each for each in found if each[0].pairs.get(f"state{each[1]}") == "Original"]
            if len(originals) > 1:
                return "two or more Archives are under suspicion"
            found = originals or found
        return found[0]

    @staticmethod
    def relation(answer: Answer, verbs: list[str], languages: str) -> str:
        """The qualifier of what is wanted; for `+` the language that the reader prefers, among those there are."""
        relation = ""
        for verb in verbs:
            name, parenthesis, parameter = verb.partition("(")
            if name not in RELATIONS:
                continue
            step = RELATIONS[name] + parenthesis + parameter
            if step == ".translation":
                wanted = [each.partition(";")[0].strip() for each in languages.split(",")]
                wanted += [each.partition("-")[0] for each in wanted]
                there = (f".translation({each})" for each in wanted)
                step = next(
                    (
                        each
                        for each in there
                        if any(name.partition(".")[2].startswith(f"{relation}{each}"[1:]) for name in answer.pairs)
                    ),
                    step,
                )
            relation += step
        return relation

    @staticmethod
    def next_ibi(answer: Answer, verbs: list[str]) -> tuple[str, list[str]] | None:
        """R 10.2: the IBI in the answer that serves the verbs, and the verbs that are left then."""
        for length in range(len(verbs), 0, -1):
            relation = "".join(
                RELATIONS[verb.partition("(")[0]] + verb.partition("(")[1] + verb.partition("(")[2]
                for verb in verbs[:length]
            )
            if value := answer.pairs.get(f"ibi{relation}"):
                return next(iter(labels_of(value).values())), verbs[length:]
        if verbs[:1] == ["GetLastEdition"] and (value := answer.pairs.get("ibi.nextedition")):
            return next(iter(labels_of(value).values())), verbs
        return None

    def thank(self, answer: Answer, relation: str, url: str, target: str, reader: str) -> None:
        """R Table 8.11."""
        pairs = [("clientinformation.ipaddress", reader)]
        named = ((name, answer.pairs.get(f"{name}{relation}")) for name in ("contenttype", "ibi", "state"))
        pairs += [(name, value.strip("{}")) for name, value in named if value]
        pairs += [
            ("servicesubject", "acknowledgment"),
            ("url", url),
            ("url.persistent", f"http://urlib.net{target}"),
            ("urlkey", answer.pairs.get("urlkey", "")),
        ]
        self.ask(answer.member, pairs)


# --- over HTTP -------------------------------------------------------------------------------------------------------


class Server:
    def __init__(self, resolver: Resolver, listener: socket.socket) -> None:
        self.resolver, self.listener = resolver, listener

    def run(self) -> None:
        while True:
            connection, (host, _) = self.listener.accept()
            threading.Thread(target=self.talk, args=(connection, host), daemon=True).start()

    def talk(self, connection: socket.socket, host: str) -> None:
        with connection, connection.makefile("rb") as reader:
            line = reader.readline(1 << 16).decode("latin-1")
            lines = iter(lambda: reader.readline(1 << 16).decode("latin-1").strip(), "")
            headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
            with suppress(OSError, IndexError):
                connection.sendall(self.answer(line.split(" ")[1], host, headers.get("accept-language", "")))

    def answer(self, target: str, host: str, languages: str) -> bytes:
        path, _, query = target.partition("?")
        if path.lstrip("/").upper() == SERVICE and "servicesubject=" in query:
            told = self.resolver.take_message(query)
            return head("200 OK" if told else "403 Forbidden", "text/plain") + told.encode("ascii")
        try:
            url, alert = self.resolver.resolve(target, host, languages)
        except NotAList as wrong:
            return head("502 Bad Gateway", "text/plain") + f"no list of pairs: {wrong}".encode()
        if url:
            return head("302 Found", "text/plain", f"Location: {url}")
        return head("404 Not Found", "text/plain") + alert.encode()


def head(status: str, kind: str, *more: str) -> bytes:
    lines = (f"HTTP/1.0 {status}", f"Content-Type: {kind}", "Connection: close", *more)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


class Orders:
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def obey(self, order: dict[str, object]) -> object:
        match order:
            case {"do": "register", "service": str(service), "key": str(key)}:
                self.resolver.registered[service.lower()] = key
                return None
            case {"do": "err", "fault": str(fault)}:
                self.resolver.fault = fault
                return None
            case {"do": "messages"}:
                with self.resolver.lock:
                    return list(self.resolver.messages)
            case {"do": "members"}:
                return {name: member.is_confirmed for name, member in self.resolver.members.items()}
            case {"do": "ask", "service": str(service), "pairs": list(pairs)}:
                member = self.resolver.members[service.lower()]
                answer = self.resolver.ask(member, [(str(name), str(value)) for name, value in pairs])
                return {"status": answer.status, "type": answer.headers.get("content-type"), "body": answer.body}
        raise ValueError(order)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        resolver = Resolver(f"127.0.0.1:{listener.getsockname()[1]}")
        threading.Thread(target=Server(resolver, listener).run, daemon=True).start()
        print(json.dumps(resolver.address), flush=True)
        orders = Orders(resolver)
        for line in sys.stdin:
            print(json.dumps(orders.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
