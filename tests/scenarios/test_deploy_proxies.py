"""The samples for nginx and Caddy under deploy/, in front of a real server: with TLS, as an operator would run them,
but for the ports, the files of the certificate, and the certificate's authority."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha512
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.ibi_command import IbiCommand

DEPLOY = Path(__file__).parents[2] / "deploy"
HOST = "ids.example.org"
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


@dataclass(frozen=True)
class Proxy:
    """A proxy on ports of its own, asked as `ids.example.org`."""

    plain: int
    secure: int
    authority: Path

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, *, secure: bool = True
    ) -> tuple[HTTPResponse, bytes]:
        return self.ask("GET", path, None, headers, secure=secure)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None = None,
        *,
        secure: bool = True,
    ) -> tuple[HTTPResponse, bytes]:
        with closing(self._connection(secure=secure)) as connection:
            connection.request(method, path, body, {"Host": HOST, **(headers or {})})
            answer = connection.getresponse()
            return answer, answer.read()

    def _connection(self, *, secure: bool) -> HTTPConnection:
        if not secure:
            return HTTPConnection("127.0.0.1", self.plain, timeout=60)
        trusting = ssl.create_default_context(cafile=str(self.authority))
        connection = HTTPSConnection("127.0.0.1", self.secure, timeout=60)
        plain = socket.create_connection(("127.0.0.1", self.secure), timeout=60)
        connection.sock = trusting.wrap_socket(plain, server_hostname=HOST)
        return connection


@dataclass(frozen=True)
class Served:
    """A proxy in front of a server, the command beside that, and a token to deposit with."""

    proxy: Proxy
    command: IbiCommand
    url: str
    """Of the server itself."""
    token: str


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def make_certificate(place: Path) -> tuple[Path, Path, Path]:
    """The authority's certificate, the server's, and its key."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of our own")])
    today = datetime.now(UTC)

    def begin(name: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(authority_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(today - timedelta(days=1))
            .not_valid_after(today + timedelta(days=2))
        )

    authority = begin(authority_name, authority_key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    server = begin(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), key.public_key()).add_extension(
        x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False
    )
    files = place / "authority.pem", place / "server.pem", place / "server.key"
    for path, made in zip(files[:2], (authority, server), strict=True):
        signed = made.sign(authority_key, hashes.SHA256())
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    files[2].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def write_nginx(place: Path, upstream: int, proxy: Proxy, certificate: Path, key: Path) -> list[str]:
    """The command that runs the sample as a site, in a configuration as Debian's."""
    site = (DEPLOY / "nginx" / "ibi.conf").read_text(encoding="utf-8")
    for old, new in (
        ("server 127.0.0.1:8765;", f"server 127.0.0.1:{upstream};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{proxy.secure} ssl;"),
        ("listen 80;", f"listen 127.0.0.1:{proxy.plain};"),
        (f"/etc/letsencrypt/live/{HOST}/fullchain.pem", str(certificate)),
        (f"/etc/letsencrypt/live/{HOST}/privkey.pem", str(key)),
    ):
        assert site.count(old) == 1, old
        site = site.replace(old, new)
    site = re.sub(r"^ *listen \[::\].*\n", "", site, flags=re.MULTILINE)
    (place / "site").write_text(site, encoding="utf-8")
    folders = "".join(
        f"{each}_temp_path {place}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "conf").write_text(
        f"daemon off; {user} pid {place}/pid; error_log {place}/errors; events {{ }}\n"
        f"http {{ access_log off; {folders} include {place}/site; }}\n"
    )
    return ["nginx", "-p", str(place), "-c", str(place / "conf"), "-e", str(place / "errors")]


def write_caddy(place: Path, upstream: int, proxy: Proxy, certificate: Path, key: Path) -> list[str]:
    """The command that runs the sample with a certificate of its own, since no authority of the Internet is asked."""
    site = (DEPLOY / "caddy" / "Caddyfile").read_text(encoding="utf-8")
    assert site.count(f"\n{HOST} {{\n") == 1
    site = site.replace(f"\n{HOST} {{\n", f"\n{HOST} {{\n\ttls {certificate} {key}\n")
    site = site.replace("127.0.0.1:8765", f"127.0.0.1:{upstream}")
    ports = f"http_port {proxy.plain}\n\thttps_port {proxy.secure}\n\tdefault_bind 127.0.0.1"
    (place / "Caddyfile").write_text(f"{{\n\tadmin off\n\t{ports}\n}}\n{site}", encoding="utf-8")
    return ["caddy", "run", "--config", str(place / "Caddyfile"), "--adapter", "caddyfile"]


Writer = Callable[[Path, int, Proxy, Path, Path], list[str]]
PROXIES: dict[str, Writer] = {"nginx": write_nginx, "caddy": write_caddy}


@contextmanager
def running(command: list[str], place: Path, proxy: Proxy) -> Iterator[None]:
    program = shutil.which(command[0], path=PLACES)
    assert program is not None
    environment = {**os.environ, "HOME": str(place), "XDG_DATA_HOME": str(place), "XDG_CONFIG_HOME": str(place)}
    with (place / "said").open("wb") as said:
        process = subprocess.Popen([program, *command[1:]], env=environment, stdout=said, stderr=said)
        try:
            for port in (proxy.plain, proxy.secure):
                wait_for(port, process, place)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def wait_for(port: int, process: subprocess.Popen[bytes], place: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert process.poll() is None, (place / "said").read_text()
            time.sleep(0.01)
        else:
            return
    raise TimeoutError((place / "said").read_text())


@pytest.fixture(scope="module", params=PROXIES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if shutil.which(request.param, path=PLACES) is None:
        pytest.skip(f"there is no {request.param} here: `make {request.param}` installs it where that works")
    place = tmp_path_factory.mktemp(request.param)
    authority, certificate, key = make_certificate(place)
    proxy = Proxy(free_port(), free_port(), authority)
    command = IbiCommand(place)
    settings = {"IBI_PUBLIC_URL": f"https://{HOST}", "IBI_TRUSTED_PROXIES": "127.0.0.1/32"}
    with ExitStack() as opened:
        _, url = opened.enter_context(command.up(**settings))
        port = urlsplit(url).port
        assert port is not None
        written = PROXIES[request.param](place, port, proxy, certificate, key)
        opened.enter_context(running(written, place, proxy))
        yield Served(proxy, command, url, command("token", "create", "--scope", "deposit").out.strip())


def deposit(proxy: Proxy, token: str, content: bytes) -> dict[str, str]:
    """An item with one file, by a draft, as large files are sent."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer, body = proxy.ask("POST", "/api/items", b'{"metadata": {"title": "Through a proxy"}}', headers)
    assert answer.status == 201, body
    draft = json.loads(body)["id"]
    headers["Content-Type"] = "application/octet-stream"
    answer, body = proxy.ask("PUT", f"/api/items/{draft}/files/data.bin", content, headers)
    assert answer.status in {200, 201}, body
    answer, body = proxy.ask("POST", f"/api/items/{draft}/publish", None, headers)
    assert answer.status in {200, 201}, body
    made: dict[str, str] = json.loads(body)
    return made


def test_a_file_is_sent_and_its_link_followed_through_the_proxy(served: Served) -> None:
    proxy, token = served.proxy, served.token
    content = os.urandom(3 << 20)
    made = deposit(proxy, token, content)
    assert made["persistent_url"] == f"https://{HOST}/{made['ibip']}"
    answer, _ = proxy.get(f"/{made['ibip']}")
    assert answer.status == 302
    place = urlsplit(str(answer.getheader("location")))
    assert (place.scheme, place.netloc) == ("https", HOST)
    answer, body = proxy.get(place.path)
    assert (answer.status, sha512(body).digest()) == (200, sha512(content).digest())
    answer, body = proxy.get(place.path, {"Range": "bytes=1048570-1048589"})
    assert (answer.status, body) == (206, content[1048570:1048590])


def test_pages_come_over_tls_and_say_that_they_stay_there(served: Served) -> None:
    proxy = served.proxy
    answer, body = proxy.get("/")
    assert answer.status == 200
    assert b"<html" in body
    assert "max-age" in str(answer.getheader("strict-transport-security"))


def test_over_plain_http_links_are_answered_and_people_sent_to_tls(served: Served) -> None:
    proxy, token = served.proxy, served.token
    made = deposit(proxy, token, b"small")
    answer, _ = proxy.get(f"/{made['ibip']}", secure=False)
    assert answer.status == 302
    assert str(answer.getheader("location")).startswith(f"https://{HOST}/col/")
    for path in ("/", "/search?q=x", "/sign-in", "/api/items", "/account/tokens"):
        answer, _ = proxy.get(path, secure=False)
        assert (answer.status, answer.getheader("location")) == (308, f"https://{HOST}{path}"), path


def test_a_resolver_that_asks_over_plain_http_is_answered_there(served: Served) -> None:
    """Requests of the standard do not follow redirects."""
    status = json.loads(served.command("archive", "status", "--json").out)
    service = status["rep"]
    query = f"clientinformation.ipaddress=8.8.8.8&parsedibiurl.ibi={service}&servicesubject=urlRequest"
    answer, body = served.proxy.get(f"/{service}?{query}", secure=False)
    assert answer.status == 200
    assert b"archiveaddress" in body


def test_figures_are_not_for_all(served: Served) -> None:
    proxy = served.proxy
    assert proxy.get("/metrics", secure=False)[0].status == 403
    assert proxy.get("/metrics")[0].status == 200  # from the machine itself


def test_the_address_that_a_reader_claims_to_have_is_not_believed(served: Served) -> None:
    file = served.command.home / "a.txt"
    file.write_text("secret")
    restricted = ["--title", "For one network", "--allow", "192.0.2.0/24", "--json"]
    rep = json.loads(served.command("deposit", str(file), *restricted).out)["rep"]
    path, claim = f"/col/{rep}/doc/a.txt", {"X-Forwarded-For": "192.0.2.7"}
    with urlopen(
        Request(f"{served.url}{path}", headers=claim), timeout=60
    ) as believed:  # as of a proxy that passes it on
        assert believed.read() == b"secret"
    answer, body = served.proxy.get(path, claim)
    assert (answer.status, b"secret" in body) == (302, False), body
    assert answer.getheader("location") == f"https://{HOST}/col/{rep}/metadata"
