"""An Archive of another make: a process that knows R's text and nothing else.

It stands on sockets and threads of the standard library. Its switches (`Style`) are the ways in which an Archive may
differ from others and still be one by R, and a few in which Archives in use differ from R. Orders come as lines of JSON
on standard input, one answer for each on standard output.

Names of the standard's routines stand in the docstrings: R Algorithm 1 and 2, and R 9.2.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import count
from urllib.parse import unquote_to_bytes
from zlib import crc32

GRAPHEMES = "23456789ABCDEFGHJKLMNPQRSTU"
"""G Table 7.6."""
BEGIN = 807_235_200
"""G Algorithm 6: 1995-08-01, in POSIX time."""
DIGITS_OF_IPV4 = "0123456789."
"""G Table 7.4."""
FORMATS = ("", "(oai_dc)")


@dataclass(frozen=True)
class Style:
    """How an Archive answers."""

    filtered: bool = True
    """R FILTRARLISTADEURL, which is optional."""
    relations: str = "all"
    """`all`, `single` (one operator alone) or `minimal` (the empty relation alone)."""
    content_type: str = "text/plain"
    separator: str = "\r\n"
    after_name: str = " "
    begins: str = ""
    ends: str = ""
    repeats: str = ""
    """`equal` or `different`: pairs that come twice; the last one is the right one."""
    octets: bool = False
    """8-bit octets in URLs as they are, instead of `%f3`."""
    braces: bool = False
    """Braces around single words, as Tcl writes lists."""
    http: str = "length"
    """`length`, `close`, `1.0`, `chunked`, `lower` (names of header fields) or `interim` (a 100 before)."""
    delay: float = 0.0
    service: str = ""
    """How the service is named in answers, where that is not how it was registered."""
    forms: str = "both"
    """Which forms of labels are in answers: `both`, `rep` or `ibip`."""
    upper: bool = False
    """Labels in upper case, as both forms may be (G 6, G 7)."""
    reverse: bool = False
    extra: bool = False
    """Pairs that R does not have."""
    empty: bool = False
    """`{}` as the value of what nobody needs."""
    long: bool = False
    for_network: str = ""
    """R 9.2: readers whose address begins so get the item, all others its metadata."""
    files_at: str = ""
    """Another address to which its URLs lead."""
    path_with_verbs: bool = False
    """R CRIARPARURL ignores a path beside verbs; this does not."""


@dataclass(frozen=True)
class Item:
    rep: str
    files: tuple[str, ...]
    """Their names, percent-encoded; the first is where the item begins."""
    kind: str = "Data"
    state: str = "Original"
    next_edition: str = ""
    translations: dict[str, str] = field(default_factory=dict)
    """Repository names by language, the item's own among them."""
    metadata: str = ""
    """The repository name of its metadata; a script writes them otherwise."""
    has_no_language: bool = False
    time: str = "2014-01-02T17:23:57Z"
    style: Style = Style()


@dataclass(frozen=True)
class Found:
    """What stands in a relation to an item: the item, if it is here, or its label alone."""

    label: str = ""
    item: Item | None = None
    is_script: bool = False
    """Metadata that a script of the item writes, without an IBI."""


def graphemes(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, len(GRAPHEMES))
        text = GRAPHEMES[digit] + text
    return text


def ibip_of(rep: str) -> str:
    """The other form of a repository name (G Algorithms 5 and 6), of an address that goes with its prefix."""
    prefix, year, rest = rep.lower().rsplit("/", 2)
    number = crc32(prefix.encode("ascii"))
    ip = f"150.163.{number % 250 + 1}.{number // 250 % 250 + 1}"
    coded = 0
    for character in ip:
        coded = coded * len(DIGITS_OF_IPV4) + DIGITS_OF_IPV4.index(character)
    parts = [int(part) for part in (year, *rest.split("."))]
    moment = datetime(*[*parts, *[0] * (6 - len(parts))], tzinfo=timezone.utc)  # type: ignore[arg-type, misc] # noqa: UP017
    return f"{graphemes(coded)}W/{graphemes(int(moment.timestamp()) - BEGIN)}"


def decoded_pairs(query: str) -> list[tuple[str, str]]:
    """R DECODQS, of all pairs. `+` stands for a blank."""
    pairs = []
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        pairs.append((name, unquote_to_bytes(value.replace("+", " ")).decode("latin-1")))
    return pairs


def elements(verbs: str) -> tuple[str, ...]:
    """R Table 8.5 and 9.5: `GetLastEdition GetMetadata(oai_dc)` is `.lastedition`, `.metadata(oai_dc)`."""
    names = {"GetLastEdition": ".lastedition", "GetTranslation": ".translation", "GetMetadata": ".metadata"}
    found = []
    for verb in verbs.split():
        name, parenthesis, rest = verb.partition("(")
        if name in names:
            found.append(names[name] + parenthesis + rest)
    return tuple(found)


class Archive:
    def __init__(self, service: str, address: str) -> None:
        self.service, self.address = service, address
        self.items: dict[str, Item] = {}
        self.raw: dict[str, list[dict[str, object]]] = {}
        self.lock = threading.Lock()
        self.requests: list[str] = []
        self.keys = count(1_426_203_276_000)
        self.by_default = Style()
        self.add(Item(service, ("index.html",)))

    def add(self, item: Item) -> None:
        self.items[item.rep.lower()] = self.items[ibip_of(item.rep).lower()] = item

    # --- R Algorithm 1 ---

    def answer(self, query: str) -> tuple[bytes, Style]:
        """MONTARRESPOSTA: the body, and how it is sent."""
        pairs = dict(decoded_pairs(query)[::-1])
        subject = pairs.get("servicesubject")
        if subject == "inclusionConfirmationRequest":
            return b"confirmation yes", self.by_default
        if subject == "acknowledgment":
            return b"notice {acknowledgment received}", self.by_default
        if subject != "urlRequest":
            return b"", self.by_default
        item = self.items.get(pairs.get("parsedibiurl.ibi", "").lower())
        if item is None:
            return b"", self.by_default
        verbs, path = pairs.get("parsedibiurl.verblist", ""), pairs.get("parsedibiurl.filepath", "")
        written = self.url_list(item, pairs.get("clientinformation.ipaddress", ""), path, verbs)
        return self.written(item, written), item.style

    # --- R Algorithm 2 ---

    def url_list(self, item: Item, reader: str, path: str, verbs: str) -> list[tuple[str, str]]:
        """MONTARLISTADEURL, and FILTRARLISTADEURL."""
        style = item.style
        pairs = [
            ("archiveaddress", self.address),
            ("ibi.archiveservice", self.forms(style.service or self.service, replace(style, forms="rep"))),
            ("ibi.platformsoftware", "{}" if style.empty else "{rep dpi.inpe.br/banon/1998/08.02.08.56}"),
            ("ibi", self.forms(item.rep, style)),
        ]
        if item.state == "Deleted":
            return [*pairs, ("state", "Deleted"), ("timestamp", item.time)]
        wanted = elements(verbs)
        if item.next_edition and (".lastedition" in wanted or not style.filtered):
            pairs.append(("ibi.nextedition", self.forms(item.next_edition, style)))
        pairs.append(("urlkey", f"{next(self.keys)}-5985125171467764"))
        for relation in self.relations(style):
            if style.filtered and not fits(relation, wanted):
                continue
            pairs += self.related_pairs(item, relation, reader, path, verbs)
        if style.filtered and not any(name.partition(".")[0] == "url" for name, _ in pairs):
            pairs = [pair for pair in pairs if pair[0] != "urlkey"]  # R 10.2, the first answer
        return pairs

    def related_pairs(
        self, item: Item, relation: tuple[str, ...], reader: str, path: str, verbs: str
    ) -> Iterator[tuple[str, str]]:
        found, qualifier = self.related(item, relation), "".join(relation)
        if found is None:
            return
        if found.label and not (relation == () or found.is_script):
            yield f"ibi{qualifier}", self.forms(found.label, item.style)
        if (held := found.item) is None:
            return
        kind = held.kind
        url = self.url(found, relation, path, verbs, item.style)
        if item.style.for_network and not reader.startswith(item.style.for_network) and url:
            found, kind = Found(item=held, is_script=True), "Metadata"
            url = self.url(found, relation, "", "", item.style)
        if url:
            yield f"url{qualifier}", url
            yield f"contenttype{qualifier}", "Metadata" if found.is_script else kind
            yield f"state{qualifier}", held.state
            yield f"timestamp{qualifier}", "{}" if item.style.empty else held.time

    @staticmethod
    def relations(style: Style) -> Iterator[tuple[str, ...]]:
        """Those of R Table 9.5 that this Archive has."""
        yield ()
        if style.relations == "minimal":
            return
        texts = [(name,) for name in (".lastedition", ".translation", ".translation(en)", ".translation(pt)")]
        if style.relations == "no last edition":
            yield from texts[1:]
            return
        metadata = [(f".metadata{each}",) for each in FORMATS]
        yield from texts
        yield from metadata
        if style.relations == "single":
            return
        heads: list[tuple[str, ...]] = [*texts]
        heads += [(*one, *other) for one in texts for other in texts if (one == texts[0]) != (other == texts[0])]
        yield from heads[len(texts) :]
        for head in [(), *heads]:
            for about in metadata:
                if head:
                    yield (*head, *about)
                yield from ((*head, *about, *text) for text in texts[1:])

    def related(self, item: Item, relation: tuple[str, ...]) -> Found | None:
        """What stands in that relation to the item, as far as this Archive knows."""
        found = Found(item.rep, item)
        for element in relation:
            if (held := found.item) is None or found.is_script:
                return None
            name, _, parameter = element.rstrip(")").partition("(")
            if name == ".lastedition":
                last = self.last_edition(held)
                if last is None:
                    return None
                found = last
            elif name == ".translation":
                if not parameter:
                    found = found if held.has_no_language else Found()
                else:
                    found = self.held(held.translations.get(parameter, ""))
            elif held.metadata:
                found = self.held(held.metadata)
            else:
                found = replace(found, is_script=True)
        return found if found.label else None

    def last_edition(self, item: Item) -> Found | None:
        while item.next_edition:
            following = self.items.get(item.next_edition.lower())
            if following is None:
                return None
            item = following
        return Found(item.rep, item)

    def held(self, rep: str) -> Found:
        return Found(rep, self.items.get(rep.lower()))

    def url(self, found: Found, relation: tuple[str, ...], path: str, verbs: str, style: Style) -> str:
        """CRIARPARURL. With a path alone that file, if it is there; with GetFileList the list, whatever else."""
        item = found.item
        assert item is not None
        if "GetFileList" in verbs.split():
            return f"http://{self.address}/displaydoccontent.cgi/{item.rep}?displaytype=FileList"
        name = item.files[0]
        if path and (not verbs or style.path_with_verbs):
            wanted = path.lstrip("/").encode("latin-1")
            name = next((each for each in item.files if unquote_to_bytes(each) == wanted), "")
            if not name:
                return ""
        if found.is_script:
            name = "metadata.cgi"
        choice = "?choice=oai_dc" if any("(oai_dc)" in each for each in relation) else ""
        return f"http://{item.style.files_at or self.address}/col/{item.rep}/doc/{name}{choice}"

    @staticmethod
    def forms(rep: str, style: Style) -> str:
        """R Table 9.4."""
        rep, ibip = (rep.upper() if style.upper else rep), ibip_of(rep)
        words = {"both": f"rep {rep} ibip {ibip}", "rep": f"rep {rep}", "ibip": f"ibip {ibip}"}
        return f"{{{words[style.forms]}}}"

    # --- how it is written ---

    def written(self, item: Item, pairs: list[tuple[str, str]]) -> bytes:
        style = item.style
        pairs.sort()
        if style.extra:
            pairs += [
                ("language", "pt"),
                ("size.translation(tup)", "{12 34 56}"),
                ("x", "y"),
                ("state.previous", "Old"),
            ]
        if style.long:
            pairs += [("note", f"{{{'word ' * 20_000}}}"), ("another", "x" * 30_000)]
        if style.repeats:
            pairs = [each for pair in pairs for each in (self.twin(*pair, style), pair)]
        if style.reverse:
            pairs.reverse()
        if style.braces:
            pairs = [(name, value if value.startswith("{") else f"{{{value}}}") for name, value in pairs]
        text = style.separator.join(f"{name}{style.after_name}{value}" for name, value in pairs)
        body = f"{style.begins}{text}{style.ends}".encode("latin-1")
        return body.replace(b"%f3", b"\xf3") if style.octets else body

    def twin(self, name: str, value: str, style: Style) -> tuple[str, str]:
        """The same pair once more, or one that is meant to be overwritten."""
        if style.repeats == "different" and name.partition(".")[0] == "url":
            return name, f"http://{self.address}/old/{name}"
        return name, value


def fits(relation: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """FILTRARLISTADEURL, as R Example 9.3 shows it: `.translation` keeps every language."""
    return len(relation) == len(wanted) and all(
        one == other or (other == ".translation" and one.startswith(".translation("))
        for one, other in zip(relation, wanted, strict=True)
    )


# --- over HTTP -------------------------------------------------------------------------------------------------------


OAI_DC = (
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>{}</dc:title></oai_dc:dc>"
)


class Server:
    def __init__(self, archive: Archive, listener: socket.socket) -> None:
        self.archive, self.listener = archive, listener

    def run(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            try:
                while line := reader.readline(1 << 16).decode("latin-1").rstrip("\r\n"):
                    length = 0
                    while field := reader.readline(1 << 16).strip().lower():
                        if field.startswith(b"content-length:"):
                            length = int(field.partition(b":")[2])
                    reader.read(length)  # R 6.1 has GET alone: what others send is of no use here
                    if not self.serve(connection, line):
                        break
            except OSError:
                pass

    def serve(self, connection: socket.socket, line: str) -> bool:
        """Answer one request; whether the connection goes on."""
        method, target, _ = line.split(" ", 2)
        path, _, query = target.partition("?")
        if method != "GET":  # R 6.1
            connection.sendall(response(b"", Style(), "405 Method Not Allowed"))
            return True
        if "servicesubject=" not in query:
            connection.sendall(self.file(path, query))
            return True
        with self.archive.lock:
            self.archive.requests.append(f"{method} {target}")
        if (order := self.raw_order(query)) is not None:
            return self.send_raw(connection, order)
        service = unquote_to_bytes(path.lstrip("/")).decode("latin-1").lower()
        if service not in (self.archive.service.lower(), ibip_of(self.archive.service).lower()):
            connection.sendall(response(b"no such service", Style(content_type="text/html"), "404 Not Found"))
            return True
        body, style = self.archive.answer(query)
        time.sleep(style.delay)
        connection.sendall(response(body, style))
        return style.http not in ("close", "1.0")

    def raw_order(self, query: str) -> dict[str, object] | None:
        """What a test told to send about that label, in its turn; the last one again and again."""
        pairs = dict(decoded_pairs(query))
        orders = self.archive.raw.get(pairs.get("parsedibiurl.ibi", "").lower())
        if not orders or pairs.get("servicesubject") != "urlRequest":
            return None
        with self.archive.lock:
            return orders.pop(0) if len(orders) > 1 else orders[0]

    def send_raw(self, connection: socket.socket, order: dict[str, object]) -> bool:
        content = str(order["send"]).encode("latin-1")
        time.sleep(float(str(order.get("delay", 0))))
        connection.sendall(content * int(str(order.get("times", 1))))
        return bool(order.get("keep", False))

    def file(self, path: str, query: str) -> bytes:
        """A file of an item, by the very octets of its name; or what is said of it, or the list of its files."""
        for item in self.archive.items.values():
            for name in (*item.files, "metadata.cgi"):
                wanted = f"/col/{item.rep}/doc/".encode() + unquote_to_bytes(name)
                if unquote_to_bytes(path) == wanted:
                    body = OAI_DC.format(item.rep) if query == "choice=oai_dc" else f"{item.rep} {name}"
                    return response(body.encode(), Style())
            if path == f"/displaydoccontent.cgi/{item.rep}" and query == "displaytype=FileList":
                return response("\r\n".join(item.files).encode(), Style())
        return response(b"no such file", Style(), "404 Not Found")


def response(body: bytes, style: Style, status: str = "200 OK") -> bytes:
    version = "HTTP/1.0" if style.http == "1.0" else "HTTP/1.1"
    head = [f"{version} {status}"]
    if style.content_type:
        head.append(f"Content-Type: {style.content_type}")
    if style.http == "chunked":
        head.append("Transfer-Encoding: chunked")
        pieces = [body[begin : begin + 100] for begin in range(0, len(body), 100)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    elif style.http == "close":
        head.append("Connection: close")
    elif style.http != "1.0":
        head.append(f"Content-Length: {len(body)}")
    if style.http == "lower":
        head = [head[0], *(line.lower() for line in head[1:])]
    before = b"HTTP/1.1 100 Continue\r\n\r\n" if style.http == "interim" else b""
    return before + "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


# --- orders of a test ------------------------------------------------------------------------------------------------


class Orders:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def obey(self, order: dict[str, object]) -> object:
        do = order.pop("do")
        if do == "items":
            for each in order["items"]:  # type: ignore[attr-defined]
                each["style"] = Style(**each.get("style", {}))
                self.archive.add(Item(**{**each, "files": tuple(each["files"])}))
            return None
        if do == "raw":
            self.archive.raw |= {label.lower(): orders for label, orders in order["answers"].items()}  # type: ignore[attr-defined]
            return None
        if do == "style":
            self.archive.by_default = Style(**order)  # type: ignore[arg-type]
            return None
        if do == "requests":
            with self.archive.lock:
                return list(self.archive.requests)
        if do in ("include", "exclude"):
            return self.tell_resolver(str(do), **{name: str(value) for name, value in order.items()})
        raise ValueError(do)

    def tell_resolver(self, do: str, resolver: str, key: str) -> str:
        """R Table 7.2: what a resolver answers."""
        pairs = [
            ("servicesubject", "inclusionRequest" if do == "include" else "exclusionRequest"),
            ("archiveaddress", self.archive.address),
            ("archiveserviceibi", self.archive.service),
            ("archiveip", "127.0.0.1"),
            ("archiveprotocol", "HTTP"),
            ("archiveplatformversion", "2014:11.09.02.16.15"),
            ("archiveadmemailaddress", "banon@dpi.inpe.br"),
            ("registrationkey", key),
        ]
        host, _, port = resolver.partition(":")
        query = "&".join(f"{name}={value}" for name, value in pairs)
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = f"GET /J8LNKB5R7W/3FUQHC5?{query} HTTP/1.0\r\nHost: {resolver}\r\n\r\n"
            connection.sendall(head.encode("ascii"))
            received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        return received.partition(b"\r\n\r\n")[2].decode("latin-1")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--service", required=True, help="the repository name of the service")
    arguments.add_argument("--host", default="127.0.0.1")
    given = arguments.parse_args()
    with socket.create_server((given.host, 0), backlog=256) as listener:
        archive = Archive(given.service, f"{given.host}:{listener.getsockname()[1]}")
        threading.Thread(target=Server(archive, listener).run, daemon=True).start()
        print(json.dumps(archive.address), flush=True)
        orders = Orders(archive)
        for line in sys.stdin:
            print(json.dumps(orders.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
