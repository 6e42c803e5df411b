-- Alerts on more than a price or a signal, and those that fire more than once.
ALTER TABLE alerts ADD COLUMN rule  TEXT    NOT NULL DEFAULT ''; -- JSON; '' for the three first types
ALTER TABLE alerts ADD COLUMN fires INTEGER NOT NULL DEFAULT 0;  -- so far
ALTER TABLE alerts ADD COLUMN fired INTEGER NOT NULL DEFAULT 0;  -- the last time; 0 for never
ALTER TABLE alerts ADD COLUMN side  INTEGER NOT NULL DEFAULT 0;  -- of a crossing: -1 below, 1 above
