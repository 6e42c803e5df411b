package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// CopyTo writes the store, as it is at one moment, into a new file in a directory,
// and returns when that is on the disk. Writers go on meanwhile. The copy has no
// log beside it and no free pages, so it may be smaller.
func (a *Audit) CopyTo(ctx context.Context, dir string) error {
	path := filepath.Join(dir, FileName)
	if err := create(path); err != nil {
		return failure("copy", err)
	}
	// A file that is opened for reading alone cannot be written whatever the pragma
	// says, and with it the copy could not be either.
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return failure("copy", err)
	}
	_, err = conn.ExecContext(ctx, "PRAGMA query_only = 0")
	if err == nil {
		// SQLite fills an empty file, which has the permissions that it should.
		_, err = conn.ExecContext(ctx, "VACUUM INTO ?", path)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "PRAGMA query_only = 1")
	}
	if err == nil {
		err = syncFile(path)
	}
	return failure("copy", errors.Join(err, conn.Close()))
}

// syncFile makes the content of a file durable. SQLite does not for a copy.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // G304: the operator names the directory, that is the purpose
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Size returns how many bytes a copy has at most.
func (a *Audit) Size(ctx context.Context) (int64, error) {
	var size int64
	err := a.db.QueryRowContext(ctx, "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)").Scan(&size)
	return size, failure("read", err)
}
