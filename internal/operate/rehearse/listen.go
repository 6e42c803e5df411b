package rehearse

import (
	"context"
	"fmt"
	"sync"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// maxReports bounds what is kept of a stream.
const maxReports = 1000

// listening is a stream of reports that are kept.
type listening struct {
	ready chan struct{}
	done  chan struct{}
	end   context.CancelFunc

	mu      sync.Mutex
	reports []order.Report
	err     error
}

// listen starts a stream. It ends with ctx, by itself, or by end.
func listen(ctx context.Context, b broker.Broker) *listening {
	ctx, cancel := context.WithCancel(ctx)
	l := &listening{ready: make(chan struct{}), done: make(chan struct{}), end: cancel}
	out, flows := make(chan order.Report), sync.OnceFunc(func() { close(l.ready) })
	go func() {
		err := b.Stream(ctx, flows, out)
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		close(l.done)
	}()
	go l.keep(out)
	return l
}

// keep keeps reports until the stream has ended.
func (l *listening) keep(out <-chan order.Report) {
	for {
		select {
		case report := <-out:
			l.mu.Lock()
			if len(l.reports) < maxReports {
				l.reports = append(l.reports, report)
			}
			l.mu.Unlock()
		case <-l.done:
			return
		}
	}
}

// close ends the stream and waits for that.
func (l *listening) close() {
	if l == nil {
		return
	}
	l.end()
	<-l.done
}

// flowing waits until reports flow.
func (l *listening) flowing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	select {
	case <-l.ready:
		return nil
	case <-l.done:
		return fmt.Errorf("the stream of reports ended before it began: %w", l.why())
	case <-ctx.Done():
		return fmt.Errorf("the stream of reports did not begin: %w", ctx.Err())
	}
}

func (l *listening) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// of returns the reports of an order.
func (l *listening) of(h order.Handle) []order.Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []order.Report
	for _, r := range l.reports {
		if h.Names(r) || h.VenueID != "" && r.VenueID == h.VenueID {
			all = append(all, r)
		}
	}
	return all
}

// trades returns the identifiers of the trades that were reported, each once.
func (l *listening) trades() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]bool)
	for _, r := range l.reports {
		for _, f := range r.Fills {
			all[f.TradeID] = true
		}
	}
	return all
}
