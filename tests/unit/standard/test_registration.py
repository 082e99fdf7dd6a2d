from __future__ import annotations

import base64
import quopri
from time import perf_counter

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import MissingPair, RegistrationKey, RegistrationMail, RepeatedPair
from ibi.standard.messages.registration import MAIL_LIMIT

MAIL = RegistrationMail(parse("dpi.inpe.br/banon/1999/01.09.22.14"), RegistrationKey("1234567890-9876543210"))
SERVICE = "archiveserviceibi = dpi.inpe.br/banon/1999/01.09.22.14"
KEY = "registrationkey = 1234567890-9876543210"


def in_parts(encoding: str, content: bytes) -> bytes:
    return (
        b"From: Ana <ana@host.org>\nSubject: Re: cadastro\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/alternative; boundary="xyz"\n\nThis is a message in parts.\n--xyz\n'
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: "
        + encoding.encode()
        + b"\n\n"
        + content
        # what only the HTML says is not read
        + b"\n--xyz\nContent-Type: text/html\n\nregistrationkey = 0000000000\n--xyz--\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{SERVICE}\n{KEY}",
        f"{KEY}\r\n{SERVICE}\r\n",
        f"> {SERVICE}\n> {KEY}",
        f">> | {SERVICE}\n>> | {KEY}",
        f"  {SERVICE}  \n\t{KEY}\t",
        f"{SERVICE}\n{KEY}\n\n> {SERVICE}\n> {KEY}",
        f"{SERVICE.upper()}\n{KEY.upper()}",
        f"{SERVICE}\n{KEY}".replace(" ", ""),
        f"{SERVICE}\n{KEY}".replace(" ", "\xa0"),
        f"{SERVICE}\n{KEY}".replace("= ", "=\n"),
        f"> {SERVICE}\n> {KEY}".replace("= ", "=\n> "),
        f"*{SERVICE}*\n*{KEY}*",
        f"{SERVICE} <http://dpi.inpe.br/banon/1999/01.09.22.14>\n{KEY}",
        f"Prezados:\n {SERVICE}\n {KEY}",
        f"Olá,\n\n{SERVICE}\n{KEY}\n\n-- \nAna",
        f"{SERVICE} \n{KEY}".replace("=", "=3D"),
        f"{SERVICE}\n{KEY}".replace("=", "=3D").replace("1999", "19=\n99"),
    ],
)
def test_a_text_is_read_whatever_a_mail_program_did_to_it(text: str) -> None:
    assert RegistrationMail.parse(text) == MAIL
    assert RegistrationMail.parse(text.encode()) == MAIL


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("8bit", MAIL.body.encode()),
        ("8bit", MAIL.body.encode("latin-1")),
        ("quoted-printable", quopri.encodestring(MAIL.body.encode())),
        ("base64", base64.encodebytes(MAIL.body.encode())),
        ("base64", base64.encodebytes(MAIL.body.replace("\n", "\r\n").encode())),
        ("x-unknown", MAIL.body.encode()),
    ],
)
def test_a_message_is_read_however_it_is_encoded(encoding: str, content: bytes, newline: bytes) -> None:
    assert RegistrationMail.parse(in_parts(encoding, content).replace(b"\n", newline)) == MAIL


@pytest.mark.parametrize(
    "html",
    [
        f"<p>{SERVICE}</p><p>{KEY}</p>",
        f"<html><head><style>p {{margin: 0}}</style></head><body><DIV>{SERVICE}<br/>\n{KEY}</DIV></body></html>",
        f"<pre>{SERVICE}<br>{KEY}</pre>".replace(" ", "&nbsp;"),
        f"<table><tr><td><b>{SERVICE}</b></td></tr><tr><td>{KEY}</td></tr></table>".replace(" =", "</b>\n&#61;"),
        f"<p>{SERVICE}</p><p>{KEY}</p>".replace("= ", "=<br>"),
        '<blockquote class="x">archiveserviceibi = <a href="http://dpi.inpe.br/banon">dpi.inpe.br/banon/1999/01.09.22.14'
        f"</a></blockquote>{KEY}",
    ],
)
@pytest.mark.parametrize("encoding", ["8bit", "quoted-printable", "base64"])
def test_a_message_in_html_alone_is_read_as_its_reader_sees_it(html: str, encoding: str) -> None:
    encoded = {"quoted-printable": quopri.encodestring, "base64": base64.encodebytes}.get(encoding, bytes)(
        html.encode()
    )
    head = f"From: ana@host.org\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n"
    assert RegistrationMail.parse(head.encode() + encoded) == MAIL


def test_a_label_of_either_form_is_written_as_it_was_spelled_and_read() -> None:
    mail = RegistrationMail(parse("lk47b6w/362sfkh"), RegistrationKey("1234567890"))
    assert "archiveserviceibi = lk47b6w/362sfkh\n" in mail.body
    assert RegistrationMail.parse(mail.to_message("a@host.org", "b@host.org")) == mail


def test_a_long_label_is_written_and_read() -> None:
    host = ".".join(["a" * 60] * 4)
    mail = RegistrationMail(parse(f"{host}/b/1999/01.09.22.14"), RegistrationKey("1" * 256))
    message = mail.to_message("a@host.org", "b@host.org")
    assert max(map(len, message.split(b"\r\n"))) <= 78
    assert RegistrationMail.parse(message) == mail


@pytest.mark.parametrize("address", ["", "a", "a@b\r\nBcc: c@d", "a@b, c@d", "A <a@b>"])
def test_a_message_goes_to_one_address_and_comes_from_one(address: str) -> None:
    with pytest.raises(InvalidMessage, match="From"):
        MAIL.to_message(address, "b@host.org")
    with pytest.raises(InvalidMessage, match="To"):
        MAIL.to_message("a@host.org", address)


@pytest.mark.parametrize("text", ["", SERVICE, KEY, "Olá", b"\x00\xff\xfe", f"{SERVICE}\nregistrationkey: 1234567890"])
def test_what_does_not_say_both_things_is_refused(text: str | bytes) -> None:
    with pytest.raises(MissingPair):
        RegistrationMail.parse(text)


@pytest.mark.parametrize("other", ["registrationkey = 1234567890", "archiveserviceibi = LK47B6W/362SFKH"])
def test_what_contradicts_itself_is_refused(other: str) -> None:
    with pytest.raises(RepeatedPair):
        RegistrationMail.parse(f"{SERVICE}\n{KEY}\n{other}")


@pytest.mark.parametrize(
    "text",
    [
        f"{SERVICE}\nregistrationkey = 12345 67890",
        f"archiveserviceibi = dpi.inpe.br\n{KEY}",
        f"{SERVICE} ou outro\n{KEY}",
    ],
)
def test_what_is_malformed_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage):
        RegistrationMail.parse(text)


def test_neither_a_mail_nor_its_errors_show_the_key() -> None:
    assert "1234567890" not in f"{MAIL} {MAIL!r}"
    with pytest.raises(InvalidMessage) as refused:
        RegistrationMail.parse(f"{SERVICE}\nregistrationkey = 1234567890 0987654321")
    assert "1234567890" not in f"{refused.value} {refused.value.parameters}"


@pytest.mark.parametrize(
    "mail",
    [
        b"Content-Type: message/rfc822\n\n" * 8000,
        b"Content-Type: message/rfc822\n\n" * 60,
        b'Content-Type: multipart/mixed; boundary="a' + b";" * 200_000,
        b"Content-Type: multipart/digest; boundary=a\n\n" + b"--a\n\n" * 40_000,
        b"Content-Type: multipart/mixed; boundary=a\n\n--a\n"
        + b"Content-Type: multipart/mixed; boundary=a\n\n--a\n" * 60,
        b"Content-Transfer-Encoding: base64\n\n" + b"!" * 200_000,
        b"Content-Transfer-Encoding: uuencode\n\nbegin 644 x\n" + b"!" * 200_000,
        *(
            b"Content-Type: text/html\n\n" + tag * (200_000 // len(tag))
            for tag in (b"<", b"<br", b"<p>", b"&#1", b"&amp")
        ),
        b"a" * MAIL_LIMIT,
        b"\n" * MAIL_LIMIT,
        b"=" * MAIL_LIMIT,
        b"=3D" * 80_000,
        b"> " * 100_000,
        b"registrationkey = \n" * 10_000,
        b"Subject: " + b"=?utf-8?q?" * 20_000,
        b"a" * (MAIL_LIMIT + 1),
    ],
    ids=lambda mail: repr(mail[:40]),
)
def test_hostile_mails_take_no_longer_than_their_length_deserves(mail: bytes) -> None:
    start = perf_counter()
    with pytest.raises(InvalidMessage):
        RegistrationMail.parse(mail)
    assert perf_counter() - start < 0.1 + len(mail) / 1024 / 1000
