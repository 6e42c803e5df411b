package binance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	rules "candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

const pathOrder = "/api/v3/order"

// Submit sends an order once. See broker.Broker.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := checkAlone(o); err != nil {
		return order.Report{}, venue.NotSent(err)
	}
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, venue.NotSent(err)
	}
	params := url.Values{
		"symbol": {spelled}, "newClientOrderId": {o.ID}, "quantity": {o.Quantity.String()}, "newOrderRespType": {"FULL"}, "side": {sides().Write(o.Side)},
	}
	t := termsOf(o)
	t.put(params, "")
	return place(ctx, b, pathOrder, o, params, func(body []byte) (order.Report, error) {
		r, err := parseReport(body, o.Handle(), spelled)
		if err == nil && (!t.agrees(r) || !r.Quantity.Equal(o.Quantity)) {
			err = errors.New("it is not about what was asked for")
		}
		return r, err
	})
}

// checkAlone refuses an order that the venue would not be asked, and one whose legs would
// be missing.
func checkAlone(o order.Spec) error {
	if !o.Protect.IsZero() {
		return errors.New("binance: an order with legs is sent together with them")
	}
	return checkSpec(o)
}

// place sends new orders once, unless the account has placed all it may for now.
func place[T any](ctx context.Context, b *Broker, path string, o order.Spec, params url.Values, read func([]byte) (T, error)) (T, error) {
	if wait := time.Until(time.Unix(0, b.full.Load())); wait > 0 {
		return *new(T), venue.NotSent(tooManyOrders(nil, wait))
	}
	v, err := change(ctx, b, http.MethodPost, path, o, params, read)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Code == codeTooManyOrders {
		b.full.Store(time.Now().Add(e.RetryAfter).UnixNano())
	}
	return v, err
}

// change sends what is sent once. Its error has an outcome.
func change[T any](ctx context.Context, b *Broker, method, path string, o order.Spec, params url.Values, read func([]byte) (T, error)) (T, error) {
	r := upstream.Request{Method: method, Path: path, Weight: weightOrder, Subject: params.Get("symbol"), QueryFunc: b.signed(params, func() time.Duration { return venue.Window(ctx, recvWindow) })}
	return venue.Change(ctx, b.account, o, r, read)
}

// Cancel asks the venue to cancel an order, and with it the list that it is in. The venue
// says of one that is filled, cancelled or unknown that it does not know it; which of them
// is then read.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, venue.NotSent(err)
	}
	r, err := change(ctx, b, http.MethodDelete, pathOrder, o.Spec, naming(o, spelled), func(body []byte) (order.Report, error) { return parseCanceled(body, o, spelled) })
	if e, ok := errors.AsType[*upstream.Error](err); !ok || venue.CodeOf(err) != codeCancel || e.Message != wordsUnknownOrder {
		return r, err
	}
	r, err = b.Query(ctx, o)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return r, err
	case err != nil:
		return r, fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	case r.Status.Final():
		return r, nil
	}
	return order.Report{}, fmt.Errorf("binance %s: %w: the venue does not know the order, and lists it", spelled, broker.ErrUnknown)
}

// naming returns the parameters that name an order.
func naming(o order.Handle, spelled string) url.Values {
	if o.ID == "" {
		return url.Values{"symbol": {spelled}, "orderId": {o.VenueID}}
	}
	return url.Values{"symbol": {spelled}, "origClientOrderId": {o.ID}}
}

// Query asks for an order by our id, or by the venue's.
func (b *Broker) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, err
	}
	r, err := ask(ctx, b, b.reads, o.Symbol, pathOrder, weightQuery, naming(o, spelled), func(body []byte) (order.Report, error) { return parseReport(body, o, spelled) })
	switch venue.CodeOf(err) {
	case codeNoOrder:
		return r, fmt.Errorf("binance %s: %s: %w", spelled, o, broker.ErrNotFound)
	case codeArchived:
		// Cancelled or expired without a trade over 90 days ago, the one or the other.
		return order.Report{Spec: o.Spec, VenueID: o.VenueID, Status: order.Canceled, Reason: "archived by the venue", At: time.Now()}, nil
	}
	return r, err
}
