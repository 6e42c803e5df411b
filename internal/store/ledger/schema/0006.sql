-- Many owners in one store. An installation with one owner has no row in owners.
CREATE INDEX alerts_by_owner ON alerts (owner);

CREATE TABLE owners (
  owner   TEXT PRIMARY KEY,
  issuer  TEXT NOT NULL,    -- who says who it is
  subject TEXT NOT NULL,    -- as the issuer calls this owner
  email   TEXT NOT NULL,    -- as last reported, for people to read; never an identity
  name    TEXT NOT NULL,    -- the same
  plan    TEXT NOT NULL,    -- '' for the default
  state   TEXT NOT NULL,    -- 'active', 'suspended' or 'erased'
  since   INTEGER NOT NULL, -- of the state; what was approved before is void while it is not 'active'
  first   INTEGER NOT NULL, -- when it was first seen
  last    INTEGER NOT NULL  -- when it was last seen
) STRICT, WITHOUT ROWID;

-- Further identities of an owner, linked by the operator.
CREATE TABLE identities (
  issuer  TEXT NOT NULL,
  subject TEXT NOT NULL,
  owner   TEXT NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

-- The event of an erased owner keeps its place, its time, its owner's id, its kind and its
-- hash, so that the chain holds; what it said is gone: its body is ''. Nothing else about an event changes.
CREATE INDEX events_by_owner ON events (owner, seq);
DROP TRIGGER events_no_update;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
WHEN NOT (NEW.subject = '' AND NEW.actor = '' AND NEW.client = '' AND NEW.body = ''
  AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.owner = OLD.owner AND NEW.kind = OLD.kind AND NEW.prev = OLD.prev AND NEW.hash = OLD.hash
  AND EXISTS (SELECT 1 FROM owners o WHERE o.owner = OLD.owner AND o.state = 'erased'))
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
DROP TRIGGER journals_no_delete;
CREATE TRIGGER journals_no_delete BEFORE DELETE ON journals
WHEN NOT EXISTS (SELECT 1 FROM owners o WHERE o.owner = OLD.owner AND o.state = 'erased')
BEGIN SELECT RAISE(ABORT, 'journals are append-only'); END;
