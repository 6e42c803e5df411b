package brokertest

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Listening is a stream whose reports are collected.
type Listening struct {
	Ready   chan struct{} // closed when the stream says so
	Done    chan error    // what the stream returned
	Reports chan order.Report
	cancel  context.CancelFunc
	readied int
}

// Listen starts a stream. It ends with ctx, by itself, or by End.
func Listen(ctx context.Context, b broker.Broker) *Listening { return listen(ctx, b, 1000) }

func listen(ctx context.Context, b broker.Broker, room int) *Listening {
	ctx, cancel := context.WithCancel(ctx)
	l := &Listening{
		Ready: make(chan struct{}), Done: make(chan error, 1), Reports: make(chan order.Report, room), cancel: cancel,
	}
	go func() {
		l.Done <- b.Stream(ctx, func() {
			if l.readied++; l.readied == 1 {
				close(l.Ready)
			}
		}, l.Reports)
	}()
	return l
}

// End stops the stream and returns how it ended.
func (l *Listening) End() error {
	l.cancel()
	return <-l.Done
}

// await waits for the stream to be ready.
func (l *Listening) await(ctx context.Context) error {
	select {
	case <-l.Ready:
		return nil
	case err := <-l.Done:
		return fmt.Errorf("the stream ended before it was ready: %w", orNone(err))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find reads reports until one is about the order and has the status, and returns
// the fills on the way.
func (l *Listening) find(ctx context.Context, o order.Spec, status order.Status) (order.Report, map[string]order.Fill, error) {
	seen := map[string]order.Fill{}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case r := <-l.Reports:
			if r.ID != o.ID {
				continue
			}
			if err := same(r, o); err != nil {
				return r, seen, err
			}
			for _, f := range r.Fills {
				seen[f.TradeID] = f
			}
			if r.Status == status {
				return r, seen, nil
			}
		case err := <-l.Done:
			return order.Report{}, seen, fmt.Errorf("the stream ended: %w", orNone(err))
		case <-ctx.Done():
			return order.Report{}, seen, fmt.Errorf("no report with status %d came: %w", status, ctx.Err())
		}
	}
}

// over holds how a stream ended: with its context's error, ready once, and nothing
// sent afterwards.
func (l *Listening) over() error {
	if err := l.End(); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a stream whose context ended says %w", orNone(err))
	}
	if l.readied != 1 {
		return fmt.Errorf("ready was called %d times", l.readied)
	}
	return nil
}

func streamReports(ctx context.Context, v *Venue) error {
	l := Listen(ctx, v.Broker)
	defer l.cancel()
	if err := l.await(ctx); err != nil {
		return err
	}
	rests, cancels, fills := v.limit(order.Buy), v.limit(order.Buy), v.market(order.Buy)
	for _, o := range []order.Spec{rests, cancels, fills} {
		if _, err := v.submit(ctx, o); err != nil {
			return err
		}
	}
	r, trades, err := l.find(ctx, fills, order.Filled)
	if err != nil {
		return fmt.Errorf("a market order: %w", err)
	}
	sum := decimal.Zero
	for _, f := range trades {
		sum = sum.Add(f.Quantity)
	}
	if !sum.Equal(fills.Quantity) || !r.Filled.Equal(fills.Quantity) {
		return fmt.Errorf("the stream sent fills of %s and %s in all, of %s", sum, r.Filled, fills.Quantity)
	}
	if _, err := v.Broker.Cancel(ctx, cancels.Handle()); err != nil {
		return err
	}
	if _, _, err := l.find(ctx, cancels, order.Canceled); err != nil {
		return fmt.Errorf("a cancelled order: %w", err)
	}
	half := rests.Quantity.Div(decimal.NewFromInt(2))
	for _, status := range []order.Status{order.PartiallyFilled, order.Filled} {
		v.Trade(rests.ID, half)
		if _, _, err := l.find(ctx, rests, status); err != nil {
			return fmt.Errorf("a resting order: %w", err)
		}
	}
	return l.over()
}

func streamEnds(ctx context.Context, v *Venue) error {
	l := Listen(ctx, v.Broker)
	if err := l.await(ctx); err != nil {
		return err
	}
	if err := wait(ctx, 10*time.Minute); err != nil { // a quiet account is no lost one
		return err
	}
	if err := l.over(); err != nil {
		return err
	}
	if _, err := v.submit(ctx, v.limit(order.Buy)); err != nil {
		return err
	}
	synctest.Wait()
	if n := len(l.Reports); n != 0 {
		return fmt.Errorf("%d reports came after the end", n)
	}
	return nil
}

func streamCancelled(ctx context.Context, v *Venue) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	readied := false
	err := v.Broker.Stream(over, func() { readied = true }, make(chan order.Report))
	if !errors.Is(err, context.Canceled) || readied {
		return fmt.Errorf("ready is %v, %w", readied, orNone(err))
	}
	return nil
}

func streamLost(ctx context.Context, v *Venue) error {
	l := Listen(ctx, v.Broker)
	defer l.cancel()
	if err := l.await(ctx); err != nil {
		return err
	}
	v.Drop()
	select {
	case err := <-l.Done:
		if err == nil || errors.Is(err, context.Canceled) {
			return fmt.Errorf("a lost stream says %w", orNone(err))
		}
	case <-time.After(2 * time.Minute):
		return errors.New("a lost stream does not end")
	}
	again := Listen(ctx, v.Broker)
	if err := again.await(ctx); err != nil {
		return fmt.Errorf("after a loss: %w", err)
	}
	return again.over()
}

// streamWaits lets nobody read for a while. What happened meanwhile comes.
func streamWaits(ctx context.Context, v *Venue) error {
	l := listen(ctx, v.Broker, 0)
	defer l.cancel()
	if err := l.await(ctx); err != nil {
		return err
	}
	orders := make([]order.Spec, 5)
	for i := range orders {
		orders[i] = v.limit(order.Buy)
		if _, err := v.submit(ctx, orders[i]); err != nil {
			return err
		}
	}
	if err := wait(ctx, 3*time.Second); err != nil {
		return err
	}
	for _, o := range orders {
		if _, _, err := l.find(ctx, o, order.Accepted); err != nil {
			return err
		}
	}
	return l.over()
}
