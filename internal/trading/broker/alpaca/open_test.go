package alpaca_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/order"
)

// replace replaces an order by hand, as another program does.
func (s *scene) replace(t *testing.T, id, change string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: s.network.Dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://alpaca.test/v2/orders/"+id, strings.NewReader(change))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Apca-Api-Key-Id", fakealpaca.KeyID)
	r.Header.Set("Apca-Api-Secret-Key", fakealpaca.Secret)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("the replacement is refused: %s", body)
	}
}

// listed writes down what Open lists: side, type and status, whether it is a leg, and for
// all of a group the same number.
func (s *scene) listed(t *testing.T) string {
	t.Helper()
	all, err := s.broker.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var words, groups []string
	for _, r := range all {
		word := fmt.Sprintf("%s %s %s", r.Side, r.Type, r.Status)
		if r.StopPrice.IsPositive() {
			word += " at " + r.StopPrice.String()
		}
		if r.Group.Name != "" {
			if !slices.Contains(groups, r.Group.Name) {
				groups = append(groups, r.Group.Name)
			}
			word += fmt.Sprint(" group ", slices.Index(groups, r.Group.Name))
		}
		if r.Group.Leg {
			word += " leg"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// TestOpen_Groups lists groups in each of their states, ours and those of other programs.
func TestOpen_Groups(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		wants := func(when, want string) {
			t.Helper()
			if got := s.listed(t); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", when, got, want)
			}
		}
		rests := buy("AAPL", "1", "50")
		s.must(t, rests)
		asked := s.Requests()
		wants("an order on its own", "buy limit accepted")
		if n := s.Requests() - asked; n != 1 {
			t.Errorf("it took %d requests", n)
		}
		orders := bracket(nil)
		s.mustGroup(t, orders)
		wants("an entry that waits", "buy limit accepted, buy limit accepted group 0, sell limit held group 0 leg, sell market held at 95 group 0 leg")
		time.Sleep(time.Hour)
		s.SetQuote("AAPL", "98.98", "99")
		const works = "buy limit accepted, sell limit accepted group 0 leg, sell market accepted at 95 group 0 leg"
		wants("an entry that is filled", works)
		legs := s.Truth().Groups[0].Legs
		time.Sleep(time.Minute)
		s.replace(t, legs[1].VenueID, `{"stop_price":"96"}`)
		wants("a stop that was moved by hand", strings.Replace(works, "95", "96", 1))
		time.Sleep(2 * time.Minute)
		s.replace(t, legs[0].VenueID, `{"limit_price":"111"}`)
		wants("a target that was moved by hand", strings.Replace(works, "95", "96", 1))
		s.SetQuote("AAPL", "111.10", "111.12")
		wants("the target is filled", "buy limit accepted")
	})
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		s.must(t, buy("AAPL", "10", ""))
		if _, why := s.PlacePair("by-hand", "AAPL", num("10"), num("110"), num("95")); why != "" {
			t.Fatal(why)
		}
		if got := s.listed(t); got != "sell limit accepted group 0, sell market accepted at 95 group 0" {
			t.Errorf("a pair of another program: %s", got)
		}
	})
	// The entry is filled between the two reads.
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		orders := bracket(nil)
		s.mustGroup(t, orders)
		s.Next(fake.Fault{On: func(r *http.Request) bool {
			if r.URL.Query().Get("nested") == "true" && r.URL.Query().Get("status") == "open" {
				s.Trade(orders[0].ID, num("10"))
			}
			return false
		}})
		if got := s.listed(t); got != "sell limit accepted group 0 leg, sell market accepted at 95 group 0 leg" {
			t.Errorf("filled meanwhile: %s", got)
		}
	})
}

// TestQuery_LegsThatWereReplaced holds that legs are found when orders of their group were
// replaced by hand. What took the place of an order of ours is an order of another program.
func TestQuery_LegsThatWereReplaced(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		s.must(t, buy("AAPL", "10", ""))
		orders := pair(nil)
		reports := s.mustGroup(t, orders)
		for _, limit := range []string{"111", "112"} {
			s.replace(t, s.Truth().Groups[len(s.Truth().Groups)-1].Parent.VenueID, `{"limit_price":"`+limit+`"}`)
		}
		s.wants(t, orders, "canceled accepted") // the stop, under the order that has the target's place
		if r := s.state(t, orders[0]); !strings.HasPrefix(r.Reason, "replaced by the order ") {
			t.Errorf("the target is %+v", r)
		}
		stop := order.Handle{Spec: orders[1], VenueID: reports[1].VenueID}
		s.replace(t, stop.VenueID, `{"stop_price":"96"}`)
		if r, err := s.broker.Query(t.Context(), stop); err != nil || r.Status != order.Canceled || r.VenueID != stop.VenueID || r.ID != stop.ID {
			t.Errorf("the stop that was replaced: %+v, %v", r, err)
		}
		// Of a stop whose ID at the venue was never known, the one that works is ours.
		if r := s.state(t, orders[1]); r.Status != order.Accepted || !r.StopPrice.Equal(num("96")) {
			t.Errorf("the stop: %+v", r)
		}
	})
	for name, tc := range map[string]struct {
		mood fakealpaca.Fault
		want string
	}{
		"refused": {fakealpaca.ReplaceRefused, "filled accepted accepted"}, "slow": {fakealpaca.ReplaceSlow, "filled accepted accepted"},
		"a fill is faster": {fakealpaca.ReplaceLoses, "filled filled canceled"},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			orders := bracket(atMarket)
			s.mustGroup(t, orders)
			s.SetFault(tc.mood)
			s.replace(t, s.Truth().Groups[0].Legs[1].VenueID, `{"stop_price":"96"}`)
			if got := s.states(t, orders); got != tc.want {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
		})
	}
}

// TestQuery_LegsWithoutNestedAnswers reads a venue that shows legs for its own ids alone, as
// it documents.
func TestQuery_LegsWithoutNestedAnswers(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		orders := bracket(nil)
		s.mustGroup(t, orders)
		for _, o := range orders[1:] {
			s.Next(fake.Fault{
				On: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "by_client_order_id") },
				Change: func(b []byte) []byte {
					_, legs, _ := strings.Cut(string(b), `"legs":`)
					legs = legs[:strings.Index(legs, `]`)+1]
					return []byte(strings.Replace(string(b), legs, "null", 1))
				},
			})
			if r := s.state(t, o); r.Status != order.Held || r.ID != o.ID {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestStream_LegsOfAnEntry holds what the stream reports of a bracket: legs have the ids of
// the venue, and a stop works when the entry is filled although no event says so.
func TestStream_LegsOfAnEntry(t *testing.T) {
	t.Parallel()
	for _, mood := range []fakealpaca.Fault{fakealpaca.None, fakealpaca.QuietLegs} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			s.SetFault(mood)
			l := s.listen(t)
			orders := bracket(nil)
			reports := s.mustGroup(t, orders)
			collect := func() map[string][]order.Report {
				time.Sleep(2 * time.Second)
				synctest.Wait()
				all := map[string][]order.Report{}
				for len(l.Reports) > 0 {
					r := <-l.Reports
					all[r.VenueID] = append(all[r.VenueID], r)
					if r.VenueID != reports[0].VenueID && (r.ID == orders[1].ID || r.ID == orders[2].ID) {
						t.Errorf("a leg has our id: %+v", r)
					}
				}
				return all
			}
			before := collect()
			stop, target := reports[1].VenueID, reports[2].VenueID
			if got := line(before[stop]); mood == fakealpaca.None && got != "held 0" || mood == fakealpaca.QuietLegs && got != "" {
				t.Errorf("the stop: %s", got)
			}
			s.SetQuote("AAPL", "98.98", "99")
			after := collect()
			if got := after[stop]; len(got) == 0 || got[len(got)-1].Status != order.Accepted || !got[0].Group.Leg {
				t.Errorf("the stop of a filled entry: %+v", got)
			}
			if got := after[target]; len(got) == 0 || got[len(got)-1].Status != order.Accepted {
				t.Errorf("the target of a filled entry: %+v", got)
			}
			s.SetQuote("AAPL", "94.90", "94.92")
			last := collect()
			end := last[stop][len(last[stop])-1]
			if end.Status != order.Filled || end.Triggered.IsZero() || len(end.Fills) != 1 || last[target][len(last[target])-1].Status != order.Canceled {
				t.Errorf("the stop that was reached: %+v", last)
			}
			if err := l.End(); err == nil {
				t.Error("the stream ended without an error")
			}
		})
	}
	// A read of the legs that fails or hangs does not end the stream.
	for _, f := range []fake.Fault{{Status: 500}, {Hang: true}, {Body: "{}"}} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			l := s.listen(t)
			orders := bracket(nil)
			s.mustGroup(t, orders)
			f.On = func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/orders/") }
			s.Next(f)
			s.SetQuote("AAPL", "98.98", "99")
			time.Sleep(10 * time.Second)
			later := buy("AAPL", "1", "50")
			s.must(t, later)
			time.Sleep(2 * time.Second)
			if got := line(reportsOf(l, later)); got != "accepted 0" {
				t.Errorf("afterwards: %s", got)
			}
			_ = l.End()
		})
	}
}
