// Package source has what the pages of the console read: the audit log, firings of alerts, prices, clients, receivers
// and the health of the program. It implements the ports of package console.
package source

import (
	"context"
	"time"

	"candela/internal/kit/lru"
	"candela/internal/store/ledger"
)

// maxSetters bounds how many alerts are remembered with who set them, which never changes.
const maxSetters = 4096

// History finds the alerts that orders answered, and who set alerts.
type History struct {
	open    func() *ledger.Audit
	setters *lru.Cache[string, ledger.Event]
}

// NewHistory returns the history that the audit log has. open returns nil while it is not open.
func NewHistory(open func() *ledger.Audit) History {
	return History{open, &lru.Cache[string, ledger.Event]{Limit: maxSetters}}
}

// Setter returns the client that set an alert.
func (h History) Setter(ctx context.Context, alertID string) (string, time.Time, error) {
	if e, ok := h.setters.Get(alertID); ok {
		return e.Client, e.At, nil
	}
	audit, err := ledger.Opened(h.open)
	if err != nil {
		return "", time.Time{}, err
	}
	e, found, err := audit.Setter(ctx, alertID)
	if err != nil || !found {
		return "", time.Time{}, err
	}
	h.setters.Put(alertID, ledger.Event{Client: e.Client, At: e.At}, 1)
	return e.Client, e.At, nil
}

// Cause returns the alert that an order answered.
func (h History) Cause(ctx context.Context, orderID string) (string, time.Time, error) {
	audit, err := ledger.Opened(h.open)
	if err != nil {
		return "", time.Time{}, err
	}
	e, found, err := audit.Cause(ctx, orderID)
	if err != nil || !found {
		return "", time.Time{}, err
	}
	return e.Subject, e.At, nil
}

// Answers returns the orders that followed a firing.
func (h History) Answers(ctx context.Context, alertID string) ([]string, error) {
	audit, err := ledger.Opened(h.open)
	if err != nil {
		return nil, err
	}
	events, err := audit.Answers(ctx, alertID)
	ids := make([]string, 0, len(events))
	for _, e := range events {
		ids = append(ids, e.Subject)
	}
	return ids, err
}

// Audit reads the audit log while the store is open.
type Audit struct {
	Open func() *ledger.Audit // returns nil while it is not open
}

// Page returns a part of the log.
func (a Audit) Page(ctx context.Context, f ledger.Filter) (ledger.Page, error) {
	log, err := ledger.Opened(a.Open)
	if err != nil {
		return ledger.Page{}, err
	}
	return log.Page(ctx, f)
}

// Verify checks the chain of the log.
func (a Audit) Verify(ctx context.Context) (ledger.Report, error) {
	log, err := ledger.Opened(a.Open)
	if err != nil {
		return ledger.Report{}, err
	}
	return log.Verify(ctx)
}
