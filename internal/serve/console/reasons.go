package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// reasonRow is a reason of an order, or a condition of the owner's own, as candela found it.
type reasonRow struct {
	Owner bool // a condition of the owner's own
	Claim string
	Then  *finding // when the order was placed; nil if it was not judged then
	Now   *finding // nil if it was not judged again
	Held  string
}

// finding is what was found of a reason.
type finding struct{ Text, Tone, Icon string }

func newFinding(e order.Evidence) *finding {
	switch {
	case !e.Known:
		text := "not known"
		if e.Missing != "" {
			text += ": " + e.Missing
		}
		return &finding{text, "muted", "warn"}
	case e.True:
		return &finding{withValues(e), "up", "check"}
	}
	return &finding{withValues(e), "down", "x"}
}

// withValues writes a verdict with both sides, where they are numbers.
func withValues(e order.Evidence) string {
	text := e.Verdict()
	if e.Value != "" {
		text += ", " + short(e.Value)
	}
	if e.Value != "" && e.Against != "" {
		text += " against " + short(e.Against)
	}
	return text
}

// short writes a number of an order with the digits that an owner reads, and other text as it is. get_orders and the receipt have all.
func short(text string) string {
	d, err := decimal.NewFromString(text)
	if err != nil {
		return text
	}
	return legible(d).String()
}

// reasons returns the reasons of an order.
func reasons(o order.Order) []reasonRow {
	rows := make([]reasonRow, 0, len(o.Evidence)+len(o.Conditions))
	for _, e := range o.Evidence {
		rows = append(rows, reasonRow{Claim: e.Text, Then: newFinding(e), Held: e.HeldText()})
	}
	for _, e := range o.Conditions {
		rows = append(rows, reasonRow{Owner: true, Claim: e.Text, Then: newFinding(e), Held: e.HeldText()})
	}
	if o.NoEvidence {
		rows = append(rows, reasonRow{Claim: "No evidence was given, and the policy asks for it."})
	}
	return rows
}

// reasonsNow adds what the reasons are now, and the owner's conditions that the policy did not have then.
func reasonsNow(o order.Order, claims, conditions []order.Evidence) []reasonRow {
	rows := reasons(o)
	for i, e := range claims[:min(len(claims), len(o.Evidence))] {
		rows[i].add(e)
	}
	for _, e := range conditions {
		at := slices.IndexFunc(o.Conditions, func(then order.Evidence) bool { return then.Same(e.Claim) })
		if at >= 0 {
			rows[len(o.Evidence)+at].add(e)
			continue
		}
		one := reasonRow{Owner: true, Claim: e.Text}
		one.add(e)
		rows = append(rows, one)
	}
	return rows
}

// add sets what a reason is now.
func (r *reasonRow) add(now order.Evidence) {
	r.Now = newFinding(now)
	r.Held = cmp.Or(now.HeldText(), r.Held)
}

// The orders whose reasons are counted for the clients.
const (
	countedFor    = 30 * 24 * time.Hour
	countedPages  = 4
	countedOrders = 500 // of a page
)

// reasonCount is how many reasons of a client were checked, and how many of them were false.
type reasonCount struct{ checked, wrong int }

// reasonCounts counts the reasons of the last 30 days, in the newest orders, by the key of the client's token. Without
// them the page of clients is good.
func (c *Console) reasonCounts(ctx context.Context, v *visit) map[string]reasonCount {
	if c.cfg.Account == nil {
		return nil
	}
	counts := make(map[string]reasonCount)
	q, since := order.Query{Most: countedOrders}, v.now.Add(-countedFor)
	for range countedPages {
		page, err := c.cfg.Account.OrderPage(ctx, v.caller(), q)
		if err != nil {
			return nil
		}
		for i := range page.Orders {
			o := &page.Orders[i]
			if o.Created.Before(since) {
				return counts
			}
			counts[o.Token] = counts[o.Token].with(o.Evidence)
		}
		if page.Left == 0 || len(page.Orders) == 0 {
			break
		}
		q.After = page.Orders[len(page.Orders)-1].Mark()
	}
	return counts
}

// with adds what was found of the reasons of an order.
func (n reasonCount) with(all []order.Evidence) reasonCount {
	for _, e := range all {
		if n.checked++; e.False() {
			n.wrong++
		}
	}
	return n
}

// words says how many were checked and what share was false, "" without any.
func (n reasonCount) words(f format) string {
	if n.checked == 0 {
		return ""
	}
	return f.Int(n.checked) + ", " + f.Int((100*n.wrong+n.checked/2)/n.checked) + " % false"
}
