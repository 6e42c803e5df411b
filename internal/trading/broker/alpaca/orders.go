package alpaca

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

// Submit sends an order once.
func (b *Broker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if err := checkSpec(o, false); err != nil {
		return order.Report{}, venue.NotSent(err)
	}
	return post(ctx, b, o, termsOf(o, false), func(body []byte) (order.Report, error) { return submitted(body, o) })
}

// post sends an order, alone or with its legs, once.
func post[T any](ctx context.Context, b *Broker, o order.Spec, terms ask, read func([]byte) (T, error)) (T, error) {
	body, err := json.Marshal(terms)
	if err != nil {
		return *new(T), venue.NotSent(err)
	}
	r := upstream.Request{Method: http.MethodPost, Path: "/v2/orders", Body: string(body), Header: http.Header{"Content-Type": {"application/json"}}, Subject: o.Symbol.Name}
	return venue.Change(ctx, b.account, o, r, read)
}

// submitted reads the answer to an order.
func submitted(body []byte, o order.Spec) (order.Report, error) {
	t, err := readTicket(body)
	if err == nil {
		err = t.check(o.Handle())
	}
	if err == nil && o.IsStop() {
		err = t.agrees(o)
	}
	r := t.report()
	r.Owner, r.SentAs = o.Owner, sentAs(o, false)
	return r, err
}

// Query asks for an order by our id, or by the venue's. A leg whose id the venue made up is
// read through the order that it was sent with.
func (b *Broker) Query(ctx context.Context, o order.Handle) (order.Report, error) {
	if isLeg(o) {
		return b.queryLeg(ctx, o)
	}
	t, err := b.find(ctx, o)
	if err != nil {
		return order.Report{}, err
	}
	return owned(t.report(), o, t.check(o))
}

// find reads an order by our id, or by the venue's.
func (b *Broker) find(ctx context.Context, o order.Handle) (ticket, error) {
	if o.ID == "" {
		return b.byVenueID(ctx, o.Symbol.Name, o.VenueID)
	}
	return b.look(ctx, upstream.Request{
		Path: "/v2/orders:by_client_order_id", Query: url.Values{"client_order_id": {o.ID}, "nested": {"true"}}, Subject: o.Symbol.Name,
	})
}

// byVenueID reads an order and its legs.
func (b *Broker) byVenueID(ctx context.Context, subject, id string) (ticket, error) {
	return b.look(ctx, upstream.Request{Path: "/v2/orders/" + url.PathEscape(id), Query: url.Values{"nested": {"true"}}, Subject: subject})
}

// look reads one order.
func (b *Broker) look(ctx context.Context, ask upstream.Request) (ticket, error) {
	t, err := fetch(ctx, b, ask, readTicket)
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", broker.ErrNotFound, err)
	}
	return t, err
}

// owned completes the report of our order, unless the answer was about another one.
func owned(r order.Report, o order.Handle, wrong error) (order.Report, error) {
	if wrong != nil {
		return order.Report{}, upstream.MalformedResponse(name, o.Symbol.Name, wrong)
	}
	r.Owner = o.Owner
	if o.ID != "" && o.Group.Name != "" {
		r.Group = o.Group
	}
	return r, nil
}

// Cancel asks the venue to cancel. It looks for the order first, because the venue
// cancels by its own id alone; a look that fails has cancelled nothing.
func (b *Broker) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	r, err := b.Query(ctx, o)
	switch {
	case errors.Is(err, broker.ErrNotFound):
		return order.Report{}, err
	case err != nil:
		return order.Report{}, venue.NotSent(err)
	case r.Status.Final():
		return r, nil
	}
	// The venue has taken note, and no more: a fill may still come first.
	r.Status = order.PendingCancel
	ask := upstream.Request{Method: http.MethodDelete, Path: "/v2/orders/" + r.VenueID, Subject: o.Symbol.Name}
	r, err = venue.Change(ctx, b.account, o.Spec, ask, func([]byte) (order.Report, error) { return r, nil })
	if e, ok := errors.AsType[*upstream.Error](err); ok && isRefusal(e) {
		if again, failed := b.Query(ctx, o); failed == nil && again.Status.Final() {
			return again, nil // it ended in between, and that is why
		}
	}
	return r, err
}
