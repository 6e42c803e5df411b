package paper

import (
	"context"
	"errors"

	"candela/internal/trading/order"
)

// queueRoom is how many reports may wait for a stream's reader. One that is
// slower is lost, as with any venue, and reads what it missed.
const queueRoom = 1024

var errBehind = errors.New("paper: the stream was lost: its reader is too slow")

// queue holds what a stream has not sent yet. The broker's lock guards it.
type queue struct {
	reports []order.Report
	lost    error
	wake    chan struct{} // has room for one
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it will look
	}
}

// publish sends a report to the streams. The caller holds the lock.
func (b *Broker) publish(r order.Report) {
	for q := range b.streams {
		if len(q.reports) == queueRoom {
			q.reports, q.lost = nil, errBehind
		}
		if q.lost == nil {
			q.reports = append(q.reports, r)
		}
		q.signal()
	}
}

// Stream sends what happens to the orders from now on.
func (b *Broker) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := &queue{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	b.streams[q] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.streams, q)
		b.mu.Unlock()
	}()
	ready()
	for {
		batch, lost := b.drain(q)
		for _, r := range batch {
			select {
			case out <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if lost != nil {
			return lost
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Broker) drain(q *queue) ([]order.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := q.reports
	q.reports = nil
	return batch, q.lost
}
