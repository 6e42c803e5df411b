package desk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// confirmations answers whether callers may trade: yes for the first few times.
type confirmations struct {
	yes   int
	then  error
	asked []principal.Caller
}

func (c *confirmations) confirm(_ context.Context, by principal.Caller) error {
	if c.asked = append(c.asked, by); len(c.asked) <= c.yes {
		return nil
	}
	return c.then
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
