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
	"candela/internal/kit/sendby"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

const pathOrder = "/api/v3/order"

// Submit sends an order once. See broker.Broker.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := checkAlone(o); err != nil {
		return order.Report{}, notSent(err)
	}
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	params := url.Values{
		"symbol": {spelled}, "newClientOrderId": {o.ID}, "quantity": {o.Quantity.String()}, "newOrderRespType": {"FULL"}, "side": {sideWord(o.Side)},
	}
	t := termsOf(o)
	t.put(params, "")
	resp, err := b.place(ctx, pathOrder, o, spelled, params)
	if err != nil {
		return order.Report{}, err
	}
	r, err := parseReport(resp.Body, o.Handle(), spelled)
	if err == nil && (!t.agrees(r) || !r.Quantity.Equal(o.Quantity)) {
		err = errors.New("it is not about what was asked for")
	}
	if err != nil {
		return order.Report{}, unreadable(spelled, err)
	}
	return r, nil
}

// checkAlone refuses an order that the venue would not be asked, and one whose legs would
// be missing.
func checkAlone(o order.Spec) error {
	if !o.Protect.IsZero() {
		return errors.New("binance: an order with legs is sent together with them")
	}
	return checkSpec(o)
}

// place sends new orders, unless the account has placed all it may for now.
func (b *Broker) place(ctx context.Context, path string, o order.Spec, spelled string, params url.Values) (*upstream.Response, error) {
	if wait := time.Until(time.Unix(0, b.full.Load())); wait > 0 {
		return nil, notSent(tooManyOrders(nil, wait))
	}
	resp, err := b.change(ctx, http.MethodPost, path, o, spelled, params)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Code == codeTooManyOrders {
		b.full.Store(time.Now().Add(e.RetryAfter).UnixNano())
	}
	return resp, err
}

// Cancel asks the venue to cancel an order, and with it the list that it is in. The venue
// says of one that is filled, cancelled or unknown that it does not know it; which of them
// is then read.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, notSent(err)
	}
	resp, err := b.change(ctx, http.MethodDelete, pathOrder, o.Spec, spelled, naming(o, spelled))
	if err == nil {
		r, err := parseCanceled(resp.Body, o, spelled)
		if err != nil {
			return order.Report{}, unreadable(spelled, err)
		}
		return r, nil
	}
	if e, ok := errors.AsType[*upstream.Error](err); !ok || codeOf(err) != codeCancel || e.Message != wordsUnknownOrder {
		return order.Report{}, err
	}
	r, err := b.Query(ctx, o)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return r, err
	case err != nil:
		return r, fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	case r.Status == order.Filled || r.Status == order.Canceled || r.Status == order.Expired || r.Status == order.Rejected:
		return r, nil
	}
	return order.Report{}, fmt.Errorf("binance %s: %w: the venue does not know the order, and lists it", spelled, broker.ErrUnknown)
}

// change sends what is sent once. Its error has a fate.
func (b *Broker) change(ctx context.Context, method, path string, o order.Spec, spelled string, params url.Values) (*upstream.Response, error) {
	if err := b.clock.ready(ctx); err != nil {
		return nil, fmt.Errorf("%w: the venue's clock was not read: %w", broker.ErrNotSent, err)
	}
	resp, err := b.orders.Do(ctx, upstream.Request{Method: method, Path: path, Weight: weightOrder, Subject: spelled, QueryFunc: b.signed(params, windowOf(ctx))})
	if err != nil {
		if codeOf(err) == codeTimestamp {
			b.clock.doubt() // it was not done; the next one is signed with a better time
			if _, limited := sendby.Left(ctx); limited {
				return nil, fmt.Errorf("%w: %w: %w", broker.ErrNotSent, sendby.ErrLate, explain(err, o, spelled))
			}
		}
		return nil, failed(err, o, spelled)
	}
	return resp, nil
}

// notSent is the error of a request that failed before it went out.
func notSent(err error) error { return fmt.Errorf("%w: %w", broker.ErrNotSent, err) }

// unreadable is the error of an answer to a change that does not say what became of it.
func unreadable(spelled string, err error) error {
	return fmt.Errorf("%w: %w", broker.ErrUnknown, upstream.MalformedResponse(name, spelled, err))
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
	resp, err := b.read(ctx, b.reads, pathOrder, spelled, weightQuery, naming(o, spelled))
	switch codeOf(err) {
	case codeNoOrder:
		return order.Report{}, fmt.Errorf("binance %s: %s: %w", spelled, o, broker.ErrNotFound)
	case codeArchived:
		// Cancelled or expired without a trade over 90 days ago, the one or the other.
		return order.Report{Spec: o.Spec, VenueID: o.VenueID, Status: order.Canceled, Reason: "archived by the venue", At: time.Now()}, nil
	}
	if err != nil {
		err = explain(err, o.Spec, spelled)
	}
	return parsed(resp, err, spelled, func(body []byte) (order.Report, error) { return parseReport(body, o, spelled) })
}
