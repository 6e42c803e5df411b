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
	"candela/internal/market"
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
	case !o.StopPrice.IsZero():
		return "", fault.Field("stop_price", o.StopPrice.String(), "none: stops are not sent yet")
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
	var r order.Report
	if err == nil {
		r, err = answered(resp.Body, o.Handle())
	}
	if err != nil {
		return order.Report{}, fate(o.Symbol.Name, err)
	}
	return r, nil
}

// answered reads what the venue says of our order.
func answered(body []byte, o order.Handle) (order.Report, error) {
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

// Query asks for an order by our id, or by the venue's.
func (b *Broker) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	ask := upstream.Request{Path: "/v2/orders:by_client_order_id", Query: url.Values{"client_order_id": {o.ID}}, Subject: o.Symbol.Name}
	if o.ID == "" {
		ask.Path, ask.Query = "/v2/orders/"+url.PathEscape(o.VenueID), nil
	}
	resp, err := b.reads.Do(ctx, ask)
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
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
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

// fate says what is known of an order or a cancel that failed.
//
//	nothing left this machine                        not sent
//	401, 429, 451                                    refused: nothing passes that gate
//	4xx with the venue's own words                   refused
//	422 because the id is taken                      unknown: an order of that id is there
//	any other answer, and none, and half of one      unknown
//
// A 4xx in other words than the venue's comes from something between, which may
// have passed the request on before it answered.
func fate(subject string, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case errors.Is(err, upstream.ErrNotSent):
		return fmt.Errorf("%w: %w", broker.ErrNotSent, err)
	case ok && isTaken(e):
		return unknown(subject, "the venue says that it has an order with this id already", err)
	case ok && e.Reason == upstream.Throttled, ok && isRefusal(e):
		return fmt.Errorf("%w: %w", broker.ErrRejected, refusal(subject, err))
	case ok:
		return unknown(subject, strings.TrimPrefix(e.Error(), name+" "+subject+": "), err)
	default:
		return unknown(subject, "there was no time to wait for the answer", err)
	}
}

// unknown is the error of a request that may have been carried out. It is not
// retryable, whatever its cause is: to send an order again may double it.
func unknown(subject, why string, cause error) error {
	return fault.New(fault.Unavailable, "outcome_unknown",
		"%s %s: it is not known whether the venue did this: %s; look at the order before sending another", name, subject, why).
		Because(fmt.Errorf("%w: %w", broker.ErrUnknown, cause))
}

// notSent is the error of a request that failed before it went out.
func notSent(err error) error { return fmt.Errorf("%w: %w", broker.ErrNotSent, err) }

// isRefusal reports whether the venue itself answered that it will not.
func isRefusal(e *upstream.Error) bool {
	if e.Reason != upstream.Refused || e.Status < 400 || e.Status >= 500 || e.Status == http.StatusRequestTimeout {
		return false
	}
	return e.FromVenue || e.Status == http.StatusUnauthorized || e.Status == http.StatusUnavailableForLegalReasons
}

// isTaken reports whether the venue refused an order because of its id.
func isTaken(e *upstream.Error) bool {
	words := strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(e.Message))
	return isRefusal(e) && strings.Contains(words, "clientorderid") && strings.Contains(words, "unique")
}

// isMissing reports whether the venue itself says that there is no such thing. A
// 404 of something between says nothing about an order.
func isMissing(e *upstream.Error) bool { return e.Status == http.StatusNotFound && isRefusal(e) }

// refusal converts an error of a request for the caller.
func refusal(subject string, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || !isRefusal(e) {
		return err
	}
	f := &fault.Error{Kind: fault.Invalid, Code: "venue_refused", Cause: err}
	f.Message = fmt.Sprintf("%s %s: the venue refuses: %s (HTTP %d", name, subject, e.Message, e.Status)
	if e.Code != "" {
		f.Message += ", code " + e.Code
	}
	f.Message += ")"
	words := strings.ToLower(e.Message)
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && e.Code == "":
		f.Kind, f.Code = fault.Unauthorized, "keys_refused"
		f.Message += ": the keys of a paper account are not known to the live host, nor the other way round"
	case e.Status == http.StatusForbidden && strings.Contains(words, "insufficient"):
		f.Kind, f.Code = fault.Conflict, "insufficient_funds"
	case e.Status == http.StatusForbidden:
		f.Kind = fault.Conflict
	case e.Status == http.StatusNotFound:
		f.Kind = fault.NotFound
	case e.Status == http.StatusUnavailableForLegalReasons:
		return err // it has its own words
	}
	return f
}

// Capabilities returns that only market and limit orders are taken so far.
func (b *Broker) Capabilities(context.Context, market.Symbol) (order.Capabilities, error) {
	return order.Capabilities{}, nil
}

// SubmitGroup refuses, because groups are not sent yet.
func (b *Broker) SubmitGroup(context.Context, []order.Spec) ([]order.Report, error) {
	return nil, fmt.Errorf("alpaca: %w: groups of orders are not taken yet", broker.ErrNotSent)
}
