from __future__ import annotations

import re
from ipaddress import IPv6Address

from hypothesis import assume, example, given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidMessage, InvalidPairs
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.messages import (
    Acknowledgment,
    ArchiveProtocol,
    ContentType,
    Deletion,
    ErrorAnswer,
    ExclusionRequest,
    InclusionConfirmationRequest,
    InclusionRequest,
    LabelForms,
    RegistrationKey,
    RegistrationMail,
    Request,
    ServiceSubject,
    State,
    UrlEntry,
    UrlKey,
    UrlList,
    UrlRequest,
    decode_query,
    decode_url,
    decode_value,
    encode_query,
    encode_url,
    encode_value,
    parse_answer,
    parse_request,
    parse_url_list,
)
from ibi.standard.messages.values import URL_NAMES
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation

unicode_text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("&=?#+% \r\n%2B"))
any_text = st.text(st.characters() | st.sampled_from("&=?#+% \r\n{}"))

instants = st.integers(900_000_000, 4_000_000_000).map(Instant)
repository_names = st.builds(
    lambda instant, host, port: RepositoryName.from_parts(host, port, instant),
    instants,
    st.sampled_from(["mtc-m16c.sid.inpe.br", "www.urlib.net", "banon.iconet.com.br"]),
    st.sampled_from([80, 8080]),
)
ibips = st.builds(
    lambda instant, ip, port: Ibip.from_parts(ip, port, instant),
    instants,
    st.sampled_from(["150.163.34.243", "2001:252:0:1::2008:6"]),
    st.sampled_from([800, 808]),
)
labels: st.SearchStrategy[Label] = repository_names | ibips
both_forms = st.builds(
    lambda rep, ip: LabelForms(rep, Ibip.from_parts(ip, 800, rep.instant)), repository_names, st.just("150.163.34.243")
)
label_forms = both_forms | labels.map(LabelForms.of)

digits = st.text("0123456789", min_size=10, max_size=30)
keys = digits | st.tuples(digits, digits).map("-".join)
addresses = st.ip_addresses().filter(lambda ip: not isinstance(ip, IPv6Address) or ip.scope_id is None)
hosts = st.sampled_from(
    ["host.org", "mtc-m16c.sid.inpe.br:8080", "localhost:8765", "150.163.34.239", "[2001:db8::1]:80"]
)
# What `UrlEntry` and `Acknowledgment` make of it is a URL; any tail will do.
urls = st.builds(
    lambda scheme, host, tail: f"{scheme}://{host}{tail}",
    st.sampled_from(["http", "https", "HTTP"]),
    hosts,
    st.just("") | st.builds(str.__add__, st.sampled_from("/?#"), unicode_text),
)
relations = st.sampled_from(
    [
        Relation.from_modifier(modifier)
        for modifier in (
            "",
            ":",
            ":(oai_dc)",
            ":+",
            "!",
            "!+(pt)",
            "!:",
            "!+:",
            "!:+(en)",
            "+",
            "+(pt-BR)",
            "+!",
            "+!:+",
            "+:+",
        )
    ]
)
segments = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1)
paths = st.lists(segments.filter(lambda segment: segment not in (".", "..")), min_size=1, max_size=3).map("/".join)

client_addresses = st.lists(addresses, min_size=1, max_size=3).map(tuple)
membership = {
    "archive_address": hosts,
    "archive_service_ibi": labels,
    "archive_ip": addresses,
    "archive_protocol": st.sampled_from(ArchiveProtocol),
    "platform_version": st.text([chr(code) for code in range(0x21, 0x7F)], min_size=1, max_size=40),
    "admin_mail_address": st.sampled_from(["banon@dpi.inpe.br", "o'neil+ibi@host", "a&b=c@d.org"]),
    "registration_key": keys.map(RegistrationKey),
}
url_requests = st.builds(
    UrlRequest,
    client_addresses,
    labels,
    relations,
    st.none() | paths.map(lambda path: f"/{path}") | paths,
    st.booleans(),
)
acknowledgments = st.builds(
    Acknowledgment,
    client_addresses=client_addresses,
    content_type=st.sampled_from(ContentType),
    url=urls,
    persistent_url=urls,
    url_key=keys.map(UrlKey),
    state=st.sampled_from([None, State.ORIGINAL, State.COPY]),
    ibi=st.none() | label_forms,
)
requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(InclusionRequest, **membership),
    st.builds(ExclusionRequest, **membership),
    st.just(InclusionConfirmationRequest()),
    url_requests,
    acknowledgments,
)

with_url = st.builds(
    UrlEntry,
    relation=relations,
    ibi=st.none() | label_forms,
    url=urls,
    content_type=st.sampled_from(ContentType),
    state=st.sampled_from([State.ORIGINAL, State.COPY]),
    timestamp=st.none() | instants,
)
entries = with_url | st.builds(UrlEntry, relation=relations, ibi=label_forms)
url_lists = st.builds(
    lambda address, service, software, ibi, others, edition, key: UrlList(
        address, service, software, (UrlEntry(Relation.ITSELF, ibi), *others), edition, key
    ),
    hosts,
    label_forms,
    st.none() | label_forms,
    label_forms,
    st.lists(
        entries.filter(lambda entry: not entry.relation.is_itself), unique_by=lambda entry: entry.relation, max_size=5
    ),
    st.none() | label_forms,
    st.none() | keys.map(UrlKey),
)
deletions = st.builds(Deletion, hosts, label_forms, st.none() | label_forms, label_forms, st.none() | instants)

HOLDS_ENCODED_DELIMITER = re.compile("%(26|2B|3D|3F|23)", re.IGNORECASE)


@given(unicode_text)
def test_a_value_is_decoded_to_what_was_encoded(text: str) -> None:
    assert decode_value(encode_value(text)) == text


@given(unicode_text)
def test_an_encoded_value_holds_no_delimiter(text: str) -> None:
    assert not set(encode_value(text)) & set("&=?#+ \r\n")
    assert not set(encode_url(text)) & set("&=?#+ \r\n")
    assert encode_value(text).isascii()
    assert encode_url(text).isascii()


@given(unicode_text)
def test_encoding_a_url_again_changes_nothing(text: str) -> None:
    assert encode_url(encode_url(text)) == encode_url(text)


@given(any_text)
def test_any_text_is_decoded(text: str) -> None:
    decode_value(text)
    decode_url(text)


@given(st.lists(st.tuples(unicode_text, unicode_text)))
def test_a_query_is_decoded_to_the_pairs_that_were_encoded_in_their_order(pairs: list[tuple[str, str]]) -> None:
    assume(not any(name in URL_NAMES for name, _ in pairs))
    assert list(decode_query(encode_query(pairs))) == pairs


@given(requests)
def test_a_request_is_read_as_it_was_written(request: Request) -> None:
    if isinstance(request, Acknowledgment):
        assume(not HOLDS_ENCODED_DELIMITER.search(request.url + request.persistent_url))
    assert parse_request(request.to_query()) == request


@given(requests)
def test_what_is_read_is_written_again_as_it_was_but_for_the_case_of_escapes(request: Request) -> None:
    query = request.to_query()
    assert parse_request(query).to_query().lower() == query.lower()


@given(requests)
def test_the_pairs_of_a_request_are_sorted_and_each_is_there_once(request: Request) -> None:
    names = [name for name, _ in decode_query(request.to_query())]
    assert names == sorted(set(names))
    assert set(names) == {"servicesubject"} | (request.names & set(names))


@given(requests, unicode_text)
def test_an_unknown_pair_changes_nothing(request: Request, text: str) -> None:
    query = request.to_query()
    assert parse_request(f"{query}&x-{encode_value(text)}={encode_value(text)}") == parse_request(query)


@given(any_text)
@example("servicesubject=urlRequest&clientinformation.ipaddress=%ff&parsedibiurl.ibi=%00")
def test_any_text_is_a_request_or_raises_the_one_error(text: str) -> None:
    for query in (text, *(f"servicesubject={subject}&{text}" for subject in ServiceSubject)):
        try:
            parse_request(query)
        except InvalidMessage as error:
            assert str(error)


@given(requests, st.data())
def test_a_damaged_request_is_a_request_or_raises_the_one_error(request: Request, data: st.DataObject) -> None:
    query = request.to_query()
    start, end = sorted((data.draw(st.integers(0, len(query))), data.draw(st.integers(0, len(query)))))
    try:
        damaged = parse_request(query[:start] + data.draw(any_text) + query[end:])
    except InvalidMessage as error:
        assert str(error)
    else:
        damaged.to_query()


@given(url_lists | deletions)
def test_an_answer_is_read_as_it_was_written(answer: UrlList | Deletion) -> None:
    assert parse_url_list(Pairs.decode(answer.encode())) == answer
    assert parse_answer(ServiceSubject.URL_REQUEST, answer.to_pairs()) == answer


@given(url_lists, unicode_text)
def test_no_url_smuggles_a_pair_into_an_answer(answer: UrlList, text: str) -> None:
    entry = UrlEntry(Relation.ITSELF, answer.ibi, f"http://host/{text}", ContentType.DATA, State.COPY)
    read = parse_url_list(Pairs.decode(UrlList("host", answer.ibi, None, (entry,)).encode()))
    assert isinstance(read, UrlList)
    assert read.entries == (entry,)


@given(any_text)
def test_an_error_may_quote_anything_and_stays_one_pair(text: str) -> None:
    answer = ErrorAnswer(text)
    assert len(Pairs.decode(answer.encode())) == 1
    assert parse_answer(ServiceSubject.URL_REQUEST, Pairs.decode(answer.encode())) == answer


names = st.sampled_from(
    [
        *("archiveaddress", "urlkey", "ibi", "ibi.archiveservice", "ibi.platformsoftware", "ibi.nextedition"),
        *(
            "state",
            "url",
            "timestamp",
            "contenttype",
            "url.metadata",
            "state.translation(pt)",
            "confirmation",
            "notice",
        ),
        *("status.archive", "status.confirmation", "error", "url.Metadata", "ibi.metadata(x)"),
    ]
)
likely = st.sampled_from(
    [
        "host.org",
        "1426203276",
        "Original",
        "Deleted",
        "Data",
        "http://host/",
        "2014-01-02T17:23:57Z",
        "rep",
        "yes",
        "included",
    ]
)
words = likely | st.text(min_size=1).filter(
    lambda word: not any("\ud800" <= character <= "\udfff" for character in word)
)


@given(
    st.dictionaries(names, words | st.lists(words, max_size=4).map(tuple) | label_forms.map(lambda forms: forms.words)),
    st.sampled_from(ServiceSubject),
)
def test_any_pairs_are_an_answer_or_raise_the_one_error(given: dict[str, str], subject: ServiceSubject) -> None:
    try:
        answer = parse_answer(subject, Pairs(given.items()))
    except InvalidMessage as error:
        assert str(error)
    else:
        assert answer is None or parse_answer(subject, answer.to_pairs()) == answer


@given(label_forms)
def test_the_forms_of_an_ibi_are_read_as_they_were_written(forms: LabelForms) -> None:
    assert LabelForms.parse(str(forms)) == LabelForms.from_words(forms.words) == LabelForms.of(*forms.labels) == forms
    assert all(forms.may_name(label) for label in forms.labels)


@given(keys)
def test_a_key_is_what_it_was_and_shows_nothing(text: str) -> None:
    assert RegistrationKey(text).reveal() == text
    assert text not in f"{RegistrationKey(text)} {RegistrationKey(text)!r}"


@given(any_text)
def test_any_text_is_a_key_or_raises_the_one_error(text: str) -> None:
    try:
        UrlKey(text)
    except InvalidMessage as error:
        assert str(error)


@given(labels, keys)
def test_a_registration_is_read_as_it_was_written(label: Label, key: str) -> None:
    mail = RegistrationMail(label, RegistrationKey(key))
    assert RegistrationMail.parse(mail.body) == mail
    assert RegistrationMail.parse(mail.to_message("a@host.org", "b@host.org")) == mail


mail_lines = st.sampled_from(
    [
        *(b"Content-Type: multipart/mixed; boundary=a", b"Content-Type: text/plain; charset=x", b"--a", b"--a--", b""),
        *(
            b"Content-Transfer-Encoding: base64",
            b"Content-Transfer-Encoding: quoted-printable",
            b"=3D",
            b"registrationkey =",
        ),
        *(
            b"Content-Type: message/rfc822",
            b"Content-Transfer-Encoding: uuencode",
            b"begin 644 x",
            b"archiveserviceibi = x",
        ),
        *(
            b"Content-Type: multipart/digest; boundary*0*=utf-8''%ff",
            b" folded",
            b": no name",
            b"From x",
            b"1234567890",
        ),
    ]
)


@given(st.binary() | st.lists(mail_lines | st.binary(max_size=20), max_size=20).map(b"\n".join))
def test_any_bytes_are_a_registration_or_raise_the_one_error(mail: bytes) -> None:
    try:
        RegistrationMail.parse(mail)
    except InvalidMessage as error:
        assert str(error)


@given(st.binary())
def test_whatever_a_body_holds_only_two_errors_come_out_of_it(body: bytes) -> None:
    try:
        parse_answer(ServiceSubject.URL_REQUEST, Pairs.decode(body))
    except (InvalidPairs, InvalidMessage) as error:
        assert str(error)
