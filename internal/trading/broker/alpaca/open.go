package alpaca

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"candela/internal/market/upstream"
	"candela/internal/trading/order"
)

const openPage = 500 // the most orders of one answer

// Open lists the open orders of the account. It asks for nested ones: a leg that waits is
// listed under its parent alone, and no leg names its parent.
func (b *Broker) Open(ctx context.Context) ([]order.Report, error) {
	var all []order.Report
	seen := make(map[string]bool)
	q := url.Values{"status": {"open"}, "limit": {strconv.Itoa(openPage)}, "direction": {"asc"}, "nested": {"true"}}
	for {
		page, err := fetch(ctx, b, upstream.Request{Path: "/v2/orders", Query: q, Subject: "open orders"}, listOf("a list of orders", orderAt))
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, t := range page {
			if !seen[t.id] {
				seen[t.id] = true
				all = append(all, t.reports()...)
			}
		}
		if len(page) < openPage {
			return all, nil
		}
		last := page[len(page)-1].submitted
		if len(all) == before || last.IsZero() {
			return nil, upstream.MalformedResponse(name, "open orders", errors.New("there are more than one page can distinguish"))
		}
		// The bound is exclusive and several orders may have one time, so that each
		// page begins before the end of the one before.
		q.Set("after", last.Add(-time.Millisecond).Format(time.RFC3339Nano))
	}
}
