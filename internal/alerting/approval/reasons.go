package approval

import (
	"fmt"
	"strconv"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/trading/order"
)

// reportFor is how long a message about an order without a reason may wait for its receiver.
const reportFor = 24 * time.Hour

// Unreasoned queues a report of an order that reduces a position without a reason where the owner asks for one. It
// never blocks.
func (a *Asker) Unreasoned(o order.Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.exits == 0 {
		a.exit = o
	}
	a.exits++
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// unreasoned returns the message about orders without a reason.
func (a *Asker) unreasoned(first order.Order, n int) sink.Notice {
	text := "An order that reduces a position"
	if a.detail {
		text = fmt.Sprintf("An order to %s %s %s (%s, %s)", first.Side, first.Quantity, first.Symbol, first.Type, first.Mode)
	}
	text += " came without a reason, which the policy asks for, and was not held."
	if n > 1 {
		text += " " + strconv.Itoa(n-1) + " more came after it."
	}
	notice := sink.Notice{ID: "no-evidence-" + first.ID, Title: "Order without a reason", Text: text, Until: a.now().Add(reportFor)}
	if a.base != "" {
		notice.Link = a.base + "/console/orders/" + first.ID
	}
	return notice
}

// reasonLines has a line for each reason of an order, and for each condition of the owner.
func reasonLines(o order.Order) []string {
	if len(o.Evidence) == 0 {
		return append([]string{"\nReason: none"}, lines("Your condition", o.Conditions)...)
	}
	return append(lines("Reason", o.Evidence), lines("Your condition", o.Conditions)...)
}

func lines(what string, all []order.Evidence) []string {
	texts := make([]string, 0, len(all))
	for _, e := range all {
		text := "\n" + what + ": " + e.Text + ": " + e.Finding()
		if held := e.HeldText(); held != "" {
			text += " (true at " + held + ")"
		}
		texts = append(texts, text)
	}
	return texts
}
