package alpaca

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

const (
	openPage = 500 // the most orders of one answer

	// maxParents bounds how many parents of legs are looked for in one Open.
	maxParents = 32
	// parentBefore and parentAfter are how far the times of a leg and its parent may
	// differ. The venue submits them together.
	parentBefore = time.Minute
	parentAfter  = time.Second
)

// Open lists the open orders of the account. The venue lists a leg that waits, and a stop
// that works beside its target, under their parent alone, and no leg names its parent. With
// the parents it lists nothing of an entry that is filled. So the orders are read on their
// own, and if some belong to groups, once more by parent; the parents that are filled are
// looked for at the time of their legs. A leg whose parent is not found comes without group.
func (b *Broker) Open(ctx context.Context) ([]order.Report, error) {
	single, err := b.list(ctx, false)
	if err != nil {
		return nil, err
	}
	isGrouped := func(t ticket) bool { return t.class != "" && t.class != classSimple }
	known := make(map[string]bool)
	var all []order.Report
	add := func(parent ticket) {
		for _, t := range slices.Concat(parent.legs, []ticket{parent}) {
			known[t.id] = true
		}
		all = append(all, slices.DeleteFunc(parent.reports(), func(r order.Report) bool { return r.Status.Final() })...)
	}
	if slices.ContainsFunc(single, isGrouped) {
		nested, err := b.list(ctx, true)
		if err != nil {
			return nil, err
		}
		for _, t := range nested {
			add(t)
		}
	}
	searches := 0
	for _, t := range single {
		if isGrouped(t) && !known[t.id] && searches < maxParents {
			searches++
			parents, err := b.parents(ctx, t)
			if err != nil {
				return nil, err
			}
			for _, parent := range parents {
				if !known[parent.id] {
					add(parent)
				}
			}
		}
		if !known[t.id] {
			add(t)
		}
	}
	return all, nil
}

// list reads the open orders, with legs under their parents or on their own.
func (b *Broker) list(ctx context.Context, nested bool) ([]ticket, error) {
	q := url.Values{"status": {"open"}, "limit": {strconv.Itoa(openPage)}, "direction": {"asc"}, "nested": {strconv.FormatBool(nested)}}
	all, err := venue.Pages(openPage, func(t ticket) string { return t.id }, func(last *ticket) ([]ticket, error) {
		if last != nil {
			// The bound is exclusive and several orders may have one time, so that each
			// page begins before the end of the one before.
			q.Set("after", last.submitted.Add(-time.Millisecond).Format(time.RFC3339Nano))
		}
		return b.page(ctx, q)
	})
	if errors.Is(err, venue.ErrFullPage) {
		err = upstream.MalformedResponse(name, "open orders", err)
	}
	return all, err
}

// page reads one list of orders.
func (b *Broker) page(ctx context.Context, q url.Values) ([]ticket, error) {
	return fetch(ctx, b, upstream.Request{Path: "/v2/orders", Query: q, Subject: "open orders"}, venue.List("a list of orders", orderAt))
}

// parents returns the groups that were submitted when the order was, or when the first one
// was that it replaces.
func (b *Broker) parents(ctx context.Context, t ticket) ([]ticket, error) {
	for range maxReplacements {
		if t.replaces == "" {
			break
		}
		before, err := b.byVenueID(ctx, t.symbol.Name, t.replaces)
		if err != nil {
			return nil, err
		}
		t = before
	}
	page, err := b.page(ctx, url.Values{
		"status": {"all"}, "limit": {strconv.Itoa(openPage)}, "nested": {"true"}, "symbols": {t.symbol.Name},
		"after": {t.submitted.Add(-parentBefore).Format(time.RFC3339Nano)}, "until": {t.submitted.Add(parentAfter).Format(time.RFC3339Nano)},
	})
	return slices.DeleteFunc(page, func(t ticket) bool { return len(t.legs) == 0 }), err
}
