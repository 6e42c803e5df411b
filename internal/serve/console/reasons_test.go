package console_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestReasons_AreShown shows the reasons of an order on its page, and on its card with what they are now. The words
// are text.
func TestReasons_AreShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	o := anOrder("waits", order.PendingApproval, "Claude")
	o.Approval.Asked, o.Approval.Expires = o.Created, o.Created.AddDate(1, 0, 0)
	o.Evidence = []order.Evidence{
		{Claim: order.Claim{Interval: market.Hour1, Text: "RSI(14) of BTCUSDT on 1h closes below 30"}, Known: true, True: true, Value: "28.731904", Held: 7, Of: 100},
		{Claim: order.Claim{Text: "<b>x</b>"}, Missing: "too few bars"},
	}
	o.Conditions = []order.Evidence{{Claim: order.Claim{Interval: market.Day1, Text: "calm"}, Known: true, True: true, Value: "5"}}
	bare := anOrder("bare", order.Filled, "Claude")
	bare.NoEvidence = true
	s.book.mu.Lock()
	s.book.orders = append(s.book.orders, o, bare)
	s.book.now = []order.Evidence{{Claim: o.Evidence[0].Claim, Known: true, Value: "41.520000000000003", Against: "30"}, o.Evidence[1]}
	s.book.conditions = []order.Evidence{{Claim: order.Claim{Interval: market.Hour4, Text: "new one"}, Known: true, Value: "3"}, o.Conditions[0]}
	s.book.mu.Unlock()
	b := s.browser().login()
	for path, want := range map[string][]string{
		"/console/approvals/waits": {
			"<span>asked: true, 28.731904</span>", "<span>now: false, 41.52 against 30</span>", "<span>true at 7 of 100 bars</span>", "asked: not known: too few bars",
			"Your condition:</span> calm", "<span>asked: true, 5</span>", "<span>now: true, 5</span>", "Your condition:</span> new one", "<span>now: false, 3</span>",
		},
		"/console/orders/waits": {"<span>true, 28.731904</span>", "true at 7 of 100 bars", "Your condition:</span> calm"},
	} {
		page := b.get(path).body
		for _, text := range append(want, "RSI(14) of BTCUSDT on 1h closes below 30", "&lt;b&gt;x&lt;/b&gt;") {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
	allow := `href="/console/approvals/waits/allow"`
	for text, denial := range map[string]*guard.Denial{
		"the value is above a limit": {Rule: "max_order_notional", Text: "the value is above a limit"},
		"RSI is false: 41.52.":       {Rule: "evidence", Text: "RSI is false: 41.52. Nothing was sent."},
		"calm is false":              {Rule: "entry_condition", Text: "calm is false"},
	} {
		s.book.mu.Lock()
		s.book.denial = denial
		s.book.mu.Unlock()
		page := b.get("/console/approvals/waits").body
		if !strings.Contains(page, text) || strings.Contains(page, allow) != (denial.Rule == "max_order_notional") || strings.Contains(page, "Nothing was sent") {
			t.Errorf("%s: %q, Allow can be pressed: %v", denial.Rule, text, strings.Contains(page, allow))
		}
		if form := b.get("/console/approvals/waits/allow").body; strings.Contains(form, "It is denied if you allow it now.") == strings.Contains(page, allow) {
			t.Errorf("%s: the form says otherwise", denial.Rule)
		}
	}
	if page := b.get("/console/orders/bare").body; !strings.Contains(page, "No evidence was given, and the policy asks for it.") {
		t.Error("an exit without a reason is not marked")
	}
}

// TestReasons_AreCountedByClient counts the reasons of a client in the last 30 days, over several pages of orders, on
// the page of clients.
func TestReasons_AreCountedByClient(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.mu.Lock()
	for i := range 702 {
		o := anOrder("r"+strconv.Itoa(i), order.Denied, "Claude")
		o.Token, o.Created = "9f3c21d0aaaa", noon().Add(-time.Duration(i)*time.Hour)
		o.Evidence = []order.Evidence{{Known: true, True: i%3 > 0}, {Missing: "too few bars"}}
		s.book.orders = append(s.book.orders, o)
	}
	late := anOrder("late", order.Denied, "Claude")
	late.Token, late.Created, late.Evidence = "9f3c21d0aaaa", noon().AddDate(0, 0, -31), []order.Evidence{{Known: true}}
	s.book.orders = append(s.book.orders, late)
	s.book.mu.Unlock()
	if page := s.browser().login().get("/console/clients").body; !strings.Contains(page, "1,404, 17 % false") {
		_, page, _ = strings.Cut(page, "Reasons, 30 days")
		t.Errorf("%.900s", page)
	}
}
