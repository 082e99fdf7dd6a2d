"""The tables of layout 1, which had a database for each capability, and the statements that copy their rows into
`state`. These migrations were released and never change."""

from __future__ import annotations

from typing import Final, NamedTuple

from ibi.storage.connection import DatabaseKind
from ibi.storage.errors import StateDamaged

_TOKENS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'deposit', 'admin')),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        created INTEGER NOT NULL,
        name TEXT NOT NULL,
        expires INTEGER,
        revoked INTEGER
    ) WITHOUT ROWID
    """,
    # Existing scopes keep their names and rights; there are two new ones. Existing tokens belong to no person.
    """
    CREATE TABLE newer_tokens (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL CHECK (scope IN ('read', 'deposit', 'edit', 'admin', 'copy')),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        created INTEGER NOT NULL,
        name TEXT NOT NULL,
        expires INTEGER,
        revoked INTEGER,
        person TEXT
    ) WITHOUT ROWID;
    INSERT INTO newer_tokens (id, scope, digest, created, name, expires, revoked)
        SELECT id, scope, digest, created, name, expires, revoked FROM tokens;
    DROP TABLE tokens;
    ALTER TABLE newer_tokens RENAME TO tokens
    """,
)


_PEOPLE: Final[tuple[str, ...]] = (
    """
    CREATE TABLE people (
        name TEXT PRIMARY KEY COLLATE NOCASE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created INTEGER NOT NULL,
        password_hash TEXT,
        disabled INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL COLLATE NOCASE REFERENCES people (name),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE links (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL COLLATE NOCASE REFERENCES people (name),
        expires INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    # Names may have any script, and are compared by a folded form. Existing names are ASCII, which `lower` folds.
    # Tables that refer to people are dropped before that table.
    """
    CREATE TABLE newer_people (
        name TEXT PRIMARY KEY,
        folded TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created INTEGER NOT NULL,
        password_hash TEXT,
        disabled INTEGER,
        shown TEXT NOT NULL DEFAULT '',
        mail TEXT,
        folded_mail TEXT UNIQUE
    ) WITHOUT ROWID;
    INSERT INTO newer_people (name, folded, role, created, password_hash, disabled)
        SELECT name, lower(name), role, created, password_hash, disabled FROM people;
    CREATE TABLE newer_sessions (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL REFERENCES newer_people (name),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        network TEXT NOT NULL DEFAULT '',
        browser TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    INSERT INTO newer_sessions (digest, person, created, expires)
        SELECT digest, name, sessions.created, expires FROM sessions JOIN people ON name = person;
    CREATE TABLE newer_links (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL REFERENCES newer_people (name),
        expires INTEGER NOT NULL,
        use TEXT NOT NULL DEFAULT 'sign-in'
    ) WITHOUT ROWID;
    INSERT INTO newer_links (digest, person, expires)
        SELECT digest, name, expires FROM links JOIN people ON name = person;
    DROP TABLE sessions;
    DROP TABLE links;
    DROP TABLE people;
    ALTER TABLE newer_people RENAME TO people;
    ALTER TABLE newer_sessions RENAME TO sessions;
    ALTER TABLE newer_links RENAME TO links;
    CREATE INDEX sessions_of_person ON sessions (person);
    CREATE TABLE invitations (
        digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
        mail TEXT NOT NULL,
        folded_mail TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        invited_by TEXT,
        shown TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE identities (
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        person TEXT NOT NULL REFERENCES people (name),
        PRIMARY KEY (issuer, subject)
    ) WITHOUT ROWID;
    CREATE TABLE second_factors (
        person TEXT PRIMARY KEY REFERENCES people (name),
        secret BLOB NOT NULL,
        confirmed INTEGER,
        last_step INTEGER NOT NULL,
        recovery BLOB NOT NULL CHECK (length(recovery) % 32 = 0)
    ) WITHOUT ROWID
    """,
    "ALTER TABLE people ADD COLUMN language TEXT",
)


_REGISTRY: Final[tuple[str, ...]] = (
    """
    CREATE TABLE registrations (
        id INTEGER PRIMARY KEY,
        service TEXT NOT NULL,
        key_hash TEXT NOT NULL,
        registered INTEGER NOT NULL,
        admin_mail TEXT,
        hosts TEXT NOT NULL,
        networks TEXT NOT NULL,
        address TEXT,
        ip TEXT,
        protocol TEXT CHECK (protocol IN ('HTTP', 'HTTPS')),
        platform_version TEXT,
        included_mail TEXT,
        since INTEGER,
        confirmed INTEGER CHECK (confirmed IN (0, 1)),
        CHECK ((address IS NULL) = (ip IS NULL) AND (address IS NULL) = (protocol IS NULL)
            AND (address IS NULL) = (platform_version IS NULL) AND (address IS NULL) = (included_mail IS NULL)
            AND (address IS NULL) = (since IS NULL) AND (address IS NULL) = (confirmed IS NULL))
    );
    CREATE TABLE labels (
        label BLOB PRIMARY KEY,
        registration INTEGER NOT NULL REFERENCES registrations ON DELETE CASCADE
    ) WITHOUT ROWID;
    CREATE INDEX labels_of ON labels (registration)
    """,
    # A confirmed address had answered at the latest when it was included.
    """
    ALTER TABLE registrations ADD COLUMN answered INTEGER;
    UPDATE registrations SET answered = since WHERE confirmed = 1;
    ALTER TABLE registrations ADD COLUMN prefixes TEXT NOT NULL DEFAULT '';
    ALTER TABLE registrations ADD COLUMN shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1));
    ALTER TABLE registrations ADD COLUMN vouched INTEGER NOT NULL DEFAULT 0 CHECK (vouched IN (0, 1));
    ALTER TABLE registrations ADD COLUMN successor TEXT;
    ALTER TABLE registrations ADD COLUMN waiting TEXT;
    ALTER TABLE registrations ADD COLUMN pending_address TEXT;
    ALTER TABLE registrations ADD COLUMN pending_ip TEXT;
    ALTER TABLE registrations ADD COLUMN pending_protocol TEXT CHECK (pending_protocol IN ('HTTP', 'HTTPS'));
    ALTER TABLE registrations ADD COLUMN pending_platform_version TEXT;
    ALTER TABLE registrations ADD COLUMN pending_mail TEXT;
    ALTER TABLE registrations ADD COLUMN pending_since INTEGER
        CHECK ((pending_address IS NULL) = (pending_ip IS NULL)
            AND (pending_address IS NULL) = (pending_protocol IS NULL)
            AND (pending_address IS NULL) = (pending_platform_version IS NULL)
            AND (pending_address IS NULL) = (pending_mail IS NULL)
            AND (pending_address IS NULL) = (pending_since IS NULL)
            AND (pending_address IS NULL OR address IS NOT NULL))
    """,
    """
    ALTER TABLE registrations ADD COLUMN failure TEXT;
    ALTER TABLE registrations ADD COLUMN failed_at INTEGER CHECK ((failure IS NULL) = (failed_at IS NULL))
    """,
    "ALTER TABLE registrations ADD COLUMN feed TEXT",
    """
    ALTER TABLE registrations ADD COLUMN public_key TEXT;
    ALTER TABLE registrations ADD COLUMN former_keys TEXT NOT NULL DEFAULT '';
    ALTER TABLE registrations ADD COLUMN signed_at INTEGER NOT NULL DEFAULT 0
    """,
    "ALTER TABLE registrations ADD COLUMN lost INTEGER",
    "ALTER TABLE registrations ADD COLUMN last_inclusion TEXT",
)


def _counted_table(table: str, columns: str) -> str:
    """Return the definition of a table with an `owner` per row, and of a count of rows per owner."""
    return f"""
    CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, {columns});
    CREATE INDEX {table}_of ON {table} (owner, id);
    CREATE TABLE {table}_counts (owner TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_counts VALUES (new.owner, 1) ON CONFLICT DO UPDATE SET rows = rows + 1; END;
    CREATE TRIGGER {table}_dropped AFTER DELETE ON {table} BEGIN
        UPDATE {table}_counts SET rows = rows - 1 WHERE owner = old.owner; END
    """  # noqa: S608


_BELIEFS: Final[tuple[str, ...]] = (
    ";\n".join(
        (
            _counted_table("successions", "label BLOB NOT NULL UNIQUE, chain TEXT NOT NULL, at INTEGER NOT NULL"),
            _counted_table("holdings", "label BLOB NOT NULL UNIQUE, at INTEGER NOT NULL"),
            _counted_table(
                "claims",
                "label BLOB NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, home TEXT NOT NULL,"
                " first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, count INTEGER NOT NULL,"
                " UNIQUE (label, owner, kind)",
            ),
            "CREATE INDEX claims_seen ON claims (last_seen)",
            "CREATE TABLE copies (home TEXT PRIMARY KEY, services TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
        )
    ),
    """
    ALTER TABLE claims ADD COLUMN told INTEGER;
    CREATE TABLE rulings (label BLOB PRIMARY KEY, name TEXT NOT NULL, holder TEXT NOT NULL, parties TEXT NOT NULL,
        at INTEGER NOT NULL, ruled_by TEXT NOT NULL) WITHOUT ROWID
    """,
    # From here on services may have prefixes, written as `CopyHolder` does.
    """
    ALTER TABLE copies ADD COLUMN statement TEXT;
    ALTER TABLE copies ADD COLUMN signed_at INTEGER NOT NULL DEFAULT 0
    """,
    """
    ALTER TABLE successions ADD COLUMN signed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX successions_signed ON successions (owner, signed, id)
    """,
    "ALTER TABLE claims ADD COLUMN proven INTEGER",
    _counted_table("deletions", "label BLOB NOT NULL UNIQUE, by TEXT NOT NULL, deleted INTEGER, at INTEGER NOT NULL"),
)


_COPIES: Final[tuple[str, ...]] = (
    """
    CREATE TABLE jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        begun INTEGER NOT NULL,
        ended INTEGER,
        who TEXT NOT NULL,
        account TEXT,
        source TEXT,
        token TEXT,
        labels INTEGER NOT NULL
    );
    CREATE TABLE job_items (
        job INTEGER NOT NULL REFERENCES jobs (number),
        number INTEGER NOT NULL,
        label TEXT NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        code TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (job, number)
    ) WITHOUT ROWID;
    CREATE TABLE job_counts (
        job INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        items INTEGER NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (job, outcome)
    ) WITHOUT ROWID
    """,
)


_TRANSFERS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE transfers (
        direction TEXT NOT NULL, rep TEXT NOT NULL, stage TEXT NOT NULL, is_open INTEGER NOT NULL,
        due INTEGER NOT NULL, peer BLOB, document BLOB NOT NULL, PRIMARY KEY (direction, rep)) WITHOUT ROWID;
    CREATE INDEX transfers_due ON transfers (direction, due) WHERE is_open;
    CREATE INDEX transfers_stage ON transfers (direction, stage, rep);
    CREATE INDEX transfers_peer ON transfers (peer, rep);
    CREATE TABLE peers (url TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE untold (rep TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE track (mark TEXT NOT NULL)
    """,
    "CREATE TABLE unheard (url TEXT PRIMARY KEY) WITHOUT ROWID",
    """
    CREATE TABLE chains (rep TEXT PRIMARY KEY, chain TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE chain_services (
        service BLOB NOT NULL, rep TEXT NOT NULL, PRIMARY KEY (service, rep)) WITHOUT ROWID;
    CREATE TABLE open_items (rep TEXT PRIMARY KEY, due INTEGER NOT NULL, document BLOB NOT NULL) WITHOUT ROWID
    """,
)


_RELEASES: Final[tuple[str, ...]] = (
    """
    CREATE TABLE chains (rep TEXT PRIMARY KEY, chain TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE names (label BLOB PRIMARY KEY, rep TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE services (service BLOB NOT NULL, rep TEXT NOT NULL, PRIMARY KEY (service, rep)) WITHOUT ROWID
    """,
)


_SUBSCRIPTIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE follows (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        source TEXT NOT NULL,
        by_operator INTEGER NOT NULL,
        token TEXT,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL DEFAULT '',
        position INTEGER NOT NULL DEFAULT 0,
        end INTEGER NOT NULL DEFAULT 0,
        round INTEGER NOT NULL DEFAULT 0,
        until INTEGER,
        heard INTEGER,
        current INTEGER,
        failing INTEGER,
        reason TEXT,
        UNIQUE (kind, text, source)
    );
    CREATE TABLE followed (
        follow INTEGER NOT NULL REFERENCES follows (row) ON DELETE CASCADE,
        label TEXT NOT NULL,
        state TEXT NOT NULL,
        round INTEGER NOT NULL,
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        version INTEGER NOT NULL,
        held_version INTEGER NOT NULL DEFAULT 0,
        held_at TEXT NOT NULL DEFAULT '',
        due INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (follow, label)
    ) WITHOUT ROWID;
    CREATE INDEX followed_due ON followed (follow, due) WHERE due IS NOT NULL;
    CREATE TABLE webhooks (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        secret BLOB NOT NULL,
        by_operator INTEGER NOT NULL,
        prefix TEXT,
        kinds TEXT NOT NULL,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL,
        position INTEGER NOT NULL,
        delivered INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        due INTEGER NOT NULL DEFAULT 0,
        failing INTEGER,
        reason TEXT,
        disabled INTEGER
    )
    """,
    "ALTER TABLE follows ADD COLUMN archive TEXT NOT NULL DEFAULT ''",
)


def _notification_table(name: str) -> str:
    return f"""
    CREATE TABLE {name} (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, about TEXT NOT NULL,
        state TEXT NOT NULL, network TEXT NOT NULL, due INTEGER, at INTEGER NOT NULL, document BLOB NOT NULL);
    CREATE INDEX {name}_about ON {name} (about, number);
    CREATE INDEX {name}_state ON {name} (state, number);
    CREATE INDEX {name}_due ON {name} (due) WHERE due IS NOT NULL
    """


_NOTIFICATIONS: Final[tuple[str, ...]] = (
    ";\n".join(
        (
            _notification_table("received"),
            _notification_table("sent"),
            _notification_table("outgoing"),
            "CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL, number INTEGER)",
        )
    ),
)


_COLLECTIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE collections (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        description TEXT NOT NULL, curator TEXT, search TEXT, created TEXT NOT NULL, changed TEXT NOT NULL);
    CREATE TABLE members (place INTEGER PRIMARY KEY AUTOINCREMENT,
        collection INTEGER NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
        item TEXT NOT NULL, spelling TEXT NOT NULL, UNIQUE (collection, item));
    CREATE INDEX members_item ON members (item)
    """,
)


_REQUESTS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        item TEXT NOT NULL,
        title TEXT NOT NULL,
        owner TEXT,
        name TEXT NOT NULL,
        mail TEXT NOT NULL,
        text TEXT NOT NULL,
        network TEXT NOT NULL,
        made INTEGER NOT NULL,
        state TEXT NOT NULL,
        answered INTEGER,
        answered_by TEXT NOT NULL,
        answer TEXT NOT NULL,
        digest BLOB UNIQUE,
        expires INTEGER,
        revoked INTEGER,
        uses INTEGER NOT NULL,
        last_use INTEGER
    );
    CREATE INDEX requests_made ON requests (made);
    CREATE INDEX requests_owner ON requests (owner, number)
    """,
    "ALTER TABLE requests ADD COLUMN language TEXT NOT NULL DEFAULT ''",
)


_REVIEWS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE reviews (
        draft TEXT PRIMARY KEY NOT NULL,
        owner TEXT NOT NULL,
        depositor TEXT NOT NULL,
        title TEXT NOT NULL,
        state TEXT NOT NULL,
        submitted INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        seal TEXT NOT NULL,
        key TEXT,
        label TEXT,
        turn INTEGER NOT NULL UNIQUE
    ) WITHOUT ROWID;
    CREATE INDEX reviews_state ON reviews (state, turn);
    CREATE INDEX reviews_key ON reviews (owner, key) WHERE key IS NOT NULL;
    CREATE TABLE review_entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        draft TEXT NOT NULL,
        act TEXT NOT NULL,
        at INTEGER NOT NULL,
        account TEXT,
        name TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX review_entries_draft ON review_entries (draft, number);
    CREATE TRIGGER review_entries_stay BEFORE UPDATE ON review_entries
    BEGIN SELECT RAISE(ABORT, 'entries of reviews are never changed'); END
    """,
    "ALTER TABLE reviews ADD COLUMN deletes INTEGER NOT NULL DEFAULT 0",
)


class EarlierDatabase(NamedTuple):
    """A database of layout 1."""

    part: str
    """The part of `state` that now has its tables."""
    kind: DatabaseKind
    migrations: tuple[str, ...]
    copies: tuple[str, ...]
    """Statements that copy its rows; the database is attached as `old`."""
    can_be_lost: bool = False
    """True if its content is dispensable: earlier versions set a damaged one aside and began anew."""
    numbered: tuple[tuple[str, str], ...] = ()
    """Tables with row numbers that are never reused: each by its name in `state`, and its old name."""


def _copy(target: str, source: str, columns: str, order: str = "") -> str:
    """Return the statement that copies rows between tables with equal column names."""
    ordered = f" ORDER BY {order}" if order else ""
    return f"INSERT INTO main.{target} ({columns}) SELECT {columns} FROM old.{source}{ordered}"  # noqa: S608


_REGISTRATION: Final = (
    "id, service, key_hash, registered, admin_mail, hosts, networks, prefixes, shared, vouched, successor, waiting,"
    " feed, public_key, former_keys, signed_at, lost, last_inclusion, failure, failed_at,"
    " address, ip, protocol, platform_version, included_mail, since, confirmed, answered,"
    " pending_address, pending_ip, pending_protocol, pending_platform_version, pending_mail, pending_since"
)
_FOLLOW: Final = (
    "row, id, kind, text, source, by_operator, token, created, epoch, position, {last}, round, until, heard, current,"
    " failing, reason, archive"
)
_FOLLOWED: Final = (
    "follow, label, state, round, number, kind, at, version, held_version, held_at, due, attempts, reason"
)
_WEBHOOK: Final = (
    "row, id, url, secret, by_operator, prefix, kinds, created, epoch, position, delivered, attempts, due, failing,"
    " reason, disabled"
)
_NOTIFICATION: Final = "number, id, about, state, network, due, at, document"
_READER_REQUEST: Final = (
    "number, kind, item, title, owner, name, mail, text, network, made, state, answered, answered_by, answer, digest,"
    " expires, revoked, uses, last_use, language"
)
_REVIEW: Final = "draft, owner, depositor, title, state, submitted, changed, seal, key, label, turn, deletes"
_CLAIM: Final = "id, owner, label, name, kind, home, first_seen, last_seen, count, told, proven"


def _copy_counts(target: str, source: str) -> str:
    return (
        f"INSERT INTO main.belief_counts (name, owner, rows) SELECT '{target}', owner, count(*)"  # noqa: S608
        f" FROM old.{source} GROUP BY owner"
    )


EARLIER: Final = (
    EarlierDatabase(
        "tokens",
        DatabaseKind("accounts.sqlite", 2, frozenset({"tokens"}), StateDamaged),
        _TOKENS,
        (_copy("tokens", "tokens", "id, scope, digest, created, name, expires, revoked, person"),),
    ),
    EarlierDatabase(
        "people",
        DatabaseKind("people.sqlite", 3, frozenset({"people", "sessions", "links"}), StateDamaged),
        _PEOPLE,
        (
            _copy(
                "people",
                "people",
                "name, folded, role, created, password_hash, disabled, shown, mail, folded_mail, language",
            ),
            _copy("sessions", "sessions", "digest, person, created, expires, network, browser"),
            _copy("sign_in_links", "links", "digest, person, expires, use"),
            _copy("invitations", "invitations", "digest, mail, folded_mail, role, created, expires, invited_by, shown"),
            _copy("identities", "identities", "issuer, subject, person"),
            _copy("second_factors", "second_factors", "person, secret, confirmed, last_step, recovery"),
        ),
    ),
    EarlierDatabase(
        "registry",
        DatabaseKind("registry.sqlite", 4, frozenset({"registrations", "labels"}), StateDamaged),
        _REGISTRY,
        (
            _copy("registrations", "registrations", _REGISTRATION),
            _copy("registered_labels", "labels", "label, registration"),
        ),
    ),
    EarlierDatabase(
        "beliefs",
        DatabaseKind("beliefs.sqlite", 7, frozenset({"successions", "holdings", "copies"}), StateDamaged),
        _BELIEFS,
        (
            _copy("believed_successions", "successions", "id, owner, label, chain, at, signed"),
            _copy_counts("believed_successions", "successions"),
            _copy("believed_holdings", "holdings", "id, owner, label, at"),
            _copy_counts("believed_holdings", "holdings"),
            _copy("false_claims", "claims", _CLAIM),
            _copy_counts("false_claims", "claims"),
            _copy("believed_deletions", "deletions", "id, owner, label, by, deleted, at"),
            _copy_counts("believed_deletions", "deletions"),
            _copy("named_copies", "copies", "home, services, at, statement, signed_at"),
            _copy("rulings", "rulings", "label, name, holder, parties, at, ruled_by"),
        ),
        can_be_lost=True,
        numbered=(
            ("believed_successions", "successions"),
            ("believed_holdings", "holdings"),
            ("false_claims", "claims"),
            ("believed_deletions", "deletions"),
        ),
    ),
    EarlierDatabase(
        "releases",
        DatabaseKind("releases.sqlite", 13, frozenset({"chains", "names", "services"}), StateDamaged),
        _RELEASES,
        (
            _copy("told_chains", "chains", "rep, chain"),
            _copy("told_chain_names", "names", "label, rep"),
            _copy("told_chain_services", "services", "service, rep"),
        ),
    ),
    EarlierDatabase(
        "transfers",
        DatabaseKind("transfers.sqlite", 12, frozenset({"transfers", "peers", "track"}), StateDamaged),
        _TRANSFERS,
        (
            "INSERT INTO main.transfers"
            " (direction, rep, stage, is_open, due, peer, network, heard, is_accepted, document)"
            " SELECT direction, rep, stage, is_open, due, peer,"
            " coalesce(json_extract(CAST(document AS TEXT), '$.network'), ''),"
            " max(due, coalesce(json_extract(CAST(document AS TEXT), '$.since'), 0)),"
            " json_extract(CAST(document AS TEXT), '$.acceptance') IS NOT NULL, document FROM old.transfers",
            _copy("transfer_peers", "peers", "url"),
            _copy("untold_transfers", "untold", "rep"),
            _copy("transfer_track", "track", "mark"),
            _copy("unheard_servers", "unheard", "url"),
            _copy("item_chains", "chains", "rep, chain"),
            _copy("item_chain_services", "chain_services", "service, rep"),
            _copy("open_items", "open_items", "rep, due, document"),
        ),
    ),
    EarlierDatabase(
        "notifications",
        DatabaseKind("notifications.sqlite", 15, frozenset({"received", "sent", "outgoing"}), StateDamaged),
        _NOTIFICATIONS,
        (
            _copy("received_claims", "received", _NOTIFICATION),
            _copy("sent_claims", "sent", _NOTIFICATION),
            _copy("outgoing_notifications", "outgoing", _NOTIFICATION),
            _copy("notification_position", "position", "one, epoch, number"),
        ),
        can_be_lost=True,
        numbered=(
            ("received_claims", "received"),
            ("sent_claims", "sent"),
            ("outgoing_notifications", "outgoing"),
        ),
    ),
    EarlierDatabase(
        "subscriptions",
        DatabaseKind("subscriptions.sqlite", 14, frozenset({"follows", "followed", "webhooks"}), StateDamaged),
        _SUBSCRIPTIONS,
        (
            f"INSERT INTO main.follows ({_FOLLOW.format(last='last')})"  # noqa: S608
            f" SELECT {_FOLLOW.format(last='end')} FROM old.follows",
            _copy("followed_items", "followed", _FOLLOWED),
            _copy("webhooks", "webhooks", _WEBHOOK),
        ),
        numbered=(("follows", "follows"), ("webhooks", "webhooks")),
    ),
    EarlierDatabase(
        "copies",
        DatabaseKind("copies.sqlite", 11, frozenset({"jobs", "job_items"}), StateDamaged),
        _COPIES,
        (
            _copy("copy_jobs", "jobs", "number, id, state, begun, ended, who, account, source, token, labels"),
            _copy("copy_job_items", "job_items", "job, number, label, outcome, reason, code, size"),
            _copy("copy_job_counts", "job_counts", "job, outcome, items, size"),
        ),
        can_be_lost=True,
        numbered=(("copy_jobs", "jobs"),),
    ),
    EarlierDatabase(
        "reviews",
        DatabaseKind("reviews.sqlite", 21, frozenset({"reviews", "review_entries"}), StateDamaged),
        _REVIEWS,
        (
            _copy("reviews", "reviews", _REVIEW),
            _copy("review_entries", "review_entries", "number, draft, act, at, account, name, text"),
        ),
        can_be_lost=True,
        numbered=(("review_entries", "review_entries"),),
    ),
    EarlierDatabase(
        "requests",
        DatabaseKind("requests.sqlite", 22, frozenset({"requests"}), StateDamaged),
        _REQUESTS,
        (_copy("reader_requests", "requests", _READER_REQUEST),),
        can_be_lost=True,
        numbered=(("reader_requests", "requests"),),
    ),
    EarlierDatabase(
        "collections",
        DatabaseKind("collections.sqlite", 20, frozenset({"collections", "members"}), StateDamaged),
        _COLLECTIONS,
        (
            _copy("collections", "collections", "number, name, title, description, curator, search, created, changed"),
            _copy("collection_members", "members", "place, collection, item, spelling"),
        ),
        numbered=(("collections", "collections"), ("collection_members", "members")),
    ),
)
