package binance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	rules "candela/internal/market/provider/binance"
	"candela/internal/market/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Submit sends an order once. See broker.Broker.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := checkSpec(o); err != nil {
		return order.Report{}, err
	}
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrNotSent, err)
	}
	params := url.Values{
		"symbol": {spelled}, "newClientOrderId": {o.ID}, "quantity": {o.Quantity.String()}, "newOrderRespType": {"FULL"},
		"side": {wordOf(o.Side)}, "type": {"MARKET"},
	}
	if o.Type == order.Limit {
		params.Set("type", "LIMIT")
		params.Set("timeInForce", "GTC")
		params.Set("price", o.Price.String())
	}
	if wait := time.Until(time.Unix(0, b.full.Load())); wait > 0 {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrNotSent, tooManyOrders(nil, wait))
	}
	r, err := b.change(ctx, http.MethodPost, o, spelled, params)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Code == codeTooManyOrders {
		b.full.Store(time.Now().Add(e.RetryAfter).UnixNano())
	}
	if err == nil && (r.Type != o.Type || !r.Quantity.Equal(o.Quantity) || !r.Price.Equal(o.Price)) {
		err = upstream.MalformedResponse(name, spelled, errors.New("it is not about what was asked for"))
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	}
	return r, err
}

// Cancel asks the venue to cancel an order. The venue says of one that is filled,
// cancelled or unknown that it does not know it; which of them is then read.
func (b *Broker) Cancel(ctx context.Context, o order.Spec) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrNotSent, err)
	}
	r, err := b.change(ctx, http.MethodDelete, o, spelled, url.Values{"symbol": {spelled}, "origClientOrderId": {o.ID}})
	if e, ok := errors.AsType[*upstream.Error](err); !ok || codeOf(err) != codeCancel || e.Message != wordsUnknownOrder {
		return r, err
	}
	r, err = b.Query(ctx, o)
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
func (b *Broker) change(ctx context.Context, method string, o order.Spec, spelled string, params url.Values) (order.Report, error) {
	if err := b.clock.ready(ctx); err != nil {
		return order.Report{}, fmt.Errorf("%w: the venue's clock was not read: %w", broker.ErrNotSent, err)
	}
	resp, err := b.orders.Do(ctx, upstream.Request{
		Method: method, Path: "/api/v3/order", Weight: weightOrder, Subject: spelled, QueryFunc: b.signed(params),
	})
	if err != nil {
		if codeOf(err) == codeTimestamp {
			b.clock.doubt() // it was not done; the next one is signed with a better time
		}
		return order.Report{}, failed(err, o.Symbol, spelled)
	}
	r, err := parseReport(resp.Body, o, spelled)
	if err != nil {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrUnknown, upstream.MalformedResponse(name, spelled, err))
	}
	return r, nil
}

// Query asks for an order by our id.
func (b *Broker) Query(ctx context.Context, o order.Spec) (order.Report, error) {
	spelled, err := rules.Spell(o.Symbol)
	if err != nil {
		return order.Report{}, err
	}
	params := url.Values{"symbol": {spelled}, "origClientOrderId": {o.ID}}
	resp, err := b.read(ctx, b.reads, "/api/v3/order", spelled, weightQuery, params)
	switch codeOf(err) {
	case codeNoOrder:
		return order.Report{}, fmt.Errorf("binance %s: %s: %w", spelled, o.ID, broker.ErrNotFound)
	case codeArchived:
		// Cancelled or expired without a trade more than 90 days ago; which of them, the
		// venue does not say.
		return order.Report{Spec: o, Status: order.Canceled, Reason: "archived by the venue", At: time.Now()}, nil
	}
	if err != nil {
		return order.Report{}, explain(err, o.Symbol, spelled)
	}
	r, err := parseReport(resp.Body, o, spelled)
	if err != nil {
		return order.Report{}, upstream.MalformedResponse(name, spelled, err)
	}
	return r, nil
}
