package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/trading/order"
)

// answered writes the story of an alert and of orders after it.
type answered struct {
	*testing.T
	ledger *ledger.Ledger
}

func (a answered) alert(token string, late time.Duration) alert.Alert {
	a.Helper()
	one := newAlert(1)
	check(a.T, a.ledger.PutAlert(a.Context(), principal.Caller{Subject: "owner", Key: token, Client: "Client " + token}, one))
	time.Sleep(late)
	_, err := a.ledger.FireAlerts(a.Context(), []alert.Firing{firing(one)})
	check(a.T, err)
	return one
}

func (a answered) order(token string) string {
	a.Helper()
	events := life(id.New(time.Now()))
	_, err := a.ledger.AppendEvents(a.Context(), principal.Caller{Subject: "owner", Key: token, Client: "Client " + token}, events)
	check(a.T, err)
	return events[0].OrderID
}

func (a answered) cause(orderID, want string) {
	a.Helper()
	got, ok, err := a.ledger.Audit().Cause(a.Context(), orderID)
	if err != nil || ok != (want != "") || got.Subject != want {
		a.Errorf("the cause is %q %v, %v; want %q", got.Subject, ok, err, want)
	}
}

func TestAudit_FromAnOrderToItsAlertAndBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, l *ledger.Ledger) {
		t.Helper()
		a := answered{t, l}
		before := a.order("a")
		mine := a.alert("a", 3*time.Hour)
		time.Sleep(time.Minute)
		theirs := a.alert("b", time.Minute)
		time.Sleep(time.Minute)
		first, second := a.order("a"), a.order("b")
		time.Sleep(20 * time.Minute)
		late := a.order("a")
		a.cause(before, "")
		a.cause(first, mine.ID) // not the last one, which another client had set
		a.cause(second, theirs.ID)
		a.cause(late, "")
		a.cause("no order", "")
		a.cause(id.New(time.Now()), "")
		answers, err := l.Audit().Answers(t.Context(), mine.ID)
		if err != nil || len(answers) != 1 || answers[0].Subject != first {
			t.Errorf("the alert was answered by %v, %v; want %s", answers, err, first)
		}
		if set, ok, err := l.Audit().Setter(t.Context(), theirs.ID); err != nil || !ok || set.Client != "Client b" {
			t.Errorf("it was set by %q %v, %v", set.Client, ok, err)
		}
		if _, ok, err := l.Audit().Setter(t.Context(), id.New(time.Now())); err != nil || ok {
			t.Errorf("an alert that was never set has a client: %v", err)
		}
		trail, err := l.Audit().Trail(t.Context(), first)
		if err != nil || len(trail) != 4 || trail[0].Kind != "order_created" || trail[3].Kind != "order_"+order.KindFill.String() {
			t.Errorf("%v, %v", trail, err)
		}
	})
}

func TestAudit_Pages(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, l *ledger.Ledger) {
		t.Helper()
		a, log := answered{t, l}, l.Audit()
		if p, err := log.Page(t.Context(), ledger.Filter{Limit: 10}); err != nil || len(p.Events) != 0 || p.Next != "" {
			t.Errorf("of an empty log: %+v, %v", p, err)
		}
		a.alert("a", time.Second) // 2 events
		time.Sleep(time.Hour)
		noon := time.Now()
		for range 5 { // 4 events each
			a.order("b")
		}
		synctest.Wait()
		for name, tc := range map[string]struct {
			filter ledger.Filter
			count  int
			first  uint64
			next   string
		}{
			"newest first":   {ledger.Filter{Limit: 5}, 5, 22, "18"},
			"the next page":  {ledger.Filter{Limit: 5, Before: "18"}, 5, 17, "13"},
			"the last page":  {ledger.Filter{Limit: 5, Before: "3"}, 2, 2, ""},
			"all":            {ledger.Filter{Limit: 500}, 22, 22, ""},
			"by kind":        {ledger.Filter{Limit: 500, Kinds: []string{"alert_"}}, 2, 2, ""},
			"by two kinds":   {ledger.Filter{Limit: 500, Kinds: []string{"alert_set", "order_created"}}, 6, 19, ""},
			"without a kind": {ledger.Filter{Limit: 500, Skip: []string{"order_created", "order_sent"}}, 12, 22, ""},
			"by token":       {ledger.Filter{Limit: 500, Actor: "a"}, 1, 1, ""},
			"since":          {ledger.Filter{Limit: 500, Since: noon}, 20, 22, ""},
			"by text":        {ledger.Filter{Limit: 500, Text: "CLIENT a"}, 1, 1, ""},
			"by number":      {ledger.Filter{Limit: 500, Text: "17"}, 1, 17, ""},
			"by no text":     {ledger.Filter{Limit: 500, Text: "%' OR 1=1 --"}, 0, 0, ""},
		} {
			p, err := log.Page(t.Context(), tc.filter)
			if name == "by number" { // amounts and times may have it, too
				if err != nil || len(p.Events) == 0 {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil || len(p.Events) != tc.count || p.Next != tc.next || tc.count > 0 && p.Events[0].Seq != tc.first {
				t.Errorf("%s: %d events, then %q, %v", name, len(p.Events), p.Next, err)
			}
		}
	})
}
