package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"candela/lib/fault"
)

// errClosed is what a write finds after Close.
var errClosed = &fault.Error{Kind: fault.Unavailable, Code: "store_closed", Message: "the store is closed"}

// failure marks an error of the store itself as Unavailable, with a code that
// says which: store_full, store_read_only, store_damaged, store_busy or
// store_failed. The desk stops trading on any of them. An error that carries a
// fault already, and the end of a context, pass unchanged.
func failure(doing string, err error) error {
	if err == nil || fault.Of(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code, message := classify(resultCode(err), err)
	return &fault.Error{
		Kind: fault.Unavailable, Code: code, Message: message, Retryable: code == "store_full" || code == "store_busy",
		Cause: fmt.Errorf("%s: %w", doing, err),
	}
}

// classify returns the code and the message of an error, and of SQLite's result code for it. Beside a store that was closed in
// order SQLite first needs room for the file -shm.
func classify(result int, err error) (code, message string) {
	switch {
	case result&0xff == lib.SQLITE_FULL, result == lib.SQLITE_IOERR_SHMSIZE, errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "store_full", "the store cannot be written: its disk is full"
	case result&0xff == lib.SQLITE_READONLY, result&0xff == lib.SQLITE_CANTOPEN, result&0xff == lib.SQLITE_PERM,
		errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "store_read_only", "the store cannot be written: its file or directory is read-only"
	case result&0xff == lib.SQLITE_CORRUPT, result&0xff == lib.SQLITE_NOTADB:
		return "store_damaged", "the store is damaged: its file is not what was written"
	case result&0xff == lib.SQLITE_BUSY, result&0xff == lib.SQLITE_LOCKED:
		return "store_busy", "the store is held by another process"
	}
	return "store_failed", "the store failed"
}

// resultCode returns SQLite's extended result code, 0 when err is not of SQLite.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// isDuplicate reports whether a row was refused because its key is taken.
func isDuplicate(err error) bool {
	code := resultCode(err)
	return code == lib.SQLITE_CONSTRAINT_PRIMARYKEY || code == lib.SQLITE_CONSTRAINT_UNIQUE
}

// noRow reports whether a query had no answer.
func noRow(err error) bool { return errors.Is(err, sql.ErrNoRows) }
