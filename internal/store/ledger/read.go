package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"candela/internal/kit/fault"
)

// rows yields a scanner for each row of a query, and ends after an error. It sees
// the store as it was when it began.
func (l *Ledger) rows(ctx context.Context, query string, args ...any) iter.Seq2[func(...any) error, error] {
	return rowsOf(ctx, l.read, query, args...)
}

// snapshot begins reads that all see one moment and hold up nobody. The caller
// rolls it back.
func snapshot(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	return tx, failure("read", err)
}

// rowQuerier is what a pool, a connection and a transaction have in common.
type rowQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func rowsOf(ctx context.Context, db rowQuerier, query string, args ...any) iter.Seq2[func(...any) error, error] {
	return func(yield func(func(...any) error, error) bool) {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(nil, failure("read", err))
			return
		}
		defer func() { _ = rows.Close() }() // Err has returned it
		for rows.Next() {
			if !yield(rows.Scan, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, failure("read", err))
		}
	}
}

// damaged reports a row that no build of this program wrote.
func damaged(what string, err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_damaged", Message: "the store is damaged: " + what + " is not what was written",
		Cause: fmt.Errorf("%s: %w", what, err),
	}
}
