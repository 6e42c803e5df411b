package desk

import (
	"context"
	"time"

	"candela/internal/kit/id"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/trading/order"
)

const (
	minListen = time.Second      // between attempts to listen
	maxListen = 30 * time.Second //
	goodLife  = time.Minute      // a stream that lived so long resets the wait
)

// listen keeps the venue's stream of reports open until ctx ends. When reports
// flow, what happened before is read by a comparison.
func (w *writer) listen(ctx context.Context) {
	fails := 0
	for ctx.Err() == nil {
		began := w.cfg.Now()
		err := w.cfg.Broker.Stream(ctx, func() { w.tell(ctx, true) }, w.reports)
		if ctx.Err() != nil {
			return
		}
		w.tell(ctx, false)
		if w.cfg.Now().Sub(began) >= goodLife {
			fails = 0
		}
		fails++
		pause := retry.Backoff{First: minListen, Max: maxListen}.Delay(fails, w.cfg.Rand)
		w.cfg.Log.WarnContext(ctx, "the venue's reports were lost", "error", err, "retry_in", pause)
		_ = retry.Sleep(ctx, pause) // the loop ends with ctx
	}
}

// tell has the writer know whether reports flow.
func (w *writer) tell(ctx context.Context, flows bool) {
	select {
	case w.results <- func() {
		w.census.flows = flows
		if flows {
			w.census.soon, w.census.fails = true, 0 // the venue is there
		}
		w.publish()
	}:
	case <-ctx.Done():
	}
}

// heard takes a report that the venue gave, on its stream or in a list.
func (w *writer) heard(r order.Report) {
	o, ok := w.reported(r.ID, r.Symbol, r.VenueID)
	if !ok {
		if o, ok = w.adoptOrder(r); !ok {
			return
		}
	}
	if o.External && !r.Quantity.Equal(o.Quantity) {
		return // it was made up from trades, which tell all there is to know
	}
	w.keep(o, w.told(o, r))
	w.settle(o.ID)
	if w.behind(o.ID) {
		w.census.soon = true
	}
}

// reported finds the order that a report or a trade is about.
func (w *writer) reported(id string, s market.Symbol, venueID string) (order.Order, bool) {
	if id != "" {
		if o, ok := w.book.Order(id); ok {
			return o, true
		}
	}
	return w.book.ByVenueID(w.cfg.Broker.Name(), s, venueID)
}

// adoptOrder makes an order of one that was placed elsewhere. What is over and
// traded nothing is of no interest.
func (w *writer) adoptOrder(r order.Report) (order.Order, bool) {
	if r.VenueID == "" || !r.Quantity.IsPositive() || r.Status.Final() && r.Filled.IsZero() && len(r.Fills) == 0 {
		return order.Order{}, false
	}
	now := w.now()
	g := order.Origin{Spec: order.Spec{ID: id.New(w.cfg.Now()), Owner: w.cfg.Owner}, Broker: w.cfg.Broker.Name(), Mode: w.cfg.Broker.Mode()}
	if err := w.commit(w.service(), order.NewExternal(g, r, now)); err != nil {
		w.cfg.Log.ErrorContext(w.hard, "an order that was placed elsewhere is not persisted", "venue_id", r.VenueID, "error", err)
		return order.Order{}, false
	}
	w.cfg.Log.InfoContext(w.hard, "an order was placed elsewhere", "order", g.ID, "venue_id", r.VenueID, "symbol", r.Symbol.String())
	return w.book.Order(g.ID)
}
