package console

import (
	"cmp"

	"candela/internal/trading/order"
)

// reasonRow is a reason of an order, as candela found it.
type reasonRow struct {
	Claim     string
	Then, Now string // what it was when the order was placed, and is now; Now is "" if it was not judged again
	False     bool   // as it is known last
	Held      string
}

// reasons returns the reasons of an order.
func reasons(o order.Order) []reasonRow {
	rows := make([]reasonRow, 0, len(o.Evidence))
	for _, e := range o.Evidence {
		rows = append(rows, reasonRow{Claim: e.Text, Then: finding(e), False: e.False(), Held: e.HeldText()})
	}
	return rows
}

// reasonsNow adds what the reasons are now.
func reasonsNow(rows []reasonRow, now []order.Evidence) []reasonRow {
	for i := range min(len(rows), len(now)) {
		rows[i].Now, rows[i].False = finding(now[i]), now[i].False()
		rows[i].Held = cmp.Or(now[i].HeldText(), rows[i].Held)
	}
	return rows
}

// finding says what a claim is, with its value.
func finding(e order.Evidence) string {
	word := "unknown"
	if e.Known {
		word = map[bool]string{true: "true", false: "false"}[e.True]
	}
	if e.Value == "" {
		return word
	}
	return word + ", " + e.Value
}
