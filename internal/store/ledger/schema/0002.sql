-- Orders as their events make them, so that one is found without reading all. The
-- events themselves are in the audit log, under the kinds order_created to
-- order_adjusted, and are what an owner's book is made of.
CREATE TABLE orders (
  id      TEXT PRIMARY KEY,
  owner   TEXT NOT NULL,
  key     TEXT,             -- the client's idempotency key
  created INTEGER NOT NULL,
  status  TEXT NOT NULL,
  body    TEXT NOT NULL     -- order.Order in JSON, without its fills
) STRICT;
CREATE UNIQUE INDEX orders_by_key ON orders (owner, key) WHERE key IS NOT NULL;
CREATE INDEX orders_by_age ON orders (owner, created, id);

-- Each trade once. The side is part of its name: who trades with himself has two
-- fills of one trade.
CREATE TABLE fills (
  owner    TEXT NOT NULL,
  symbol   TEXT NOT NULL,
  trade    TEXT NOT NULL,
  side     TEXT NOT NULL,
  order_id TEXT NOT NULL,
  body     TEXT NOT NULL, -- order.Fill in JSON
  PRIMARY KEY (owner, symbol, trade, side)
) STRICT;
CREATE INDEX fills_by_order ON fills (order_id);

CREATE INDEX events_of_orders ON events (owner, seq) WHERE substr(kind, 1, 6) = 'order_';
