-- What an account that lives here, such as the paper one, has done. Each owner and
-- name is a journal of its own; nothing in it is ever changed.
CREATE TABLE journals (
  owner TEXT NOT NULL,
  name  TEXT NOT NULL,
  seq   INTEGER NOT NULL, -- ascending from 1 without a gap
  entry TEXT NOT NULL,    -- one JSON object
  PRIMARY KEY (owner, name, seq)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER journals_no_update BEFORE UPDATE ON journals
BEGIN SELECT RAISE(ABORT, 'journals are append-only'); END;
CREATE TRIGGER journals_no_delete BEFORE DELETE ON journals
BEGIN SELECT RAISE(ABORT, 'journals are append-only'); END;
