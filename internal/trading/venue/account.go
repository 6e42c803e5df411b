package venue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/sendby"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Account is how requests about one account are sent.
type Account struct {
	Orders *upstream.Client // for what changes something, and is sent once
	Clock  *Clock           // of a venue whose requests are signed with its time; else nil
	Late   string           // the venue's code for a request whose time is wrong
	// Explain gives the error of a request about an order a face that a client can act on.
	Explain func(o order.Spec, err error) error
	// Fail gives the error of a change its outcome as well.
	Fail func(o order.Spec, err error) error
}

// Change sends an order or a cancel once, and reads the answer. Its error has one outcome: an answer that
// cannot be read says nothing of what became of the request.
func Change[T any](ctx context.Context, a *Account, o order.Spec, r upstream.Request, read func([]byte) (T, error)) (T, error) {
	var none T
	if a.Clock != nil {
		if err := a.Clock.Ready(ctx); err != nil {
			return none, fmt.Errorf("%w: the venue's clock was not read: %w", broker.ErrNotSent, err)
		}
	}
	v, _, err := upstream.Get(ctx, a.Orders, r, read)
	if err != nil {
		if a.late(err) { // it was not done; the next one is signed with a better time
			if _, limited := sendby.Left(ctx); limited {
				return none, fmt.Errorf("%w: %w: %w", broker.ErrNotSent, sendby.ErrLate, a.Explain(o, err))
			}
		}
		return none, a.Fail(o, err)
	}
	return v, nil
}

// Read asks a question and reads the answer. It asks once more when the venue finds our clock wrong.
func Read[T any](ctx context.Context, a *Account, c *upstream.Client, about order.Spec, r upstream.Request, read func([]byte) (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		if a.Clock != nil {
			if err := a.Clock.Ready(ctx); err != nil {
				return *new(T), err
			}
		}
		v, _, err := upstream.Get(ctx, c, r, read)
		if a.late(err) && attempt == 1 {
			continue
		}
		if err != nil {
			err = a.Explain(about, err)
		}
		return v, err
	}
}

// Window returns how late a change with ctx may arrive at the venue, at most the widest: what was allowed for a
// while may not arrive much later.
func Window(ctx context.Context, widest time.Duration) time.Duration {
	left, limited := sendby.Left(ctx)
	if !limited {
		return widest
	}
	return min(widest, max(left, 0)+sendby.Travel)
}

// late doubts the clock if a refusal is about the time, and reports whether it is.
func (a *Account) late(err error) bool {
	late := a.Late != "" && CodeOf(err) == a.Late
	if late {
		a.Clock.Doubt()
	}
	return late
}

// CodeOf returns the venue's code of a refusal, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok && (e.Reason == upstream.Refused || e.Reason == upstream.Throttled) && e.Status < 500 {
		return e.Code
	}
	return ""
}

// Outcome returns what is known of a request that failed. refuses says of an answer with a status of 400 to
// 499 whether the venue itself will not do it; any other answer, and none, says nothing.
func Outcome(err error, refuses func(*upstream.Error) bool) error {
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case errors.Is(err, upstream.ErrNotSent):
		return broker.ErrNotSent
	case ok && e.Reason == upstream.Throttled, ok && e.Reason == upstream.Refused && e.Status >= 400 && e.Status < 500 && refuses(e):
		return broker.ErrRejected
	}
	return broker.ErrUnknown
}

// NotSent is the error of a request that failed before it went out.
func NotSent(err error) error { return fmt.Errorf("%w: %w", broker.ErrNotSent, err) }
