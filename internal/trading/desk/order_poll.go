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
	minPollInterval = 500 * time.Millisecond // until an order is first asked for
	maxPollInterval = 30 * time.Second       // between questions, at most
	// notFoundGrace is how long after an order was sent, and after it was first not found,
	// the venue's word that it does not know it counts: requests may be on their way.
	notFoundGrace = time.Minute
	// maxCancelRetries is how often a cancel is sent for an order that stays open. To
	// cancel twice does no harm.
	maxCancelRetries = 3
)

// orderPoll is the pursuit of what became of an order.
type orderPoll struct {
	next    time.Time
	polls   int       // queries sent, and the delay before the first
	busy    bool      // a question is on its way
	missing time.Time // since when the venue does not know it; zero when it does
	cancels int       // sent again
}

// trackOrder begins to chase an order of which the venue must be asked, and ends it when
// it need not.
func (l *loop) trackOrder(o order.Order) {
	if !o.NeedsQuery() {
		delete(l.polls, o.ID)
		return
	}
	if l.polls[o.ID] == nil {
		l.polls[o.ID] = &orderPoll{next: l.now().Add(minPollInterval), polls: 1}
	}
}

// forcePoll asks for an order at the next occasion, whatever its state.
func (l *loop) forcePoll(o order.Order) {
	l.trackOrder(o)
	if l.polls[o.ID] == nil {
		l.polls[o.ID] = &orderPoll{next: l.now().Add(minPollInterval), polls: 1}
	}
}

// pollOrders asks for the orders whose time has come.
func (l *loop) pollOrders(now time.Time) {
	for id, c := range l.polls {
		o, ok := l.book.Order(id)
		switch {
		case !ok:
			delete(l.polls, id)
		case c.busy || l.inFlight[id] || o.External || now.Before(c.next):
			// External orders are not ours to ask for; comparing finds their end.
		default:
			l.queryOrder(o, c)
		}
	}
}

// queryOrder asks the venue for an order by our id.
func (l *loop) queryOrder(o order.Order, c *orderPoll) {
	c.busy = true
	l.reads.add(func(ctx context.Context) func() {
		r, err := l.cfg.Broker.Query(ctx, o.Spec)
		return func() {
			c.busy = false
			l.applyQuery(o, r, err)
		}
	})
}

// applyQuery takes the venue's answer to a question about an order, which was as given
// when the question was asked.
func (l *loop) applyQuery(before order.Order, r order.Report, err error) {
	id := before.ID
	o, ok := l.book.Order(id)
	if !ok || l.inFlight[id] {
		return
	}
	c := l.polls[id]
	switch {
	case err == nil:
		if o.Doubt == before.Doubt && o.Doubted.Equal(before.Doubted) {
			l.commitReport(o, l.stampEvents(order.FromAnswer(o, r)))
		} else {
			l.commitReport(o, l.reportEvents(o, r)) // a doubt came in between
		}
		l.retryCancel(id, r)
		if l.missingFills(id) {
			l.reconciliation.requested = true
		}
	case errors.Is(err, broker.ErrNotFound):
		l.handleNotFound(o, c)
	default:
		l.cfg.Log.WarnContext(l.drainCtx, "order asked for in vain", "order", id, "error", err)
	}
	if c := l.polls[id]; c != nil {
		c.polls++
		c.next = l.now().Add(retry.Backoff{First: minPollInterval, Max: maxPollInterval}.Delay(c.polls, l.cfg.Rand))
		if err == nil {
			c.missing = time.Time{}
			if o, _ := l.book.Order(id); !o.NeedsQuery() {
				delete(l.polls, id)
			}
		}
	}
}

// retryCancel handles an order that is open at the venue though a cancel was sent: it is
// sent again, and after a few times it has failed.
func (l *loop) retryCancel(id string, r order.Report) {
	o, ok := l.book.Order(id)
	if !ok || o.CancelRequested.IsZero() || o.Status.Final() || r.Status != order.Accepted && r.Status != order.PartiallyFilled {
		return
	}
	c := l.polls[id]
	if c == nil || c.cancels < maxCancelRetries {
		if c != nil {
			c.cancels++
		}
		l.queueCancel(o)
		return
	}
	l.commitReport(o, l.event(o, order.KindCancelFailed, "the venue keeps it open"))
}

// handleNotFound counts the venue's word that it does not know an order once it had time
// to learn of it, and twice.
func (l *loop) handleNotFound(o order.Order, p *orderPoll) {
	now := l.now()
	if p == nil {
		return
	}
	if p.missing.IsZero() {
		p.missing = now
		return
	}
	// Updated, not Created: it may have waited to be sent, and been lost just now.
	if now.Sub(o.Updated) < notFoundGrace || now.Sub(p.missing) < minPollInterval {
		return
	}
	l.commitReport(o, l.event(o, order.KindGone, "the venue does not know it"))
}

// missingFills reports whether fills of an order are missing.
func (l *loop) missingFills(id string) bool {
	o, ok := l.book.Order(id)
	return ok && o.MissingFills()
}
