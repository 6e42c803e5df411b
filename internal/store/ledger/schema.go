package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"candela/lib/fault"
)

// migrations holds one file for each version of the schema, from 0001.sql on.
//
//go:embed schema/*.sql
var migrations embed.FS

const (
	version       = 7             // of the schema that this build writes
	chainsSince   = 7             // the first with the table chains
	applicationID = 0x63_6e_64_6c // "cndl", at byte 68 of the file
)

// migrate brings the schema to version, in one transaction.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	found, err := schemaVersion(ctx, conn, path)
	if err != nil || found == version {
		return err
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
