package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"candela/internal/kit/disk"
	"candela/lib/fault"
)

// migrations holds one file for each version of the schema, from 0001.sql on.
//
//go:embed schema/*.sql
var migrations embed.FS

const (
	version       = 7             // of the schema that this build writes
	chainsSince   = 7             // the first with the table chains
	stdioApart    = 4             // the last in which clients over stdio had an owner of their own
	applicationID = 0x63_6e_64_6c // "cndl", at byte 68 of the file
)

// earlierCopy returns the path of the copy of a store that is made before its schema changes.
func earlierCopy(path string, schema int) string { return fmt.Sprintf("%s.schema-%d", path, schema) }

// copyEarlier copies a store before its schema changes, so that the version of candela that wrote it can be installed again. It
// replaces the copy of an earlier change from that schema.
func copyEarlier(ctx context.Context, conn *sql.Conn, path string, schema int) error {
	to := earlierCopy(path, schema)
	made := to + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an attempt that was interrupted
		return err
	}
	if err := create(made); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "VACUUM INTO ?", made)
	if err == nil {
		err = syncFile(made)
	}
	if err == nil {
		err = os.Rename(made, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made))
	}
	return disk.SyncDir(filepath.Dir(to))
}

// migrate brings the schema to version, in one transaction, after it copied the store.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	found, err := schemaVersion(ctx, conn, path)
	if err != nil || found == version {
		return err
	}
	if found > 0 {
		if err := copyEarlier(ctx, conn, path, found); err != nil {
			return failure("copy the store before its schema changes", err)
		}
	}
	script := []byte("BEGIN IMMEDIATE;\n")
	for v := found + 1; v <= version; v++ {
		text, err := migrations.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
		if err != nil {
			return fmt.Errorf("migrate the store: %w", err)
		}
		script = append(script, text...)
	}
	_, err = conn.ExecContext(ctx, string(script))
	if err == nil && found < chainsSince {
		err = buildChains(ctx, conn)
	}
	if err == nil && found > 0 && found <= stdioApart {
		// They act for the one owner since. Otherwise nobody would see these alerts again.
		_, err = conn.ExecContext(ctx, "UPDATE alerts SET owner = 'owner' WHERE owner = 'local'")
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;\nCOMMIT;", applicationID, version))
	}
	if err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // fails when nothing was begun
		return failure("migrate", err)
	}
	return nil
}

// querier is what a connection and a pool have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns the version of a store's schema, 0 for an empty file. A
// file of another program or of a newer build is refused.
func schemaVersion(ctx context.Context, db querier, path string) (int, error) {
	var app, found, objects int
	err := db.QueryRowContext(ctx, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").
		Scan(&app, &found, &objects)
	switch {
	case err != nil:
		return 0, failure("open", err)
	case app == 0 && found == 0 && objects == 0:
		return 0, nil
	case app != applicationID:
		return 0, &fault.Error{
			Kind: fault.Conflict, Code: "store_foreign", Field: "home", Value: path,
			Message: path + " is not a store of candela: move it away, or choose another --home",
		}
	case found > version:
		return 0, &fault.Error{
			Kind: fault.Conflict, Code: "store_newer", Field: "home", Value: path,
			Message: fmt.Sprintf("the store %s was written by a newer candela (schema %d, this one knows %d): install that version again, or choose another --home", path, found, version),
		}
	}
	return found, nil
}
