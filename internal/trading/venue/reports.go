package venue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Reports is how a venue reports what happens to an account's orders: over a connection on which it first
// wants to know who we are.
type Reports struct {
	Hosts  *upstream.Hosts
	Socket upstream.SocketConfig
	// Steps are said in turn. Reports flow when the venue has confirmed the last one; what it sends before is
	// not looked at, because whatever happened before is read.
	Steps  []Step
	Answer time.Duration // how long a confirmation may take
	Age    time.Duration // after which a connection ends by itself; 0 for never
	Ping   time.Duration // how often the venue is asked whether it is there; 0 for never
	// Handle reads one message and delivers its reports.
	Handle func(ctx context.Context, message []byte, deliver Deliver) error
}

// Step is one request at the beginning of a connection.
type Step struct {
	What    string        // is awaited, for errors
	Request func() []byte // made when it is sent, as its time may be signed
	// Confirms reports whether a message is the venue's confirmation. An error is its refusal.
	Confirms func(message []byte) (bool, error)
}

// Deliver sends a report and blocks until it is taken.
type Deliver func(context.Context, order.Report) error

// Run connects once and delivers to out until ctx ends or the connection is lost, and returns why. ready is
// called once when reports flow.
func (r Reports) Run(ctx context.Context, ready func(), out chan<- order.Report) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s stream: %w", r.Socket.Venue, err)
	}
	aged, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if r.Age > 0 {
		old := fault.Unreachable(nil, 0, "%s: the stream has run for %v and starts again", r.Socket.Venue, r.Age)
		defer time.AfterFunc(r.Age, func() { stop(old) }).Stop()
	}
	err := r.connect(aged, ready, out)
	if ctx.Err() == nil && aged.Err() != nil {
		return context.Cause(aged)
	}
	return err
}

func (r Reports) connect(ctx context.Context, ready func(), out chan<- order.Report) error {
	socket, err := r.Hosts.Dial(ctx, r.Socket)
	if err != nil {
		return err
	}
	defer socket.Close()
	for _, s := range r.Steps {
		if err := socket.Send(ctx, s.Request()); err != nil {
			return err
		}
		if err := r.await(ctx, socket, s); err != nil {
			return err
		}
	}
	ready()
	var busy sync.Mutex // held while a message is handled: its reports may wait for their reader
	deliver := func(ctx context.Context, report order.Report) error {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s stream: %w", r.Socket.Venue, ctx.Err())
		case out <- report:
			return nil
		}
	}
	return socket.Serve(ctx, func(ctx context.Context, message []byte) error {
		busy.Lock()
		defer busy.Unlock()
		return r.Handle(ctx, message, deliver)
	}, func(ctx context.Context) error { return r.tend(ctx, socket, &busy) })
}

// await reads until the venue confirms a step.
func (r Reports) await(ctx context.Context, socket *upstream.Socket, s Step) error {
	wait, cancel := context.WithTimeout(ctx, r.Answer)
	defer cancel()
	for {
		message, err := socket.Read(wait)
		if err != nil {
			if ctx.Err() == nil && wait.Err() != nil {
				return fault.Unreachable(errors.New(err.Error()), 0, "%s stream: the %s was not answered within %v", r.Socket.Venue, s.What, r.Answer)
			}
			return err
		}
		if confirmed, err := s.Confirms(message); confirmed || err != nil {
			return err
		}
	}
}

// tend finds out whether the venue is still there.
func (r Reports) tend(ctx context.Context, socket *upstream.Socket, busy *sync.Mutex) error {
	if r.Ping == 0 {
		return nil
	}
	ping := time.NewTicker(r.Ping)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
		}
		if !busy.TryLock() {
			continue // the reader of reports is slow, and the answer would not be seen
		}
		busy.Unlock()
		if err := socket.Ping(ctx); err != nil {
			return err
		}
	}
}
