package orders

import (
	"testing"
	"time"

	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
)

// checkReceipts makes a receipt of every order in the log, beside the program, and verifies it.
func checkReceipts(tb testing.TB, home string) {
	tb.Helper()
	log, err := ledger.OpenAudit(tb.Context(), home)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }() // only read
	changes, err := log.Keys(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	events, err := log.Recent(tb.Context(), 1000)
	if err != nil {
		tb.Fatal(err)
	}
	keys := receipt.NewKeys(changes)
	for _, e := range events {
		if e.Kind != "order_created" {
			continue
		}
		made, err := receipt.Issuer{Source: log, Key: receipt.KeyIn(home), Now: time.Now}.Issue(tb.Context(), e.Owner, e.Subject)
		if err != nil {
			tb.Errorf("order %s: %v", e.Subject, err)
			continue
		}
		d, err := receipt.Parse(made.Text)
		if err == nil {
			_, err = receipt.Verify(d, keys)
		}
		if err != nil {
			tb.Errorf("the receipt of order %s: %v", e.Subject, err)
		}
	}
}
