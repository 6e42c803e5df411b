package alpaca

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

const (
	maxIDBytes = 48  // of the id that we give an order
	openPage   = 500 // the most orders of one answer
)

// ask is an order as it is sent.
type ask struct {
	ClientOrderID string `json:"client_order_id"`
	Symbol        string `json:"symbol"`
	Quantity      string `json:"qty"`
	Side          string `json:"side"`
	Type          string `json:"type"`
	TimeInForce   string `json:"time_in_force"`
	LimitPrice    string `json:"limit_price,omitempty"`
}

// compose writes an order down, or says what is wrong with it. Whether the venue
// takes the quantity and the price is for the venue to say.
func compose(o order.Spec) (string, error) {
	switch {
	case o.ID == "" || len(o.ID) > maxIDBytes:
		return "", fault.Field("order id", o.ID, fmt.Sprintf("1 to %d characters", maxIDBytes))
	case o.Symbol.Venue != name || o.Symbol.Name == "":
		return "", fault.Field("symbol", o.Symbol.String(), "a symbol of "+name)
	case o.Side.String() == "" || o.Type.String() == "":
		return "", fault.Field("order", o.Side.String()+" "+o.Type.String(), "buy or sell, market or limit")
	case !o.Quantity.IsPositive():
		return "", fault.Field("quantity", o.Quantity.String(), "above 0")
	case o.Type == order.Limit && !o.Price.IsPositive():
		return "", fault.Field("price", o.Price.String(), "above 0")
	}
	a := ask{
		ClientOrderID: o.ID, Symbol: o.Symbol.Name, Quantity: o.Quantity.String(), Side: o.Side.String(), Type: o.Type.String(), TimeInForce: "day",
	}
	if strings.Contains(o.Symbol.Name, "/") {
		a.TimeInForce = "gtc"
	}
	if o.Type == order.Limit {
		a.LimitPrice = o.Price.String()
	}
	data, err := json.Marshal(a)
	return string(data), err
}

// Submit sends an order once.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	body, err := compose(o)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	resp, err := b.orders.Do(ctx, upstream.Request{
		Method: http.MethodPost, Path: "/v2/orders", Body: body, Header: http.Header{"Content-Type": {"application/json"}}, Subject: o.Symbol.Name,
	})
	if err != nil {
		return order.Report{}, fate(o.Symbol.Name, err)
	}
	r, err := answered(resp.Body, o)
	if err != nil {
		return order.Report{}, fate(o.Symbol.Name, err)
	}
	return r, nil
}

// answered reads what the venue says of our order.
func answered(body []byte, o order.Spec) (order.Report, error) {
	t, err := readTicket(body)
	if err == nil {
		err = t.check(o)
	}
	if err != nil {
		return order.Report{}, upstream.MalformedResponse(name, o.Symbol.Name, err)
	}
	r := t.report()
	r.Owner = o.Owner
	return r, nil
}

// Query asks for an order by our id.
func (b *Broker) Query(ctx context.Context, o order.Spec) (order.Report, error) {
	resp, err := b.reads.Do(ctx, upstream.Request{
		Path: "/v2/orders:by_client_order_id", Query: url.Values{"client_order_id": {o.ID}}, Subject: o.Symbol.Name,
	})
	if e, ok := errors.AsType[*upstream.Error](err); ok && isMissing(e) {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrNotFound, refusal(o.Symbol.Name, err))
	}
	if err != nil {
		return order.Report{}, refusal(o.Symbol.Name, err)
	}
	return answered(resp.Body, o)
}

// Cancel asks the venue to cancel. It looks for the order first, because the venue
// cancels by its own id alone; a look that fails has cancelled nothing.
func (b *Broker) Cancel(ctx context.Context, o order.Spec) (order.Report, error) {
	r, err := b.Query(ctx, o)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return order.Report{}, err
	case err != nil:
		return order.Report{}, notSent(err)
	case r.Status.Final():
		return r, nil
	}
	_, err = b.orders.Do(ctx, upstream.Request{Method: http.MethodDelete, Path: "/v2/orders/" + r.VenueID, Subject: o.Symbol.Name})
	if err == nil {
		// The venue has taken note, and no more: a fill may still come first.
		r.Status = order.PendingCancel
		return r, nil
	}
	if e, ok := errors.AsType[*upstream.Error](err); ok && isRefusal(e) {
		if again, failed := b.Query(ctx, o); failed == nil && again.Status.Final() {
			return again, nil // it ended in between, and that is why
		}
	}
	return order.Report{}, fate(o.Symbol.Name, err)
}

// Open lists the open orders of the account.
func (b *Broker) Open(ctx context.Context) ([]order.Report, error) {
	var all []order.Report
	seen := make(map[string]bool)
	q := url.Values{"status": {"open"}, "limit": {strconv.Itoa(openPage)}, "direction": {"asc"}}
	for {
		resp, err := b.reads.Do(ctx, upstream.Request{Path: "/v2/orders", Query: q, Subject: "open orders"})
		if err != nil {
			return nil, refusal("open orders", err)
		}
		page, err := readTickets(resp.Body)
		if err != nil {
			return nil, upstream.MalformedResponse(name, "open orders", err)
		}
		before := len(all)
		for _, t := range page {
			if !seen[t.id] {
				seen[t.id] = true
				all = append(all, t.report())
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
