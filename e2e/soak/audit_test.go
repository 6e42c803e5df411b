package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// collect reads the newest orders and adds them to those known. What was listed once, and is
// not older than the oldest in the list, must be in it again, with no less filled.
func (o *operator) collect() bool {
	var page []order
	const limit = 300
	if o.read(o.ctx, "get_orders", fmt.Sprintf(`{"limit":%d}`, limit), &page) != nil {
		return false
	}
	here := map[string]bool{}
	oldest := boundary(page, limit)
	var filled []*order
	o.w.mu.Lock()
	var gone []string
	for i := range page {
		one := &page[i]
		here[one.ID] = true
		known := o.w.orders[one.ID]
		if known != nil && one.Filled.LessThan(known.Filled) {
			gone = append(gone, fmt.Sprintf("order %s had filled %s and has %s", one.ID, known.Filled, one.Filled))
		}
		if one.Filled.IsPositive() && (known == nil || known.Filled.IsZero()) {
			filled = append(filled, one)
		}
		o.w.orders[one.ID] = one
	}
	for id, one := range o.w.orders {
		if !here[id] && one.Created > oldest && !o.reported[id] {
			o.reported[id] = true
			gone = append(gone, fmt.Sprintf("order %s, %s, was listed and is gone", id, one.Status))
		}
	}
	slices.SortFunc(filled, func(a, b *order) int {
		return cmp.Or(cmp.Compare(a.Updated, b.Updated), cmp.Compare(a.Side, b.Side), cmp.Compare(a.ID, b.ID))
	})
	for _, one := range filled {
		o.w.traded = append(o.w.traded, one.ID)
	}
	o.w.mu.Unlock()
	if len(gone) > 0 {
		o.w.violate("account", "", "a page of %d orders, which are complete from %q on: %s, and %d more", len(page), oldest, gone[0], len(gone)-1)
	}
	return true
}

// boundary returns a time after which every order is in a page. Orders that open or close while
// the page is read count in its limit or are older than the others, so that a fifth is left out.
func boundary(page []order, limit int) string {
	if len(page) < limit {
		return "" // it has all
	}
	var closed []string
	for i := range page {
		if page[i].final() {
			closed = append(closed, page[i].Created)
		}
	}
	slices.Sort(closed)
	return closed[len(closed)/5]
}

// reckon returns what all trades so far come to.
func (o *operator) reckon() *account {
	a := newAccount()
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	for _, id := range o.w.traded {
		a.trade(o.w.orders[id])
	}
	return a
}

// filledSoFar sums up what is filled, to see whether something traded meanwhile.
func (o *operator) filledSoFar() (sum decimal.Decimal) {
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	for _, one := range o.w.orders {
		sum = sum.Add(one.Filled)
	}
	return sum
}

// auditQuiet lets nobody begin a step while it compares, if that is possible soon.
func (o *operator) auditQuiet() {
	o.collect()
	if o.pause() {
		defer o.w.quiet.Unlock()
		o.audit()
	}
}

// pause lets no step begin, if those under way end soon. The caller unlocks quiet.
func (o *operator) pause() bool {
	o.w.pausing.Store(true)
	defer o.w.pausing.Store(false)
	return within(o.ctx, 2*time.Second, o.w.quiet.TryLock)
}

// audit compares positions, balances and status with the trades while nobody trades. Balances
// follow a trade by its report, so that what differs is read again.
func (o *operator) audit() {
	wrong := ""
	same := within(o.ctx, 15*time.Second, func() bool {
		if !o.collect() {
			return false
		}
		before := o.filledSoFar()
		text, figures, ok := o.compare(o.reckon())
		if !ok || !o.collect() || !o.filledSoFar().Equal(before) {
			return false // a stop traded meanwhile, or the program is killed
		}
		if wrong = text; wrong == "" {
			o.stray(figures)
		}
		return wrong == ""
	})
	if !same && wrong != "" && o.ctx.Err() == nil && !o.unsure() {
		o.w.violate("account", "", "%s", wrong)
	}
	if same {
		o.audits++
	}
}

// unsure reports whether an order is known of which the venue may have filled more.
func (o *operator) unsure() bool {
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	for _, one := range o.w.orders {
		if one.unsure() {
			return true
		}
	}
	return false
}

// stray reports figures that differ, once for each symbol.
func (o *operator) stray(figures map[string]string) {
	for symbol, text := range figures {
		if !o.reported[symbol] {
			o.reported[symbol] = true
			o.w.violate("figures", symbol, "%s", text)
		}
	}
}

// compare returns how what the tools and the command say differs from the trades, and how the
// figures of positions do, by symbol.
func (o *operator) compare(a *account) (wrong string, figures map[string]string, ok bool) {
	var positions []position
	var b balances
	if o.read(o.ctx, "get_positions", `{}`, &positions) != nil || o.read(o.ctx, "get_account", `{}`, &b) != nil {
		return "", nil, false
	}
	s, err := o.status()
	if err != nil {
		return "", nil, false // while it is killed nobody answers
	}
	here := map[string]*position{}
	figures = map[string]string{}
	for i := range positions {
		p := &positions[i]
		here[p.Symbol] = p
		if text := a.of(p.Symbol).differs(p); text != "" {
			return "get_positions: " + p.Symbol + ": " + text, nil, true
		}
		if text := a.of(p.Symbol).strays(p); text != "" {
			figures[p.Symbol] = text
		}
	}
	for symbol, h := range a.holdings {
		if here[symbol] == nil && !h.held.IsZero() {
			return fmt.Sprintf("get_positions: %s is missing, the fills come to %s", symbol, h.held), nil, true
		}
	}
	if text := a.balances(b); text != "" {
		return "get_account: " + text, nil, true
	}
	return s.differs(here), figures, true
}

// balances returns how balances differ from the trades.
func (a *account) balances(b balances) string {
	cash := decimal.NewFromInt(cashAtStart).Add(a.cash)
	for _, c := range b.Cash {
		if c.Asset == quote && !c.Quantity.decimal().Equal(cash) {
			return fmt.Sprintf("cash %s, the fills come to %s", c.Quantity, cash)
		}
	}
	have := map[string]decimal.Decimal{}
	for _, h := range b.Holdings {
		have[h.Asset] = h.Quantity.decimal()
	}
	for symbol, h := range a.holdings {
		if got := have[strings.TrimSuffix(symbol, quote)]; !got.Equal(h.held) {
			return fmt.Sprintf("holds %s of %s, the fills come to %s", got, symbol, h.held)
		}
	}
	return ""
}

// differs returns how the status differs from the positions.
func (s state) differs(here map[string]*position) string {
	n := 0
	for _, account := range s.Accounts {
		for _, p := range account.Positions {
			n++
			_, symbol, _ := strings.Cut(p.Symbol, ":")
			tool := here[symbol]
			if tool == nil || !tool.Quantity.Equal(p.Quantity) {
				return fmt.Sprintf("status: %s has %s, get_positions %+v", p.Symbol, p.Quantity, tool)
			}
			shown, _ := decimal.NewFromString(tool.Entry.String())
			exact, err := decimal.NewFromString(p.Entry.String())
			if err != nil || !shown.Equal(exact) && shown.Sub(exact).Abs().GreaterThan(decimal.New(1, -8)) {
				return fmt.Sprintf("status: %s entered at %s, get_positions %s", p.Symbol, p.Entry, tool.Entry)
			}
		}
	}
	if n != len(here) {
		return fmt.Sprintf("status has %d positions, get_positions %d", n, len(here))
	}
	return ""
}

// acknowledged checks that every order that was acknowledged is listed.
func (o *operator) acknowledged() {
	o.collect()
	o.w.mu.Lock()
	var gone []string
	for id, symbol := range o.w.acked {
		if o.w.orders[id] == nil {
			gone = append(gone, symbol+" "+id)
		}
	}
	o.w.mu.Unlock()
	for _, text := range gone {
		o.w.violate("account", "", "order %s was acknowledged and is not listed", text)
	}
}
