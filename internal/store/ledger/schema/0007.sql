-- The chain of each owner over the hashes of the owner's events, written in the transaction of each event: what the
-- events of an owner must come to.
CREATE TABLE chains (
  owner  TEXT PRIMARY KEY,
  events INTEGER NOT NULL, -- how many the owner has
  hash   BLOB    NOT NULL,
  at     INTEGER NOT NULL, -- of the last event
  sealed INTEGER NOT NULL  -- how many of them the last signed checkpoint has
) STRICT, WITHOUT ROWID;

-- What a receipt is made of besides the events of orders.
CREATE INDEX events_of_proofs ON events (kind, owner, seq) WHERE kind IN ('chain_checkpoint', 'policy_loaded', 'receipt_key_changed');
