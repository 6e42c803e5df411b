package alpaca_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestSubmit_TheVenuesWordsComeBack holds that what the venue refuses is refused
// with its reason, and that nothing of it is left at the venue.
func TestSubmit_TheVenuesWordsComeBack(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetQuote("AAPL", "99.99", "100.01")
		s.SetQuote("PENNY", "0.50", "0.51")
		for name, tc := range map[string]struct {
			order order.Spec
			kind  fault.Kind
			code  string
			words string
		}{
			"more than the account has":       {buy("AAPL", "100000", "100"), fault.Conflict, "insufficient_funds", "insufficient buying power"},
			"a sale of what is not there":     {sell("BTC/USD", "1", ""), fault.Conflict, "insufficient_funds", "insufficient balance for BTC"},
			"a fraction of what has none":     {buy("BRK.B", "0.5", ""), fault.Conflict, "venue_refused", "is not fractionable"},
			"a fraction of a cent":            {buy("AAPL", "1", "290.123"), fault.Invalid, "venue_refused", "sub-penny increment"},
			"less than a hundredth of a cent": {buy("PENNY", "1", "0.50001"), fault.Invalid, "venue_refused", "sub-penny increment"},
			"less than a pair can trade":      {buy("BTC/USD", "0.00001", ""), fault.Conflict, "venue_refused", "minimal qty"},
			"a pair without its slash":        {buy("BTCUSD", "1", ""), fault.Invalid, "venue_refused", "invalid crypto time_in_force"},
			"a symbol of nothing":             {buy("NOSUCH", "1", ""), fault.Invalid, "venue_refused", "not found"},
			"a fraction that is sold short":   {sell("AAPL", "0.5", ""), fault.Conflict, "venue_refused", "cannot be sold short"},
		} {
			_, err := s.broker.Submit(t.Context(), tc.order)
			f := fault.Of(err)
			if !errors.Is(broker.Outcome(err), broker.ErrRejected) || f == nil || f.Kind != tc.kind || f.Code != tc.code || !strings.Contains(f.Message, tc.words) ||
				!strings.Contains(f.Message, "alpaca") || f.Retryable {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, o := range map[string]order.Spec{
			"no id": {Symbol: apple(), Side: order.Buy, Type: order.Market, Quantity: num("1")}, "an id that is too long": func() order.Spec {
				o := buy("AAPL", "1", "")
				o.ID = strings.Repeat("x", 49)
				return o
			}(),
			"nothing": buy("AAPL", "0", ""), "less than nothing": buy("AAPL", "-1", ""), "a limit of nothing": buy("AAPL", "1", "0"), "no symbol": buy("", "1", ""),
			"another venue": func() order.Spec {
				o := buy("AAPL", "1", "")
				o.Symbol.Venue = "binance"
				return o
			}(),
			"no side": {ID: "x", Symbol: apple(), Type: order.Market, Quantity: num("1")}, "no type": {ID: "x", Symbol: apple(), Side: order.Buy, Quantity: num("1")},
		} {
			asked := s.Requests()
			if _, err := s.broker.Submit(t.Context(), o); !errors.Is(broker.Outcome(err), broker.ErrNotSent) || fault.KindOf(err) != fault.Invalid || s.Requests() != asked {
				t.Errorf("%s: %v", name, err)
			}
		}
		if taken := s.Truth().Orders; len(taken) != 0 {
			t.Errorf("the venue took %+v", taken)
		}
		s.must(t, buy("PENNY", "10", "0.5001"))
		s.must(t, buy("AAPL", "0.123456789", ""))
	})
}

// TestSubmit_AnUnknownOutcomeIsNotForRepeating holds what an agent reads of an
// order whose fate is not known.
//
//go:fix inline
func TestSubmit_AnUnknownOutcomeIsNotForRepeating(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		twice := buy("AAPL", "1", "50")
		s.must(t, twice)
		change := func(from, to string) fake.Fault {
			return fake.Fault{On: fakealpaca.Changes, Change: func(b []byte) []byte { return []byte(strings.Replace(string(b), from, to, 1)) }}
		}
		for name, tc := range map[string]struct {
			fault *fake.Fault
			order order.Spec
			words string
		}{
			"an id that is taken":      {nil, twice, "has an order with this id already"},
			"the same, in other words": {&fake.Fault{On: fakealpaca.Changes, Status: 422, Body: `{"code":40010001,"message":"client order id must be unique"}`}, buy("AAPL", "1", "50"), "has an order"},
			"a fault of the venue's":   {&fake.Fault{On: fakealpaca.Changes, Status: 503}, buy("AAPL", "1", "50"), "HTTP 503"},
			"half an answer":           {&fake.Fault{On: fakealpaca.Changes, Change: fake.HalfJSON().Change}, buy("AAPL", "1", "50"), "cannot be used"},
			"nothing of the fills":     {new(change(`"filled_qty":"0"`, `"filled_qty":null`)), buy("AAPL", "1", "50"), "without filled_qty"},
			"another order":            {new(change(`"client_order_id":"`, `"client_order_id":"x`)), buy("AAPL", "1", "50"), "it is about the order"},
			"another side":             {new(change(`"side":"buy"`, `"side":"sell"`)), buy("AAPL", "1", "50"), "an order to sell"},
			"another symbol":           {new(change(`"symbol":"AAPL"`, `"symbol":"AAPX"`)), buy("AAPL", "1", "50"), "AAPX"},
			"no status":                {new(change(`"status":`, `"state":`)), buy("AAPL", "1", "50"), "without id, status"},
			"an amount beyond belief":  {new(change(`"qty":"1"`, `"qty":"1e999999999"`)), buy("AAPL", "1", "50"), "not an amount"},
			"an amount below zero":     {new(change(`"filled_qty":"0"`, `"filled_qty":"-1"`)), buy("AAPL", "1", "50"), "below zero"},
		} {
			if tc.fault != nil {
				s.Next(*tc.fault)
			}
			_, err := s.broker.Submit(t.Context(), tc.order)
			f := fault.Of(err)
			if !errors.Is(broker.Outcome(err), broker.ErrUnknown) || f == nil || f.Code != "outcome_unknown" || f.Retryable || !strings.Contains(f.Message, tc.words) ||
				!strings.Contains(f.Message, "look at the order before sending another") {
				t.Errorf("%s: %v", name, err)
			}
			if strings.Contains(err.Error(), fakealpaca.Secret) || strings.Contains(err.Error(), fakealpaca.KeyID) {
				t.Errorf("%s: the error shows the keys", name)
			}
			// Each of them is there, once.
			if n := len(slices.DeleteFunc(s.Truth().Orders, func(r order.Report) bool { return r.ID != tc.order.ID })); n != 1 {
				t.Errorf("%s: the venue has it %d times", name, n)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestCancel_RacesAreReported goes through what can happen between a cancel and its end.
func TestCancel_RacesAreReported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mood  fakealpaca.Fault
		first order.Status // what the cancel says
		later order.Status // what becomes of it
	}{
		"the usual":         {fakealpaca.None, order.PendingCancel, order.Canceled},
		"a slow one":        {fakealpaca.CancelSlow, order.PendingCancel, order.Canceled},
		"refused afterward": {fakealpaca.CancelRefused, order.PendingCancel, order.Accepted},
		"a fill is faster":  {fakealpaca.CancelLoses, order.PendingCancel, order.Filled},
	} {
		play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
			t.Helper()
			o := buy("AAPL", "3", "50")
			s.must(t, o)
			s.SetFault(tc.mood)
			r, err := s.broker.Cancel(t.Context(), o.Handle())
			if err != nil || r.Status != tc.first || r.ID != o.ID || r.Owner != "local" {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			if tc.mood == fakealpaca.CancelSlow {
				if r := s.state(t, o); r.Status != order.PendingCancel {
					t.Errorf("%s: at once it is %s", name, r.Status)
				}
				time.Sleep(3 * time.Second)
			}
			if r := s.state(t, o); r.Status != tc.later {
				t.Errorf("%s: it became %s", name, r.Status)
			}
		})
	}
	// The fill comes between the look and the cancel: the venue refuses, and that is
	// no error.
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		o := buy("AAPL", "3", "50")
		s.must(t, o)
		s.Next(fake.Fault{
			On: func(r *http.Request) bool {
				if r.Method == http.MethodDelete {
					s.Trade(o.ID, num("3"))
				}
				return false
			},
		})
		if r, err := s.broker.Cancel(t.Context(), o.Handle()); err != nil || r.Status != order.Filled || !r.Filled.Equal(num("3")) {
			t.Errorf("%+v, %v", r, err)
		}
	})
	// A cancel that the venue refuses for an open order is refused.
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		o := buy("AAPL", "3", "50")
		s.must(t, o)
		s.Next(fake.Fault{On: fakealpaca.Changes, Skip: true, Status: 422, Body: `{"code":42210000,"message":"order pending replace"}`})
		if _, err := s.broker.Cancel(t.Context(), o.Handle()); !errors.Is(broker.Outcome(err), broker.ErrRejected) || !strings.Contains(err.Error(), "order pending replace") {
			t.Error(err)
		}
	})
}

// TestQuery_A404OfSomethingBetweenIsNoAnswer holds that an order is given up only
// on the venue's own word.
func TestQuery_A404OfSomethingBetweenIsNoAnswer(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		o := buy("AAPL", "1", "50")
		s.must(t, o)
		for _, body := range []string{"", "404 page not found", "<html>", "[]"} {
			s.Next(fake.Fault{Status: http.StatusNotFound, Body: body})
			if _, err := s.broker.Query(t.Context(), o.Handle()); err == nil || errors.Is(err, broker.ErrNotFound) {
				t.Errorf("%q: %v", body, err)
			}
			s.Next(fake.Fault{Status: http.StatusNotFound, Body: body})
			if _, err := s.broker.Cancel(t.Context(), o.Handle()); !errors.Is(broker.Outcome(err), broker.ErrNotSent) {
				t.Errorf("%q: %v", body, err)
			}
		}
	})
}

// TestQuery_AVenueMayNotKnowYet asks a venue whose reads lag behind: not found is
// not the same as never taken.
func TestQuery_AVenueMayNotKnowYet(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetLag(3 * time.Second)
		o := buy("AAPL", "1", "50")
		s.must(t, o)
		_, query := s.broker.Query(t.Context(), o.Handle())
		_, cancel := s.broker.Cancel(t.Context(), o.Handle())
		if !errors.Is(broker.Outcome(query), broker.ErrNotFound) || !errors.Is(broker.Outcome(cancel), broker.ErrNotFound) {
			t.Errorf("at once: %v, %v", query, cancel)
		}
		time.Sleep(3 * time.Second)
		if r := s.state(t, o); r.Status != order.Accepted {
			t.Errorf("later: %s", r.Status)
		}
	})
}

// TestQuery_WordsOfTheVenue goes through every state that the venue has.
func TestQuery_WordsOfTheVenue(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		rests, partly, done := buy("AAPL", "4", "50"), buy("AAPL", "4", "50"), buy("AAPL", "4", "")
		for _, o := range []order.Spec{rests, partly, done} {
			s.must(t, o)
		}
		s.Trade(partly.ID, num("1"))
		s.SetUnlimited()
		for word, want := range map[string][3]order.Status{
			"new": {order.Accepted, order.PartiallyFilled, order.PartiallyFilled}, "accepted": {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"pending_new":          {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"accepted_for_bidding": {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"pending_review":       {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"held":                 {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"stopped":              {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"suspended":            {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"pending_replace":      {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"done_for_day":         {order.Accepted, order.PartiallyFilled, order.PartiallyFilled},
			"calculated":           {order.Accepted, order.PartiallyFilled, order.Filled},
			"partially_filled":     {order.Uncertain, order.PartiallyFilled, order.PartiallyFilled},
			"filled":               {order.Uncertain, order.Uncertain, order.Filled},
			"pending_cancel":       {order.PendingCancel, order.PendingCancel, order.PendingCancel},
			"canceled":             {order.Canceled, order.Canceled, order.Canceled},
			"replaced":             {order.Canceled, order.Canceled, order.Canceled},
			"expired":              {order.Expired, order.Expired, order.Expired},
			"rejected":             {order.Rejected, order.Rejected, order.Rejected},
			"under_consideration":  {order.Uncertain, order.Uncertain, order.Uncertain},
			"NEW":                  {order.Uncertain, order.Uncertain, order.Uncertain},
		} {
			for i, o := range []order.Spec{rests, partly, done} {
				s.Next(fake.Fault{Change: func(b []byte) []byte {
					for _, is := range []string{"new", "partially_filled", "filled"} {
						b = []byte(strings.Replace(string(b), `"status":"`+is+`"`, `"status":"`+word+`"`, 1))
					}
					return b
				}})
				if r := s.state(t, o); r.Status != want[i] {
					t.Errorf("%s of an order with %s filled: %s, want %s", word, r.Filled, r.Status, want[i])
				} else if r.Status == order.Uncertain && r.Reason == "" {
					t.Errorf("%s: nothing says why it is uncertain", word)
				}
			}
			time.Sleep(time.Minute) // the venue has a limit
		}
	})
}

// TestOpen_Pages lists more orders than one answer has, many with one time.
func TestOpen_Pages(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		const many = 1010
		want := map[string]bool{}
		for i := range many {
			venueID, why := s.Place(order.Spec{Symbol: apple(), Side: order.Buy, Type: order.Limit, Quantity: num("1"), Price: num("1")})
			if why != "" {
				t.Fatal(why)
			}
			want[venueID] = true
			if i%300 == 0 {
				time.Sleep(time.Second)
			}
		}
		all, err := s.broker.Open(t.Context())
		if err != nil || len(all) != many {
			t.Fatalf("%d of %d, %v", len(all), many, err)
		}
		for _, r := range all {
			delete(want, r.VenueID)
		}
		if len(want) != 0 {
			t.Errorf("%d are missing", len(want))
		}
	})
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		for range 501 { // at one time: a page cannot be left
			if _, why := s.Place(order.Spec{Symbol: apple(), Side: order.Buy, Type: order.Limit, Quantity: num("1"), Price: num("1")}); why != "" {
				t.Fatal(why)
			}
		}
		if _, err := s.broker.Open(t.Context()); fault.Of(err) == nil {
			t.Errorf("orders are lost in silence: %v", err)
		}
	})
}
