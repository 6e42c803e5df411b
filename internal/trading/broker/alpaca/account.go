package alpaca

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"candela/internal/market"
	"candela/internal/market/upstream"
	"candela/internal/trading/order"
)

// fillPage is the most activities of one answer.
const fillPage = 100

// Fills lists the account's trades in a symbol after the one with trade id after.
// The venue's history cannot be asked from an execution on, so it is read backwards
// until the execution shows.
//
// Executions of one millisecond are listed in the order of their ids, which is
// chance: one that is new may stand before one that is known. So those of the
// cursor's millisecond come again unless they are known to be older, being of the
// same order with less filled.
func (b *Broker) Fills(ctx context.Context, s market.Symbol, after string) ([]order.Fill, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found, err := b.since(ctx, s, after)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(x, y activity) int {
		return cmp.Or(x.at.Compare(y.at), strings.Compare(x.orderID, y.orderID), x.sofar.Cmp(y.sofar))
	})
	fills := make([]order.Fill, 0, len(found))
	for _, a := range found {
		f, err := a.fill(s)
		if err != nil {
			return nil, upstream.MalformedResponse(name, s.Name, err)
		}
		fills = append(fills, f)
	}
	return fills, nil
}

// since returns the trades of a symbol that may be newer than the one named.
func (b *Broker) since(ctx context.Context, s market.Symbol, after string) ([]activity, error) {
	var found []activity
	var cursor *activity
	q := url.Values{"direction": {"desc"}, "page_size": {strconv.Itoa(fillPage)}}
	for {
		resp, err := b.reads.Do(ctx, upstream.Request{Path: "/v2/account/activities/FILL", Query: q, Subject: s.Name})
		if err != nil {
			return nil, refusal(s.Name, err)
		}
		page, err := readActivities(resp.Body)
		if err != nil {
			return nil, upstream.MalformedResponse(name, s.Name, err)
		}
		for _, a := range page {
			switch {
			case cursor != nil && a.stamp() != cursor.stamp():
				return oldest(found, cursor), nil
			case joinPair(a.symbol) != joinPair(s.Name):
			case after != "" && a.tradeID() == after:
				cursor = &a
			default:
				found = append(found, a)
			}
		}
		if len(page) < fillPage {
			return oldest(found, cursor), nil
		}
		q.Set("page_token", page[len(page)-1].id)
	}
}

// oldest turns what was read backwards around, without what is known to come
// before the cursor.
func oldest(found []activity, cursor *activity) []activity {
	slices.Reverse(found)
	if cursor == nil {
		return found
	}
	return slices.DeleteFunc(found, func(a activity) bool {
		return a.stamp() == cursor.stamp() && a.orderID == cursor.orderID && a.sofar.LessThan(cursor.sofar)
	})
}

// Holdings lists the positions and the money of the account.
func (b *Broker) Holdings(ctx context.Context) ([]order.Holding, error) {
	resp, err := b.reads.Do(ctx, upstream.Request{Path: "/v2/positions", Subject: "positions"})
	if err != nil {
		return nil, refusal("positions", err)
	}
	all, err := readPositions(resp.Body)
	if err != nil {
		return nil, upstream.MalformedResponse(name, "positions", err)
	}
	if resp, err = b.reads.Do(ctx, upstream.Request{Path: "/v2/account", Subject: "account"}); err != nil {
		return nil, refusal("account", err)
	}
	cash, err := readCash(resp.Body)
	if err != nil {
		return nil, upstream.MalformedResponse(name, "account", err)
	}
	slices.SortFunc(all, func(x, y order.Holding) int { return strings.Compare(x.Symbol.Name, y.Symbol.Name) })
	return append(all, cash), nil
}
