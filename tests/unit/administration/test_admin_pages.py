"""The pages under `/admin`: what each role sees, what forms do, and what is refused."""

from __future__ import annotations

import asyncio
import csv
import io
import math
import re
import time
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from ibi.backup.model.data_files import BackupNote
from ibi.backup.store.data_files import DataDirectoryFiles
from ibi.jobs.failing_job import FailingJob
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.jobs.runner import Job
from ibi.membership.model.copy_holders import KnownCopyHolders
from ibi.membership.model.registration import ClaimKind
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.people.model.account import AuditEntry
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages.holders import CopyHolder
from ibi.usage.model import ReferrerClass, UsageDay, UsageKind, day_of, month_of
from ibi.web.admin_shell import PLACES, ShownSetting
from tests.support.admin_app import ROLES, SETTLED, AdminApp, admin_app
from tests.support.archive_app import SERVICE
from tests.support.deposit_samples import put, sources
from tests.support.membership_app import REP
from tests.support.page_reader import read_page

SETTINGS = (
    ShownSetting("port", "8765", False, "flag", "--port", "The port."),
    ShownSetting("mail.password", "", True, "environment", "IBI_MAIL_PASSWORD", "The password."),
    ShownSetting("site.name", "", False, "default", "", "The <name>."),
)
ARCHIVES, FIXITY, AUDIT, USAGE = "/admin/archives", "/admin/fixity", "/admin/audit", "/admin/usage"
FOR_LIBRARIANS = {"/admin", FIXITY, USAGE, f"{USAGE}/items.csv", f"{USAGE}/origins.csv"}
STRONG = "83110572946"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[AdminApp]:
    with admin_app(tmp_path, SETTINGS) as made:
        yield made


def paths() -> list[str]:
    return [place.path for place in PLACES] + [
        *(f"{AUDIT}/export.csv", f"{AUDIT}/export.ndjson"),
        *(f"{USAGE}/items.csv", f"{USAGE}/origins.csv"),
    ]


async def test_forced_browsing_finds_no_page_that_the_role_may_not_see(app: AdminApp) -> None:
    for role, path in product(ROLES, paths()):
        browser = await app.browser(role)
        answer = await browser.get(path, accept="text/html")
        allowed = role == "admin" or (role == "librarian" and path in FOR_LIBRARIANS)
        assert answer.status == (200 if allowed else 403), (role, path)
        assert answer.headers["cache-control"] == "no-store" or not allowed


async def test_forced_forms_of_lesser_roles_change_nothing(app: AdminApp) -> None:
    await app.register.register()
    forms: list[tuple[str, dict[str, str]]] = [(ARCHIVES, {"do": "forget", "archive": REP, "sure": "yes"}), (AUDIT, {})]
    for role, (path, fields) in product(("reader", "depositor", "librarian"), forms):
        assert (await app.send(path, fields, role))[0] == 403
    assert app.register.found() is not None
    assert not (app.data / "audit" / "checked.json").exists()


async def test_those_who_are_not_signed_in_are_led_to_sign_in_and_back(app: AdminApp) -> None:
    for path in paths():
        answer = await app.browser_of().get(path)
        assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?to={path}")


async def test_a_form_without_the_token_of_the_session_or_of_another_site_is_refused(app: AdminApp) -> None:
    browser, item = await app.browser(), put(app.deposits)
    fields = {"do": "register", "labels": REP, "key": STRONG, "label": str(item.rep)}
    csrf, foreign = await browser.csrf(), {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    for path in (ARCHIVES, FIXITY, AUDIT):
        assert (await browser.post(path, fields)).status == 403
        assert (await browser.post(path, {**fields, "csrf": "0" * 40})).status == 403
        assert (await browser.post(path, {**fields, "csrf": csrf}, **foreign)).status == 403
    assert app.register.found() is None
    assert app.site.integrity is not None
    assert app.site.integrity.ledger.wanted() == ()


async def test_the_overview_tells_administrators_and_librarians_how_the_server_stands(app: AdminApp) -> None:
    put(app.deposits)
    for role in ("admin", "librarian"):
        page = await app.text("/admin", role)
        read_page(page.encode())
        assert "Holdings" in page
        assert "7 B" in page
        assert "Feed position" in page
        assert ("/admin/settings" in page) is (role == "admin")


async def test_the_page_of_people_leads_to_the_other_pages_of_the_administration(app: AdminApp) -> None:
    page = read_page((await app.text("/admin/people")).encode())
    assert {place.path for place in PLACES} <= set(page.links)
    (nav,) = [each for each in page.root.iter("nav") if each.get("class") == "admin-nav"]
    assert [each.get("href") for each in nav.iter("a") if each.get("aria-current") == "page"] == ["/admin/people"]
    assert "/admin/people" in read_page((await app.text("/admin")).encode()).links


@pytest.mark.parametrize(("is_silent", "words"), [(True, "items cannot be changed"), (False, "no Original can be")])
async def test_the_overview_says_what_waits_after_a_backup_was_put_back(
    app: AdminApp, is_silent: bool, words: str
) -> None:
    assert "put back from a backup" not in await app.text("/admin")
    tracking = SimpleNamespace(in_doubt=True, is_silent=is_silent, unheard=("https://<b>.example",))
    object.__setattr__(app.site, "tracking", tracking)
    text = await app.text("/admin")
    read_page(text.encode())
    assert "put back from a backup" in text
    assert words in text
    assert "https://&lt;b&gt;.example" in text
    assert "ibi transfers trust" in text


async def _work() -> None:
    """A step of a job that has nothing to do."""


async def test_the_overview_has_a_row_for_each_job_failing_ones_first_with_the_reason(app: AdminApp) -> None:
    failed, elsewhere = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def fail() -> None:
        failed.set()
        raise OSError("no <b>room")

    def hold() -> bool:
        loop.call_soon_threadsafe(elsewhere.set)
        return False

    for job in app.runner.jobs:
        app.runner.remove(job.name)
    app.runner.add(Job("aaa", fail, 1.0), Job("works", _work, math.inf), Job("zzz", fail, 1.0, hold=hold))
    app.runner.add(Job("lazy", _work, math.inf, first=math.inf))
    FailingJobsFile(app.data).put(FailingJob("zzz", 1_700_000_000, 1_700_000_001, 3, "DiskRefused: elsewhere"))
    app.runner.start()
    try:
        async with asyncio.timeout(20):
            await failed.wait()
            await elsewhere.wait()
            while app.runner.health()[2].is_ours:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        page = await app.text("/admin")
    finally:
        await app.runner.stop()
    read_page(page.encode())
    rows = re.findall(r'<tr><th scope="row"><bdi>(\w+)</bdi></th><td>(.*?)</td>', page)
    assert [name for name, _ in rows] == ["aaa", "zzz", "lazy", "works"]
    assert "failing since" in rows[0][1]
    assert "OSError: no &lt;b&gt;room" in rows[0][1]
    assert "Nov 14, 2023" in rows[1][1]
    assert "DiskRefused: elsewhere" in rows[1][1]
    assert [state for _, state in rows[2:]] == ["not run yet", "working"]


async def test_every_page_is_strict_html_in_three_languages(app: AdminApp) -> None:
    await app.register.register()
    app.beliefs.record_claim(parse(REP), parse("example.org/liar/2008/03.17.15.17"), parse(REP), ClaimKind.ORIGINAL, 9)
    for path in (place.path for place in PLACES):
        texts = {await app.text(path, **{"accept-language": each}) for each in ("en", "pt-BR", "es")}
        assert len(texts) == 3
        for text in texts:
            read_page(text.encode())


# --- Archives ---------------------------------------------------------------------------------------------------------


async def test_an_archive_is_registered_and_forgotten_and_the_audit_log_says_who_did_it(app: AdminApp) -> None:
    fields = {"do": "register", "labels": REP, "key": STRONG, "hosts": "files.lab.br", "admin_mail": "a@lab.br"}
    status, page = await app.send(ARCHIVES, fields)
    assert status == 200
    read_page(page.encode())
    assert "Registered:" in page
    assert STRONG not in page
    assert "files.lab.br" in page
    status, place = await app.send(ARCHIVES, {"do": "change", "archive": REP, "add_hosts": "more.lab.br"})
    assert (status, place) == (303, f"{ARCHIVES}?done=changed")
    found = app.register.found()
    assert found is not None
    assert found.hosts == {"files.lab.br", "more.lab.br"}
    status, page = await app.send(ARCHIVES, {"do": "forget", "archive": REP})
    assert (status, "cannot be undone" in page) == (400, True)
    assert (await app.send(ARCHIVES, {"do": "forget", "archive": REP, "sure": "yes"}))[0] == 303
    assert app.register.found() is None
    noted = [(each.act, each.account, each.subject) for each in app.entries()]
    subject = f"archive:{REP.lower()}"
    assert noted == [
        ("register archive", "person:admin", subject),
        ("change archive", "person:admin", subject),
        ("forget archive", "person:admin", subject),
    ]


async def test_an_archive_that_follows_is_named_as_a_holder_of_copies_from_the_page(app: AdminApp) -> None:
    store, offered = CopyHoldersFile(app.data), CopyHolder(parse(REP), frozenset({"lab.br/arq"}))
    store.change(lambda known: known.offer(offered, int(time.time())))
    page = await app.text(ARCHIVES)
    read_page(page.encode())
    assert "keeps Copies of your items: name it as a holder?" in page
    assert SETTLED in page
    status, place = await app.send(ARCHIVES, {"do": "name_holder", "holder": REP})
    assert (status, place) == (303, f"{ARCHIVES}?done=holder_named")
    assert store.read().named == (offered,)
    assert (await app.send(ARCHIVES, {"do": "remove_holder", "holder": REP}))[0] == 303
    assert store.read() == KnownCopyHolders(declined=(parse(REP),))
    for label, expected in ((SETTLED, 409), (SERVICE.labels[0].spelling, 400), ("<b>", 400), ("", 400)):
        status, page = await app.send(ARCHIVES, {"do": "name_holder", "holder": label})
        assert (status, 'role="alert"' in page) == (expected, True), label
    status, page = await app.send(ARCHIVES, {"do": "remove_holder", "holder": "x.br/y/2020/01.01.00.00"})
    assert status == 404
    subject = f"archive:{REP.lower()}"
    assert [(each.act, each.account, each.subject) for each in app.entries()] == [
        ("name copy holder", "person:admin", subject),
        ("remove copy holder", "person:admin", subject),
    ]


async def test_what_is_wrong_in_the_form_is_said_and_what_was_typed_stays_but_for_the_key(app: AdminApp) -> None:
    for fields in (
        {"labels": "nonsense", "key": STRONG},
        {"labels": REP, "key": "1234567890"},
        {"labels": REP, "key": STRONG, "networks": "10.0.0.0/99"},
        {"labels": REP, "key": STRONG, "hosts": "a b<script>"},
        {"labels": "", "key": ""},
    ):
        status, page = await app.send(ARCHIVES, {"do": "register", "admin_mail": "ana@lab.br", **fields})
        assert 400 <= status < 500
        read_page(page.encode())
        assert 'role="alert"' in page
        assert 'value="ana@lab.br"' in page
        assert "<script>" not in page
        assert not fields["key"] or fields["key"] not in page
    assert app.register.found() is None


async def test_an_archive_that_was_not_reached_comes_first_and_says_why(app: AdminApp) -> None:
    app.register.answers = False
    await app.register.register("aaa.br/x/2008/03.17.15.17")
    await app.register.register()
    await app.register.send()
    page = await app.text(ARCHIVES)
    assert page.index(REP) < page.index("aaa.br/x")
    assert "not confirmed yet" in page or "not reached" in page
    assert "waiting for activation" in page
    assert "aaa.br" not in await app.text(f"{ARCHIVES}?q={REP.partition('/')[0]}")
    await app.register.admin.close()


async def test_a_dispute_is_settled_by_the_form_for_one_of_its_parties_only(app: AdminApp) -> None:
    label, liar = parse("lab.br/arq/2020/01.01.00.00"), parse("example.org/liar/2008/03.17.15.17")
    home = (await app.register.register("lab.br/arq/2000/01.01.00.00")).labels[0]
    app.beliefs.record_claim(label, liar, home, ClaimKind.ORIGINAL, 1_800_000_000)
    assert "Settle the dispute" in await app.text(ARCHIVES)
    fields = {"do": "settle", "item": str(label), "holder": "other.br/x/2008/03.17.15.17"}
    assert (await app.send(ARCHIVES, fields))[0] == 400
    assert (await app.send(ARCHIVES, {**fields, "holder": str(liar)}))[1] == f"{ARCHIVES}?done=settled"
    assert "Settle the dispute" not in await app.text(ARCHIVES)
    assert app.entries()[-1].act == "settle dispute"


async def test_a_form_that_says_nothing_is_refused(app: AdminApp) -> None:
    for fields in ({}, {"do": "explode"}, {"do": "unfollow", "id": "x"}, {"do": "settle", "item": "", "holder": ""}):
        assert 400 <= (await app.send(ARCHIVES, dict(fields)))[0] < 500


# --- settings ---------------------------------------------------------------------------------------------------------


async def test_settings_say_where_they_come_from_and_hide_secrets(app: AdminApp) -> None:
    page = await app.text("/admin/settings")
    assert "--port" in page
    assert "IBI_MAIL_PASSWORD" in page
    assert "<em>hidden</em>" in page
    assert "The &lt;name&gt;." in page


# --- fixity -----------------------------------------------------------------------------------------------------------


async def test_an_item_is_verified_when_it_is_asked_for_and_its_result_is_shown(app: AdminApp) -> None:
    item = put(app.deposits)
    assert item.labels.ibip is not None
    status, place = await app.send(FIXITY, {"label": item.labels.ibip.spelling}, "librarian")
    assert (status, place) == (303, f"{FIXITY}?begun=1")
    assert "Pending verification" in await app.text(FIXITY, "librarian")
    while app.schedule.step():
        pass
    page = await app.text(FIXITY, "librarian")
    assert "Pending verification" not in page
    assert re.search(rf"{item.rep}.*intact", page, re.DOTALL)


async def test_items_that_no_verification_has_read_are_counted_however_new_they_are(app: AdminApp) -> None:
    assert app.store.verify_item(str(put(app.deposits).rep)).problems == ()
    put(app.deposits)
    kept = sum(each.items for each in app.site.catalog.holdings().values())
    page = await app.text(FIXITY, "librarian")
    assert f"<dd>1 of {kept}</dd>" in page
    assert f"<dt>Never verified</dt><dd>{kept - 1}</dd>" in page
    assert f"<dd>1 of {kept}</dd>" in await app.text("/admin", "librarian")


async def test_a_label_of_no_item_is_not_verified(app: AdminApp) -> None:
    for label in ("", "nonsense", "lab.br/arq/1999/01.01.00.00", "<script>", "../../etc"):
        status, page = await app.send(FIXITY, {"label": label})
        assert status in (400, 404)
        read_page(page.encode())
    assert app.site.integrity is not None
    assert app.site.integrity.ledger.wanted() == ()


async def test_damage_is_named_and_verified_again_from_the_page(app: AdminApp) -> None:
    item = put(app.deposits)
    file = next(path for path in (app.data / "store").rglob("a.txt"))
    file.chmod(0o644)
    content = file.read_bytes()
    file.write_bytes(b"c0ntent")
    assert app.store.verify_item(str(item.rep)).problems
    assert "Verify again" in await app.text(FIXITY)
    assert "is damaged" in await app.text("/admin", "librarian")
    file.write_bytes(content)
    assert (await app.send(FIXITY, {"label": str(item.rep)}))[0] == 303
    assert app.schedule.step()
    assert "No damage is known." in await app.text(FIXITY)


# --- the audit trail --------------------------------------------------------------------------------------------------


def note(app: AdminApp, number: int, **others: str) -> None:
    said = {"act": "publish", "subject": f"lab.br/arq/2026/{number}", "account": "person:ana", "address": "192.0.2.1"}
    app.audit.append([AuditEntry(Instant(1_800_000_000 + number), **{**said, **others})])


async def settled(app: AdminApp) -> AsyncIterator[str]:
    for _ in range(500):
        page = await app.text(AUDIT)
        if "Verification is running" not in page:
            yield page
            return
        await asyncio.sleep(0)


async def test_the_trail_is_paged_from_its_newest_line_and_filtered(app: AdminApp) -> None:
    for number in range(120):
        note(app, number, account="person:bia" if number == 3 else "person:ana")
    page = await app.text(AUDIT)
    assert page.index("2026/119<") < page.index("2026/118<")
    older = re.search(r'href="([^"]*before=\d+)" rel="next"', page)
    assert older is not None
    assert "2026/69<" in await app.text(older[1].replace("&amp;", "&"))
    found = await app.text(f"{AUDIT}?who=bia")
    assert "2026/3<" in found
    assert "2026/4<" not in found
    assert "No entries match." in await app.text(f"{AUDIT}?act=nothing&since=2026-01-01&until=2026-01-02")


async def test_the_trail_of_an_item_is_found_by_either_of_its_labels(app: AdminApp) -> None:
    item = put(app.deposits)
    note(app, 1, subject=str(item.rep))
    note(app, 2)
    assert item.labels.ibip is not None
    for label in (item.rep.spelling, item.labels.ibip.spelling):
        page = await app.text(f"{AUDIT}?label={label}")
        assert f"/col/{item.rep}/metadata" in page
        assert "2026/2<" not in page


async def test_nonsense_in_the_address_is_told_or_passed_over(app: AdminApp) -> None:
    note(app, 1)
    for query in ("since=31.12.2026", "until=x", "before=-1", "before=1e9", "since=0000-00-00"):
        answer = await (await app.browser()).get(f"{AUDIT}?{query}", accept="text/html")
        assert answer.status == (200 if query.startswith("before") else 400)
        read_page(answer.body)


async def test_a_hostile_line_is_shown_as_text(app: AdminApp) -> None:
    note(app, 1, detail="<script>alert(1)</script>", subject="javascript:alert(1)", account="person:<b>")
    page = await app.text(AUDIT)
    read_page(page.encode())
    assert "<script>alert" not in page
    assert 'href="javascript' not in page


async def test_the_chain_is_verified_in_a_thread_and_a_flipped_byte_is_told(app: AdminApp) -> None:
    for number in range(3):
        note(app, number)
    assert await app.send(AUDIT, {}) == (303, AUDIT)
    async for page in settled(app):
        assert "Intact." in page
        assert "3 entries" in page
    path = app.data / "audit" / "audit.log"
    path.write_bytes(path.read_bytes().replace(b"2026/1", b"2026/7"))
    await app.send(AUDIT, {})
    async for page in settled(app):
        assert "Broken." in page
        assert "Line 2 of the audit log" in page
    overview = await app.text("/admin")
    assert "The audit trail is damaged." in overview
    assert 'href="/admin/audit"' in overview.partition("The audit trail is damaged.")[2].partition("</p>")[0]


async def test_formulas_in_an_export_are_neutralised(app: AdminApp) -> None:
    evil = '=HYPERLINK("http://evil.example";"x")'
    for number, text in enumerate((evil, "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "plain, with a comma")):
        note(app, number, detail=text)
    answer = await (await app.browser()).get(f"{AUDIT}/export.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
    details = [row[rows[0].index("detail")] for row in rows[1:]]
    assert details == [f"'{evil}", "'+1+1", "'-2+3", "'@SUM(A1)", "'\t=1", "' =1", "plain, with a comma"]
    assert not any(cell[:1] in "=+-@\t" for row in rows for cell in row if cell)


async def test_the_lines_are_exported_as_they_are_and_can_be_verified_elsewhere(app: AdminApp) -> None:
    for number in range(3):
        note(app, number)
    whole = await (await app.browser()).get(f"{AUDIT}/export.ndjson")
    assert whole.body == (app.data / "audit" / "audit.log").read_bytes()
    one = await (await app.browser()).get(f"{AUDIT}/export.ndjson?label=lab.br/arq/2026/1")
    assert one.body.count(b"\n") == 1
    assert (await (await app.browser()).get(f"{AUDIT}/export.exe", accept="text/html")).status == 404


# --- usage ------------------------------------------------------------------------------------------------------------


def use(app: AdminApp, rep: RepositoryName, number: int, referrer: ReferrerClass, kind: UsageKind) -> None:
    for _ in range(number):
        app.usage.count(UsageDay(rep, day_of(app.site.now)), kind, referrer)


async def test_use_is_shown_by_month_item_referrer_and_archive_robots_apart(app: AdminApp) -> None:
    item = put(app.deposits)
    use(app, item.rep, 41, ReferrerClass.SCHOLARLY, UsageKind.DOWNLOAD)
    use(app, item.rep, 17, ReferrerClass.RESOLVER, UsageKind.RESOLUTION)
    use(app, item.rep, 93, ReferrerClass.DIRECT, UsageKind.ROBOT_DOWNLOAD)
    page = await app.text(USAGE, "librarian")
    read_page(page.encode())
    for words in ("scholarly service", item.rep.prefix, f"/col/{item.rep}/metadata", ">41<", ">17<", ">93<"):
        assert words in page
    assert page.count("<svg") == 3
    earlier = await app.text(f"{USAGE}?month=2010-01", "librarian")
    assert "No item was used this month." in earlier
    assert "scholarly service" not in earlier


async def test_a_month_that_is_none_is_this_one(app: AdminApp) -> None:
    for month in ("", "2026-13", "x", "9999-12", "0000-00", "²026-01", "2026-01-01"):
        read_page((await app.text(f"{USAGE}?month={month}")).encode())


async def test_the_tables_of_use_have_each_metric_by_month_and_no_formulas(app: AdminApp) -> None:
    item = put(app.deposits, title="=cmd|' /C calc'!A0")
    use(app, item.rep, 3, ReferrerClass.SEARCH, UsageKind.DOWNLOAD)
    use(app, item.rep, 2, ReferrerClass.RESOLVER, UsageKind.RESOLUTION)
    answer = await (await app.browser("librarian")).get(f"{USAGE}/items.csv")
    rows = list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
    assert rows[0][:4] == ["Item", "Title", "Metric_Type", "Reporting_Period_Total"]
    assert len(rows[0]) == 4 + 12
    assert [(row[2], row[3], row[-1]) for row in rows[1:]] == [
        ("Total_Item_Investigations", "5", "5"),
        ("Total_Item_Requests", "3", "3"),
    ]
    assert {row[1] for row in rows[1:]} == {"'=cmd|' /C calc'!A0"}
    origins = await (await app.browser("librarian")).get(f"{USAGE}/origins.csv")
    (_, first, _) = csv.reader(io.StringIO(origins.body.decode(), newline=""))
    assert first[1:3] == [item.rep.prefix, "resolver"]


async def test_a_download_counts_for_the_class_of_its_referrer_alone(app: AdminApp) -> None:
    item = put(app.deposits)
    browser = await app.browser("reader")
    secret = "https://www.google.com.br/search?q=my+illness"
    for number, referer in enumerate((secret, "https://t.co/x", f"{app.site.public_url}/search", "nonsense")):
        agent = f"Mozilla/5.0 (X11; Linux x86_64; rv:{number}) Gecko/20100101 Firefox/{number}"
        answer = await browser.get(f"/col/{item.rep}/doc/a.txt", referer=referer, **{"user-agent": agent})
        assert answer.status == 200
    month = month_of(day_of(app.site.now))
    found = {origin.referrer for origin, _ in app.usage.origins(month, month)}
    assert found == {ReferrerClass.SEARCH, ReferrerClass.SOCIAL, ReferrerClass.HERE, ReferrerClass.DIRECT}
    app.usage.flush()
    assert b"illness" not in (app.data / "usage.sqlite").read_bytes()


# --- storage ----------------------------------------------------------------------------------------------------------


async def test_storage_says_what_takes_how_much_and_when_it_was_backed_up(app: AdminApp) -> None:
    small = put(app.deposits, title="Small")
    large = put(app.deposits, sources(a=b"x" * 5000), title="Large <b>")
    page = await app.text("/admin/storage")
    read_page(page.encode())
    assert page.index(str(large.rep)) < page.index(str(small.rep))
    for words in (
        "Large &lt;b&gt;",
        "5 kB",
        "catalogue.sqlite",
        "usage.sqlite",
        "No backup is recorded.",
        "without a type",
    ):
        assert words in page
    files = DataDirectoryFiles(app.data)
    files.note_backup(BackupNote(Instant.parse("2026-10-01T02:03:04Z"), 2, 1))
    assert "2026-10-01 02:03:04" in await app.text("/admin/storage")
    (app.data / "last-backup.json").write_text("[]", encoding="utf-8")
    assert "No backup is recorded." in await app.text("/admin/storage")
