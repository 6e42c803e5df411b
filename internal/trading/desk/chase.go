package desk

import (
	"context"
	"errors"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

const (
	firstAsk = 500 * time.Millisecond // until an order is first asked for
	lastAsk  = 30 * time.Second       // between questions, at most
	// grace is how long after an order was sent, and after it was first not found,
	// the venue's word that it does not know it counts: requests may be on their way.
	grace = time.Minute
	// maxCancels is how often a cancel is sent for an order that stays open. To
	// cancel twice does no harm.
	maxCancels = 3
)

// chase is the pursuit of what became of an order.
type chase struct {
	next    time.Time
	polls   int       // queries sent, and the delay before the first
	busy    bool      // a question is on its way
	missing time.Time // since when the venue does not know it; zero when it does
	cancels int       // sent again
}

// watch begins to chase an order of which the venue must be asked, and ends it when
// it need not.
func (w *writer) watch(o order.Order) {
	if !o.NeedsQuery() {
		delete(w.chases, o.ID)
		return
	}
	if w.chases[o.ID] == nil {
		w.chases[o.ID] = &chase{next: w.now().Add(firstAsk), polls: 1}
	}
}

// watchAnyway asks for an order at the next occasion, whatever its state.
func (w *writer) watchAnyway(o order.Order) {
	w.watch(o)
	if w.chases[o.ID] == nil {
		w.chases[o.ID] = &chase{next: w.now().Add(firstAsk), polls: 1}
	}
}

// chase asks for the orders whose time has come.
func (w *writer) chase(now time.Time) {
	for id, c := range w.chases {
		o, ok := w.book.Order(id)
		switch {
		case !ok:
			delete(w.chases, id)
		case c.busy || w.flights[id] || o.External || now.Before(c.next):
			// External orders are not ours to ask for; comparing finds their end.
		default:
			w.ask(o, c)
		}
	}
}

// ask asks the venue for an order by our id.
func (w *writer) ask(o order.Order, c *chase) {
	c.busy = true
	w.reads.add(func(ctx context.Context) func() {
		r, err := w.cfg.Broker.Query(ctx, o.Spec)
		return func() {
			c.busy = false
			w.found(o, r, err)
		}
	})
}

// found takes the venue's answer to a question about an order, which was as given
// when the question was asked.
func (w *writer) found(asked order.Order, r order.Report, err error) {
	id := asked.ID
	o, ok := w.book.Order(id)
	if !ok || w.flights[id] {
		return
	}
	c := w.chases[id]
	switch {
	case err == nil:
		if o.Doubt == asked.Doubt && o.Doubted.Equal(asked.Doubted) {
			w.keep(o, w.dated(order.FromAnswer(o, r)))
		} else {
			w.keep(o, w.told(o, r)) // a doubt came in between
		}
		w.open(id, r)
		if w.behind(id) {
			w.census.soon = true
		}
	case errors.Is(err, broker.ErrNotFound):
		w.notFound(o, c)
	default:
		w.cfg.Log.WarnContext(w.hard, "order asked for in vain", "order", id, "error", err)
	}
	if c := w.chases[id]; c != nil {
		c.polls++
		c.next = w.now().Add(retry.Backoff{First: firstAsk, Max: lastAsk}.Delay(c.polls, w.cfg.Rand))
		if err == nil {
			c.missing = time.Time{}
			if o, _ := w.book.Order(id); !o.NeedsQuery() {
				delete(w.chases, id)
			}
		}
	}
}

// open handles an order that is open at the venue though a cancel was sent: it is
// sent again, and after a few times it has failed.
func (w *writer) open(id string, r order.Report) {
	o, ok := w.book.Order(id)
	if !ok || o.CancelRequested.IsZero() || o.Status.Final() || r.Status != order.Accepted && r.Status != order.PartiallyFilled {
		return
	}
	c := w.chases[id]
	if c == nil || c.cancels < maxCancels {
		if c != nil {
			c.cancels++
		}
		w.sendCancel(o)
		return
	}
	w.keep(o, w.event(o, order.KindCancelFailed, "the venue keeps it open"))
}

// notFound counts the venue's word that it does not know an order once it had time
// to learn of it, and twice.
func (w *writer) notFound(o order.Order, c *chase) {
	now := w.now()
	if c == nil {
		return
	}
	if c.missing.IsZero() {
		c.missing = now
		return
	}
	// Updated, not Created: it may have waited to be sent, and been lost just now.
	if now.Sub(o.Updated) < grace || now.Sub(c.missing) < firstAsk {
		return
	}
	w.keep(o, w.event(o, order.KindGone, "the venue does not know it"))
}

// behind reports whether fills of an order are missing.
func (w *writer) behind(id string) bool {
	o, ok := w.book.Order(id)
	return ok && o.MissingFills()
}
