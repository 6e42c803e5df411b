package alpaca

import (
	"context"
	"errors"
	"testing"

	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func apple() market.Symbol { return market.Symbol{Venue: name, Name: "AAPL"} }

// TestFate_EveryStatus holds that each answer has exactly one fate, and which
// those are that count as the venue's no.
func TestFate_EveryStatus(t *testing.T) {
	t.Parallel()
	for status := 100; status < 600; status++ {
		for _, reported := range []bool{true, false} {
			e := &upstream.Error{Venue: name, Subject: "AAPL", Reason: upstream.Refused, Status: status, Message: "words", FromVenue: reported}
			want := broker.ErrUnknown
			if status >= 400 && status < 500 && status != 408 && reported || status == 401 || status == 451 {
				want = broker.ErrRejected
			}
			err := fate(order.Spec{Symbol: apple()}, e)
			if !errors.Is(broker.Outcome(err), want) || fault.Of(err) == nil && errors.Is(want, broker.ErrUnknown) {
				t.Errorf("%d, reported %v: %v", status, reported, err)
			}
		}
	}
	for _, reason := range []upstream.Reason{upstream.NoResponse, upstream.Malformed, upstream.TooLarge} {
		if err := fate(order.Spec{Symbol: apple()}, &upstream.Error{Reason: reason, Status: 200}); !errors.Is(broker.Outcome(err), broker.ErrUnknown) {
			t.Errorf("%d: %v", reason, err)
		}
	}
	if err := fate(order.Spec{Symbol: apple()}, &upstream.Error{Reason: upstream.Throttled, Status: 429}); !errors.Is(broker.Outcome(err), broker.ErrRejected) {
		t.Error(err)
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if err := fate(order.Spec{Symbol: apple()}, ended); !errors.Is(broker.Outcome(err), broker.ErrUnknown) || !errors.Is(err, ended) {
			t.Error(err)
		}
	}
	if err := fate(order.Spec{Symbol: apple()}, upstream.ErrNotSent); !errors.Is(broker.Outcome(err), broker.ErrNotSent) {
		t.Error(err)
	}
}
