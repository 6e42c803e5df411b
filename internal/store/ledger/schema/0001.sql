-- Times are unix microseconds, amounts exact decimal text, symbols carry their
-- venue where they have one. The page of decisions that explains the tables is
-- docs/adr/0013-ledger.md.

-- One row, written in the transaction of every event and notification: what the
-- log must end with. Rows cut off the end of events leave it behind.
CREATE TABLE head (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  event INTEGER NOT NULL, -- the last event's seq, 0 before the first
  hash  BLOB    NOT NULL, -- the last event's hash
  entry INTEGER NOT NULL  -- the last notification's seq; never used again
) STRICT;
INSERT INTO head VALUES (1, 0, zeroblob(32), 0);

-- Who asked for what and what came of it. Append-only and chained by hash.
CREATE TABLE events (
  seq     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  subject TEXT NOT NULL, -- the id of what it is about
  actor   TEXT NOT NULL, -- what stands for the token; '' for the service itself
  client  TEXT NOT NULL, -- as the client calls itself
  body    TEXT NOT NULL, -- one JSON object
  prev    BLOB NOT NULL,
  hash    BLOB NOT NULL
) STRICT;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- INSERT OR REPLACE deletes without the trigger above.
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN NEW.seq <= (SELECT max(seq) FROM events)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE alerts (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  symbol     TEXT NOT NULL,
  instrument TEXT NOT NULL,
  interval   TEXT NOT NULL, -- '' for a price
  type       TEXT NOT NULL,
  threshold  TEXT NOT NULL, -- '' for an indicator
  indicator  TEXT NOT NULL,
  signal     TEXT NOT NULL,
  created    INTEGER NOT NULL,
  expires    INTEGER NOT NULL, -- 0 for never
  note       TEXT NOT NULL,
  since      INTEGER NOT NULL -- 0 for none
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
  seq    INTEGER PRIMARY KEY,
  owner  TEXT NOT NULL,
  symbol TEXT NOT NULL,
  kind   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  data   TEXT NOT NULL -- the record that clients get
) STRICT;
CREATE INDEX entries_by_owner ON entries (owner, seq);

CREATE TABLE cursors (
  owner  TEXT NOT NULL,
  reader TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  PRIMARY KEY (owner, reader)
) STRICT, WITHOUT ROWID;

-- Up to which bar each series has been evaluated. Market data has no owner.
CREATE TABLE marks (
  symbol   TEXT NOT NULL,
  interval TEXT NOT NULL,
  t        INTEGER NOT NULL, -- unix seconds
  PRIMARY KEY (symbol, interval)
) STRICT, WITHOUT ROWID;

CREATE TABLE states (
  owner TEXT NOT NULL,
  name  TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
