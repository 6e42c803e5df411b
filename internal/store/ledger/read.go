package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// scanner reads the columns of one row.
type scanner = func(columns ...any) error

// rowQuerier is what a pool, a connection and a transaction have in common.
type rowQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows yields what scan makes of each row of a query, and ends after an error, unless that
// is of a damaged row alone. It sees the store as it was when it began. doing describes an error of scan.
func rows[T any](ctx context.Context, db rowQuerier, doing string, scan func(scanner) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(*new(T), failure("read", err))
			return
		}
		defer func() { _ = found.Close() }() // Err has returned it
		for found.Next() {
			row, err := scan(found.Scan)
			if !yield(row, failure(doing, err)) || err != nil && fault.Of(err) == nil {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(*new(T), failure("read", err))
		}
	}
}

// column reads a row of one column.
func column[T any](scan scanner) (value T, err error) {
	err = scan(&value)
	return value, err
}

func collect[T any](rows iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// byOwner returns the values of a query for owner, name and value.
func byOwner[V any](ctx context.Context, l *Ledger, doing, query string) (map[principal.Owner]map[string]V, error) {
	type row struct {
		owner principal.Owner
		name  string
		value V
	}
	scan := func(scan scanner) (r row, err error) {
		err = scan(&r.owner, &r.name, &r.value)
		return r, err
	}
	all := make(map[principal.Owner]map[string]V)
	for r, err := range rows(ctx, l.read, doing, scan, query) {
		if err != nil {
			return nil, err
		}
		if all[r.owner] == nil {
			all[r.owner] = make(map[string]V)
		}
		all[r.owner][r.name] = r.value
	}
	return all, nil
}

// snapshot begins reads that all see one moment and hold up nobody. The caller
// rolls it back.
func snapshot(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	return tx, failure("read", err)
}

// damaged reports a row that no build of this program wrote.
func damaged(what string, err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "store_damaged", Message: "the store is damaged: " + what + " is not what was written",
		Cause: fmt.Errorf("%s: %w", what, err),
	}
}
