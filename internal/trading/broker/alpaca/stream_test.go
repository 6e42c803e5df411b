package alpaca_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// listen starts a stream and waits until reports flow.
func (s *scene) listen(t *testing.T) *brokertest.Listening {
	t.Helper()
	l := brokertest.Listen(t.Context(), s.broker)
	select {
	case <-l.Ready:
	case err := <-l.Done:
		t.Fatal(err)
	}
	return l
}

// reported returns the reports of an order so far.
func reportsOf(l *brokertest.Listening, o order.Spec) []order.Report {
	synctest.Wait()
	var all []order.Report
	for len(l.Reports) > 0 {
		if r := <-l.Reports; r.ID == o.ID {
			all = append(all, r)
		}
	}
	return all
}

// line writes reports down: state, what is filled, and the reason.
func line(all []order.Report) string {
	var words []string
	for _, r := range all {
		word := r.Status.String() + " " + r.Filled.String()
		if len(r.Fills) > 0 {
			word += " +" + r.Fills[0].Quantity.String()
		}
		if r.Reason != "" {
			word += " (" + r.Reason + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestStream_ReportsOrders(t *testing.T) {
	t.Parallel()
	rests := func() order.Spec { return buy("AAPL", "4", "50") }
	for name, tc := range map[string]struct {
		mood fakealpaca.Fault
		do   func(t *testing.T, s *scene, o order.Spec)
		want string
	}{
		"a part and the rest": {0, func(_ *testing.T, s *scene, o order.Spec) {
			s.Trade(o.ID, num("1"))
			s.Trade(o.ID, num("3"))
		}, "accepted 0, partially_filled 1 +1, filled 4 +3"},
		"a cancel":            {0, nil, "accepted 0, canceled 0"},
		"a slow cancel":       {fakealpaca.CancelSlow, nil, "accepted 0, pending_cancel 0, canceled 0"},
		"a cancel that fails": {fakealpaca.CancelRefused, nil, "accepted 0, pending_cancel 0, accepted 0 (the venue refused the cancel)"},
		"a fill is faster":    {fakealpaca.CancelLoses, nil, "accepted 0, pending_cancel 0, filled 4 +4, filled 4 (the venue refused the cancel)"},
		"a fill of a part": {fakealpaca.CancelLoses, func(t *testing.T, s *scene, o order.Spec) {
			t.Helper()
			s.Trade(o.ID, num("1"))
			cancel(t, s, o)
		}, "accepted 0, partially_filled 1 +1, pending_cancel 1, filled 4 +3, filled 4 (the venue refused the cancel)"},
		"another's cancel":   {0, func(_ *testing.T, s *scene, o order.Spec) { s.Cancel(o.ID) }, "accepted 0, canceled 0"},
		"a late rejection":   {0, func(_ *testing.T, s *scene, o order.Spec) { s.Reject(o.ID) }, "accepted 0, rejected 0 (rejected after the venue had taken it)"},
		"a word of no sense": {fakealpaca.OddStatus, nil, "accepted 0, uncertain 0 (under_consideration)"},
	} {
		play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
			t.Helper()
			l := s.listen(t)
			o := rests()
			s.must(t, o)
			s.SetFault(tc.mood)
			if tc.do == nil {
				cancel(t, s, o)
			} else {
				tc.do(t, s, o)
			}
			time.Sleep(5 * time.Second)
			if got := line(reportsOf(l, o)); got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
			}
			if err := l.End(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

func cancel(t *testing.T, s *scene, o order.Spec) {
	t.Helper()
	if _, err := s.broker.Cancel(t.Context(), o.Handle()); err != nil {
		t.Error(err)
	}
}

// TestStream_Hours follows orders over a night: one waits for the session, one
// expires with it, a pair does not care.
func TestStream_Hours(t *testing.T) {
	t.Parallel()
	evening := time.Date(2025, time.July, 3, 19, 58, 0, 0, time.UTC) // two minutes before a close, and a holiday and a weekend
	play(t, evening, fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetQuote("BTC/USD", "50000", "50001")
		l := s.listen(t)
		expires, waits, pair := buy("AAPL", "1", "1"), buy("AAPL", "2", ""), buy("BTC/USD", "0.1", "1")
		s.must(t, expires)
		s.must(t, pair)
		time.Sleep(5 * time.Minute)
		if got := line(reportsOf(l, expires)); got != "accepted 0, expired 0" {
			t.Errorf("at the close: %s", got)
		}
		if r := s.must(t, waits); r.Status != order.Accepted {
			t.Errorf("after the close: %s", r.Status)
		}
		_ = l.End()
		time.Sleep(3*24*time.Hour + 17*time.Hour) // Monday, 09:03
		l = s.listen(t)
		if got := line(reportsOf(l, waits)); got != "" {
			t.Errorf("over the weekend: %s", got)
		}
		time.Sleep(time.Hour)
		if got := line(reportsOf(l, waits)); got != "accepted 0, filled 2 +2" {
			t.Errorf("at the open: %s", got)
		}
		if r := s.state(t, pair); r.Status != order.Accepted {
			t.Errorf("the pair is %s", r.Status)
		}
		_ = l.End()
	})
}

func TestStream_DoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arm  func(s *scene)
		keys stocks.Keys
		code string
		kind fault.Kind
	}{
		"keys of nobody":      {nil, stocks.NewKeys("id", "secret"), "keys_refused", fault.Unauthorized},
		"no answer":           {func(s *scene) { s.SetFault(fakealpaca.Mute) }, stocks.Keys{}, "unavailable", fault.Unavailable},
		"nobody there":        {func(s *scene) { s.network.SetDown(true) }, stocks.Keys{}, "unavailable", fault.Unavailable},
		"a fault":             {func(s *scene) { s.Next(fake.Fault{Status: 503}) }, stocks.Keys{}, "unavailable", fault.Unavailable},
		"a throttled dial":    {func(s *scene) { s.Next(fake.Fault{Status: 429, RetryAfter: time.Minute}) }, stocks.Keys{}, "rate_limited", fault.Unavailable},
		"a cut in the middle": {func(s *scene) { s.SetFault(fakealpaca.Mute); time.AfterFunc(time.Second, s.Updates.Drop) }, stocks.Keys{}, "unavailable", fault.Unavailable},
		"an end in the middle": {func(s *scene) {
			s.SetFault(fakealpaca.Mute)
			time.AfterFunc(time.Second, func() { s.network.SetDown(true) })
		}, stocks.Keys{}, "unavailable", fault.Unavailable},
	} {
		play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
			t.Helper()
			b := s.broker
			if tc.keys != (stocks.Keys{}) {
				hosts := upstream.NewHosts(s.network.Dial)
				defer hosts.Close() //nolint:errcheck // it has nothing to report
				var err error
				if b, err = alpaca.New(hosts, alpaca.Config{Keys: tc.keys, URL: "http://alpaca.test", Now: s.now}); err != nil {
					t.Fatal(err)
				}
			}
			if tc.arm != nil {
				tc.arm(s)
			}
			err := b.Stream(t.Context(), func() { t.Errorf("%s: ready", name) }, make(chan order.Report))
			if f := fault.Of(err); f == nil || f.Code != tc.code || f.Kind != tc.kind {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestStream_EndsWithWhatItCannotRead holds that a report is never dropped in
// silence.
func TestStream_EndsWithWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"no JSON": "<html>", "half of it": `{"stream":"trade_updates","data":{"event":"new"`, "no stream": `{"data":{}}`, "no data": `{"stream":"trade_updates"}`,
		"an update of nothing": `{"stream":"trade_updates","data":{}}`, "no order": `{"stream":"trade_updates","data":{"event":"fill"}}`,
		"an order of nothing": `{"stream":"trade_updates","data":{"event":"fill","order":{}}}`,
		"we are not known":    `{"stream":"authorization","data":{"status":"unauthorized","action":"listen"}}`,
		"it ends the reports": `{"stream":"listening","data":{"streams":[]}}`,
	} {
		play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
			t.Helper()
			l := s.listen(t)
			s.Updates.Announce(message)
			select {
			case err := <-l.Done:
				if fault.Of(err) == nil {
					t.Errorf("%s: %v", name, err)
				}
			case <-time.After(time.Minute):
				t.Errorf("%s: the stream goes on", name)
			}
		})
	}
	// An event that is not known is handed on with what the order says, and ends it.
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		l := s.listen(t)
		s.Updates.Announce(`{"stream":"trade_updates","data":{"event":"trade_bust","order":{"id":"1","client_order_id":"2","symbol":"AAPL","status":"filled","qty":"1","filled_qty":"1","updated_at":"2025-07-09T16:00:00Z"}}}`)
		if err := <-l.Done; fault.Of(err) == nil || !strings.Contains(err.Error(), "trade_bust") || len(l.Reports) != 1 {
			t.Errorf("%d reports, %v", len(l.Reports), err)
		}
	})
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		l := s.listen(t)
		for _, message := range []string{`{"stream":"listening","data":{"streams":["trade_updates"]}}`, `{"stream":"news","data":[1]}`, `{"stream":"authorization","data":{"status":"authorized"}}`} {
			s.Updates.Announce(message)
			time.Sleep(time.Second)
		}
		if len(l.Done) != 0 {
			t.Error(<-l.Done)
		}
		_ = l.End()
	})
}

// TestStream_ADeadLineIsFound takes the network away under a stream that says
// nothing.
func TestStream_ADeadLineIsFound(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		l := s.listen(t)
		time.Sleep(time.Hour)
		s.network.SetDown(true)
		select {
		case err := <-l.Done:
			if fault.Of(err) == nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the stream goes on")
		}
	})
}

// TestStream_ASilentVenueLosesNothing lets the venue answer pings and send nothing:
// the stream cannot know, and missed reports can be read.
func TestStream_ASilentVenueLosesNothing(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		l := s.listen(t)
		s.Updates.Set(fake.StreamFaults{Silent: true})
		o := buy("AAPL", "3", "")
		s.must(t, o)
		time.Sleep(time.Hour)
		if got := line(reportsOf(l, o)); got != "" || len(l.Done) != 0 {
			t.Errorf("got %s, ended %v", got, len(l.Done) != 0)
		}
		fills, _, err := s.broker.Fills(t.Context(), apple(), "")
		if r := s.state(t, o); err != nil || r.Status != order.Filled || len(fills) != 1 || fills[0].VenueID != r.VenueID {
			t.Errorf("%+v, %+v, %v", r, fills, err)
		}
		_ = l.End()
	})
}
