"""R Example 7.1: the e-mail that asks for the registration of an Archive."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import default

from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import RegistrationKey, RegistrationMail

CONTENT = """\
IBI do serviço de Arquivo:
archiveserviceibi = dpi.inpe.br/banon/1999/01.09.22.14

Chave de cadastro:
registrationkey = 1234567890
"""
MAIL = RegistrationMail(parse("dpi.inpe.br/banon/1999/01.09.22.14"), RegistrationKey("1234567890"))


def test_the_content_of_the_example_is_read() -> None:
    assert RegistrationMail.parse(CONTENT) == MAIL


def test_the_content_of_the_example_is_written() -> None:
    assert MAIL.body == CONTENT


def test_a_whole_message_has_the_subject_and_the_content_of_the_example() -> None:
    message = message_from_bytes(MAIL.to_message("banon@dpi.inpe.br", "cadastro@urlib.net"), policy=default)
    assert message["Subject"] == "Solicitação de cadastro de um novo Arquivo"
    assert (message["From"], message["To"]) == ("banon@dpi.inpe.br", "cadastro@urlib.net")
    assert message.get_content().replace("\r\n", "\n") == CONTENT


def test_a_whole_message_is_read_back() -> None:
    message = MAIL.to_message("banon@dpi.inpe.br", "cadastro@urlib.net", Instant.parse("2015-05-04T03:02:01Z"))
    assert b"Date: Mon, 04 May 2015 03:02:01" in message
    assert RegistrationMail.parse(message) == MAIL
