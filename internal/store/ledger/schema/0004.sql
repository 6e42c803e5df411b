-- What a log comes to up to a place in it, so that a start need not read all of it.
-- It follows from the log: without it, everything is read. The audit log has its
-- hash, so that another value in its place is not taken for it.
CREATE TABLE snapshots (
  owner TEXT NOT NULL,
  name  TEXT NOT NULL,    -- 'orders', or 'journal ' and the name of one
  last  INTEGER NOT NULL, -- seq of the last event, or journal entry, that is in it
  event INTEGER NOT NULL, -- seq of the event that has its hash
  value BLOB NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT;
