package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/remote"
)

// venueBook is what the venue itself knows of the account.
type venueBook struct {
	Orders []venueOrder
	// Balances by asset. The account had none of what is traded.
	Balances map[string]struct{ Free, Locked decimal.Decimal }
}

type venueOrder struct {
	ClientID, Symbol, Side, Status string
	Quantity, Executed             decimal.Decimal
	Created                        time.Time
}

// ownBook is the account as the program reports it.
type ownBook struct {
	orders    map[string]record          // by key, as they are now
	positions map[string]decimal.Decimal // by symbol
}

// truth reads the venue's book.
func (s *site) truth() (b venueBook, err error) {
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.floor+"/fake/truth", http.NoBody)
	if err != nil {
		return b, err
	}
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return b, err
	}
	defer func() { _ = response.Body.Close() }()
	return b, json.NewDecoder(response.Body).Decode(&b)
}

// ownBook asks for the account: each order by its key, as a client that lost the answer.
func (p *people) ownBook(c *remote.Client) (b ownBook, err error) {
	b.orders, b.positions = map[string]record{}, map[string]decimal.Decimal{}
	for _, d := range p.deals {
		if d.id == "" {
			continue
		}
		answer, err := p.call(c, "place_order", d.arguments())
		got := record{ID: d.id, Status: "rejected"} // what the error is of then
		if r, ok := errors.AsType[*remote.RefusalError](err); ok && (r.Code == "order_rejected" || r.Code == "not_sent") {
			err = nil
		} else if err == nil {
			err = json.Unmarshal(answer, &got)
		}
		if err != nil {
			return b, fmt.Errorf("%s: %w", d.key, err)
		}
		b.orders[d.key] = got
	}
	answer, err := p.call(c, "get_positions", `{}`)
	if err != nil {
		return b, err
	}
	var list []struct {
		Symbol, Side string
		Quantity     decimal.Decimal
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return b, err
	}
	for _, one := range list {
		if one.Side == "sell" {
			one.Quantity = one.Quantity.Neg()
		}
		b.positions[one.Symbol] = b.positions[one.Symbol].Add(one.Quantity)
	}
	return b, nil
}

// words are the program's for the venue's.
func words() map[string]string {
	return map[string]string{
		"NEW": "accepted", "PARTIALLY_FILLED": "partially_filled", "FILLED": "filled", "CANCELED": "canceled", "EXPIRED": "expired",
	}
}

// giveUp is how old an order that the venue never got may be before it is over: the
// program asks for it for a minute, with growing pauses.
const giveUp = 3 * time.Minute

// mayWait is how long an order may wait to be sent.
const mayWait = 10 * time.Second

// account is the outcome for orders.
type account struct {
	placed, acked, denied, late, unsent int
	there                               int // at the venue
	again                               int // calls that repeated one
	wrong                               []string
	took                                []time.Duration   // until an order was acknowledged, ascending
	now                                 map[string]record // by ID
}

func (a *account) complain(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// judgeDeals compares the orders that clients were answered with the venue's book: every
// acknowledged order is there once and as answered, there are no others,
// and the positions are what the venue counts.
func judgeDeals(deals []*deal, venue venueBook, own ownBook, now time.Time) *account {
	a := &account{placed: len(deals), there: len(venue.Orders), now: map[string]record{}}
	there := map[string][]venueOrder{}
	for _, o := range venue.Orders {
		there[o.ClientID] = append(there[o.ClientID], o)
	}
	keys := map[string]string{} // by id
	for _, d := range deals {
		a.again += d.calls - 1
		if d.denied {
			a.denied++
		}
		if d.late {
			a.late++
		}
		if d.id == "" {
			continue
		}
		a.acked++
		a.took = append(a.took, d.acked.Sub(d.first))
		if other := keys[d.id]; other != "" {
			a.complain("the order %s is of the keys %s and %s", d.id, other, d.key)
		}
		keys[d.id] = d.key
		a.now[d.id] = own.orders[d.key]
		a.judge(d, there[d.id], own.orders[d.key], now)
		delete(there, d.id)
	}
	for id, some := range there {
		a.complain("DOUBLED: the venue has %d orders %s (%+v), of which no client was notified", len(some), id, some[0])
	}
	a.judgePositions(venue, own)
	slices.Sort(a.took)
	return a
}

// judge judges one order that was acknowledged.
func (a *account) judge(d *deal, there []venueOrder, now record, at time.Time) {
	if now.ID != d.id {
		a.complain("the key %s was of %s and is of %s", d.key, d.id, now.ID)
	}
	open := []string{"submitted", "uncertain"}
	switch {
	case len(there) > 1:
		a.complain("DOUBLED: the order %s (%s) is %d times at the venue", d.key, d.id, len(there))
	case len(there) == 1:
		o := there[0]
		if words()[o.Status] != now.Status || !o.Executed.Equal(now.Filled) || o.Symbol != d.symbol || !strings.EqualFold(o.Side, d.side) || !o.Quantity.Equal(d.quantity) {
			a.complain("the order %s is %+v at the venue, and was reported as %+v", d.key, o, now)
		}
		if d.cancels && o.Status != "CANCELED" {
			a.complain("the order %s was cancelled and is %s at the venue", d.key, o.Status)
		}
	case !slices.Contains(open, d.status):
		a.complain("LOST: the order %s (%s) was acknowledged as %s and is not at the venue", d.key, d.id, d.status)
	case now.Status != "canceled" && now.Status != "rejected" && (!slices.Contains(open, now.Status) && now.Status != "pending_cancel" || at.Sub(d.acked) > giveUp):
		a.complain("the order %s never reached the venue and is %s after %v", d.key, now.Status, at.Sub(d.acked))
	default:
		a.unsent++
	}
}

// judgeLate wants a reason for each order that was not sent: something happened
// meanwhile, or it waited for so long on a loaded machine.
func judgeLate(deals []*deal, faults []fault) (wrong []string) {
	for _, d := range deals {
		during := func(f fault) bool { return d.acked.After(f.began) && d.first.Before(f.healed) }
		if took := d.acked.Sub(d.first); d.late && took < mayWait && !slices.ContainsFunc(faults, during) {
			wrong = append(wrong, fmt.Sprintf("the order %s was not sent for no reason, after %v", d.key, took))
		}
	}
	return wrong
}

// judgePositions compares what is held.
func (a *account) judgePositions(venue venueBook, own ownBook) {
	symbols := map[string]bool{}
	for symbol := range own.positions {
		symbols[symbol] = true
	}
	for _, o := range venue.Orders {
		symbols[o.Symbol] = true
	}
	for symbol := range symbols {
		b := venue.Balances[strings.TrimSuffix(symbol, "USDT")]
		if held := b.Free.Add(b.Locked); !held.Equal(own.positions[symbol]) {
			a.complain("the venue has %[2]s of %[1]s, and the program reports %[3]s", symbol, held, own.positions[symbol])
		}
	}
}

// settleDeals waits until the books agree, and returns the outcome.
func (p *people) settleDeals() (a *account) {
	p.Helper()
	c := p.client("bookkeeper")
	for deadline := time.Now().Add(3 * time.Minute); ; {
		own, err := p.ownBook(c)
		var venue venueBook
		if err == nil {
			venue, err = p.truth()
		}
		if err == nil {
			if a = judgeDeals(p.deals, venue, own, time.Now()); len(a.wrong) == 0 {
				return a
			}
		}
		if time.Now().After(deadline) {
			if a == nil {
				p.Fatalf("the account cannot be read: %v", err)
			}
			return a
		}
		p.pause(time.Second)
	}
}

// judgeAccount waits until the books agree, reports where they do not, and returns how long
// orders took while something happened.
func (p *people) judgeAccount(faults []fault) *account {
	p.Helper()
	a := p.settleDeals()
	a.wrong = append(a.wrong, judgeLate(p.deals, faults)...)
	for i, wrong := range a.wrong {
		if i < 10 {
			p.Error(wrong)
		}
	}
	if len(a.wrong) > 10 {
		p.Errorf("and %d more", len(a.wrong)-10)
	}
	longest := map[string]time.Duration{}
	for _, d := range p.deals {
		for _, f := range faults {
			if d.id != "" && d.acked.After(f.began) && d.first.Before(f.healed) {
				longest[f.kind] = max(longest[f.kind], d.acked.Sub(d.first))
			}
		}
	}
	for kind, took := range longest {
		p.Logf("%-80s longest until an order was acknowledged %5.1f s", kind, took.Seconds())
	}
	return a
}

func (a *account) String() string {
	return fmt.Sprintf("%d orders placed, %d acknowledged, %d denied, %d too late to be sent, %d calls repeated; %d at the venue, %d written down and never sent; to an answer: p50 %.2f s, p99 %.2f s, longest %.2f s",
		a.placed, a.acked, a.denied, a.late, a.again, a.there, a.unsent, at(a.took, 0.5), at(a.took, 0.99), at(a.took, 1))
}

// TestBooks_WhatIsWrongIsFound holds made-up books against each other.
func TestBooks_WhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	one := decimal.NewFromInt(1)
	order := func(id string) venueOrder {
		return venueOrder{ClientID: id, Symbol: "C00USDT", Side: "BUY", Status: "FILLED", Quantity: one, Executed: one}
	}
	type books struct {
		deals []*deal
		venue venueBook
		own   ownBook
	}
	for name, c := range map[string]struct {
		spoil func(b *books)
		wrong string
	}{
		"nothing":                           {func(*books) {}, ""},
		"an order under two ids":            {func(b *books) { b.venue.Orders = append(b.venue.Orders, order("o9")) }, "no client was notified"},
		"an order twice":                    {func(b *books) { b.venue.Orders = append(b.venue.Orders, order("o1")) }, "2 times at the venue"},
		"an order that is not there":        {func(b *books) { b.venue.Orders = b.venue.Orders[1:] }, "LOST"},
		"another state":                     {func(b *books) { b.venue.Orders[0].Status = "EXPIRED" }, "was reported as"},
		"other fills":                       {func(b *books) { b.venue.Orders[0].Executed = decimal.Zero }, "was reported as"},
		"another order for a key":           {func(b *books) { b.own.orders["k1"] = record{"o7", "filled", one} }, "was of o1 and is of o7"},
		"a key that gives another's order":  {func(b *books) { b.deals[0].id = "o2" }, "is of the keys"},
		"another position":                  {func(b *books) { b.own.positions["C00USDT"] = one }, "the venue has 2"},
		"a position that is not there":      {func(b *books) { b.own.positions["C01USDT"] = one }, "the venue has 0 of C01USDT"},
		"one that never left is over":       {func(b *books) { b.deals[2].acked = begun.Add(-time.Hour) }, "is submitted after"},
		"one that never left is looked for": {func(b *books) { b.own.orders["k3"] = record{ID: "o3", Status: "uncertain"} }, ""},
		"a cancel that did nothing": {func(b *books) {
			b.venue.Orders[0].Status, b.deals[0].status, b.deals[0].cancels = "NEW", "accepted", true
			b.own.orders["k1"] = record{"o1", "accepted", one}
		}, "was cancelled and is NEW"},
	} {
		b := &books{own: ownBook{orders: map[string]record{}, positions: map[string]decimal.Decimal{"C00USDT": decimal.NewFromInt(2)}}}
		for i, status := range []string{"filled", "filled", "submitted"} {
			key, id := fmt.Sprintf("k%d", i+1), fmt.Sprintf("o%d", i+1)
			b.deals = append(b.deals, &deal{key: key, id: id, symbol: "C00USDT", side: "buy", quantity: one, status: status, calls: 1, first: begun, acked: begun})
			b.own.orders[key] = record{id, status, one}
		}
		b.venue.Orders = []venueOrder{order("o1"), order("o2")}
		b.venue.Balances = map[string]struct{ Free, Locked decimal.Decimal }{"C00": {one, one}}
		c.spoil(b)
		wrong := strings.Join(judgeDeals(b.deals, b.venue, b.own, begun).wrong, "; ")
		if (wrong == "") != (c.wrong == "") || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// TestLate_WantsAReason has orders that were not sent, with reasons and without.
func TestLate_WantsAReason(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	faults := []fault{{began: begun.Add(10 * time.Second), healed: begun.Add(20 * time.Second)}}
	for name, c := range map[string]struct {
		first, took time.Duration
		late, wrong bool
	}{
		"before all":            {2 * time.Second, 7 * time.Second, true, true},
		"when it begins":        {2 * time.Second, 9 * time.Second, true, false},
		"meanwhile":             {12 * time.Second, time.Second, true, false},
		"when it ends":          {19 * time.Second, 9 * time.Second, true, false},
		"after all":             {21 * time.Second, 9 * time.Second, true, true},
		"after all, for long":   {21 * time.Second, 10 * time.Second, true, false},
		"one that was not late": {2 * time.Second, time.Second, false, false},
	} {
		d := &deal{key: "k", late: c.late, first: begun.Add(c.first), acked: begun.Add(c.first + c.took)}
		if wrong := judgeLate([]*deal{d}, faults); (len(wrong) > 0) != c.wrong {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
