package desk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/sendby"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// confirmations answers whether callers may trade: yes for the first few times.
type confirmations struct {
	yes   int
	then  error
	asked []principal.Caller
}

func (c *confirmations) confirm(_ context.Context, by principal.Caller) (time.Time, error) {
	if c.asked = append(c.asked, by); len(c.asked) <= c.yes {
		return time.Time{}, nil
	}
	return time.Time{}, c.then
}

// The desk asks before it records an order and again before it sends it.
func TestConfirm_NothingIsSentForALoginThatHasEnded(t *testing.T) {
	t.Parallel()
	revoked := fault.New(fault.Unauthorized, "invalid_token", "The login of this client has ended.")
	for name, c := range map[string]struct {
		confirmations
		code, reason string
		recorded     int
	}{
		"revoked before the order is recorded":    {confirmations{0, revoked, nil}, "invalid_token", "", 0},
		"revoked before the order is sent":        {confirmations{1, revoked, nil}, "not_sent", "the login that placed the order was revoked", 1},
		"nobody answers before the order is sent": {confirmations{1, errors.New("no servers"), nil}, "not_sent", "could not be confirmed", 1},
		"in force": {confirmations{2, revoked, nil}, "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.stop()
				w.confirm = c.confirm
				w.start()
				w.AwaitReconciled(w.t.Context())
				o, err := w.Place(w.t.Context(), caller(), limit("0.1", "48000"))
				if f := fault.Of(err); c.code == "" && err != nil || c.code != "" && (f == nil || f.Code != c.code || !strings.Contains(f.Message, c.reason)) {
					w.t.Errorf("placed: %v", err)
				}
				if sent := o.ID != "" && w.taken(o.ID) > 0; sent != (c.code == "") {
					w.t.Errorf("sent %t: %v", sent, o.Status)
				}
				all, err := w.Orders(w.t.Context(), caller(), false)
				if err != nil || len(all) != c.recorded {
					w.t.Errorf("%d orders are recorded, want %d: %v", len(all), c.recorded, err)
				}
				for _, by := range c.asked {
					if by.Key != caller().Key || by.Subject != owner {
						w.t.Errorf("asked about %+v", by)
					}
				}
			})
		})
	}
}

// lateBroker is a broker at which the first orders do not leave while the confirmation counts.
type lateBroker struct {
	*brokertest.Memory

	late int
}

func (b *lateBroker) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if _, limited := sendby.Left(ctx); !limited {
		return order.Report{}, errors.New("the order may leave at any time")
	}
	if b.late--; b.late >= 0 {
		return order.Report{}, fmt.Errorf("%w: %w", broker.ErrNotSent, sendby.ErrLate)
	}
	return b.Memory.Submit(ctx, o)
}

// An order that did not leave while the confirmation counted is confirmed again, a few times.
func TestConfirm_AgainForWhatDidNotLeaveInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ late, asked, sent int }{{0, 2, 1}, {2, 4, 1}, {3, 4, 0}} {
		inWorld(t, func(w *world) {
			w.stop()
			asked := 0
			w.broker = &lateBroker{w.venue, c.late}
			w.confirm = func(context.Context, principal.Caller) (time.Time, error) {
				asked++
				return time.Now().Add(time.Second), nil
			}
			w.start()
			w.AwaitReconciled(w.t.Context())
			o, err := w.Place(w.t.Context(), caller(), limit("0.1", "48000"))
			if f := fault.Of(err); c.sent == 1 && err != nil || c.sent == 0 && (f == nil || f.Code != "not_sent" && !f.Retryable) {
				w.t.Errorf("placed: %v", err)
			}
			if asked != c.asked || w.taken(o.ID) != c.sent {
				w.t.Errorf("late %d times: asked %d times, sent %d times, want %d and %d", c.late, asked, w.taken(o.ID), c.asked, c.sent)
			}
		})
	}
}

func TestConfirm_DryRunsAskNobodyAndCancelsDo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := confirmations{2, fault.New(fault.Unauthorized, "invalid_token", "The login of this client has ended."), nil}
		w.stop()
		w.confirm = c.confirm
		w.start()
		w.AwaitReconciled(w.t.Context())
		dry := limit("0.1", "48000")
		dry.DryRun = true
		if _, err := w.Place(w.t.Context(), caller(), dry); err != nil || len(c.asked) > 0 {
			w.t.Errorf("a dry run: %v, asked %d times", err, len(c.asked))
		}
		o, err := w.Place(w.t.Context(), caller(), limit("0.1", "48000"))
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Cancel(w.t.Context(), caller(), o.ID); fault.KindOf(err) != fault.Unauthorized {
			w.t.Errorf("canceled: %v", err)
		}
		if all, err := w.Orders(w.t.Context(), caller(), true); err != nil || len(all) != 1 || all[0].Status != order.Accepted {
			w.t.Errorf("open orders: %v, %v", all, err)
		}
	})
}
