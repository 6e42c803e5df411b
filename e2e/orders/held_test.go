package orders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

// heldStep is when the program is killed while it holds the stop of a position itself, and
// what must be found after the next start. The entry waits for a stop price, which no venue
// takes with legs.
type heldStep struct {
	name   string
	bring  func(*shield)
	down   func(*shield) // happens before the next start
	here   string        // after it
	venue  string
	ends   string // after a minute in which the venue does not know the order
	healed string
}

func heldSteps() []heldStep {
	fires := func(s *shield) {
		const count = "SELECT count(*) FROM events WHERE kind = 'order_sent'"
		before := s.column(count)[0]
		s.holder.cutNew(s)
		s.await("the trigger is persisted", func() bool { s.holder.move(s.holder.crash); return s.column(count)[0] != before })
	}
	return []heldStep{
		{
			name: "it holds the stop, and the price passes it while down", venue: "entry filled, exit filled", here: "entry filled, stop_loss filled",
			bring: func(*shield) {}, down: func(s *shield) { s.holder.move(s.holder.crash) },
		},
		{
			name: "trigger persisted, not sent", bring: fires, venue: "entry filled", here: "entry filled, stop_loss submitted",
			ends: "entry filled, stop_loss ended, stop_loss filled", healed: "entry filled, exit filled",
			down: func(s *shield) { s.holder.move(s.holder.crash) },
		},
		{
			name: "trigger persisted, not sent, and the price came back", bring: fires, venue: "entry filled", here: "entry filled, stop_loss submitted",
			ends: "entry filled, stop_loss ended, stop_loss held", healed: "entry filled",
			down: func(s *shield) { s.holder.move(s.holder.rise()) },
		},
	}
}

// rise is a price at which an entry that waits is filled.
func (h *holder) rise() decimal.Decimal { return h.dip.Mul(dec("1.035")).Round(2) }

// TestCrash_Held kills the program while it holds the stop of a position: in the end the stop
// was sent once, or it is held again. candela has no prices of Alpaca outside the hours of the
// stock market, so the same rows at the fake Alpaca are TestHeld_KilledAtTheVenues of the desk.
func TestCrash_Held(t *testing.T) {
	t.Parallel()
	for place, at := range map[string]func(testing.TB, int) *holder{"binance": heldByBinance, "paper": heldOnPaper} {
		for _, m := range heldSteps() {
			t.Run(place+", "+m.name, func(t *testing.T) {
				t.Parallel()
				home, h := newHome(t), at(t, 1)
				h.fills = fmt.Sprintf(`"symbol":%q,"side":"buy","type":"market","quantity":%s,"stop_price":%s,"stop_loss":%s`,
					h.symbol, h.quantity, h.dip.Mul(dec("1.03")).Round(2), h.stop)
				policy(t, home, append(h.laws, `held_stops = "allow"`)...)
				s := &shield{scene: newScene(t, h.venue, home), holder: h, legs: 1}
				s.playHeld(m)
			})
		}
	}
}

func (s *shield) playHeld(m heldStep) {
	s.Helper()
	s.start()
	s.tool = "place_order"
	s.settled("entry open", "entry accepted, stop_loss held")
	if text := s.program.must("get_orders", `{}`).text; !strings.Contains(text, `"holder":"candela"`) || !strings.Contains(text, "protects only while candela runs") {
		s.Errorf("the orders do not name their holder: %s", text)
	}
	s.becomes("entry filled", "entry filled, stop_loss held", func() { s.holder.move(s.holder.rise()) })
	if out, err := run(s, "status", "--home", s.home); err != nil || !strings.Contains(out, "candela holds 1 stop; it protects only while candela runs") {
		s.Errorf("%v: %s", err, out)
	}
	m.bring(s)
	s.program.kill()
	s.unlock()
	s.venue.end()
	s.unhang()
	s.holder.mend()
	for _, c := range s.venue.reopen() {
		_ = c.Close()
	}
	m.down(s)
	s.start()
	s.becomes(m.venue, m.here, func() {})
	if m.ends != "" && *patient {
		s.becomes(m.healed, m.ends, func() { m.down(s) })
	}
	s.exactly()
	checkReceipts(s, s.home)
	if out, err := run(s, "audit", "verify", "--home", s.home); err != nil || !strings.Contains(out, "unbroken") {
		s.Errorf("%v: %s", err, out)
	}
}

// exactly holds that no more was sold than was bought.
func (s *shield) exactly() {
	s.Helper()
	var bought, sold decimal.Decimal
	for _, o := range s.holder.truth(s) {
		if o.role == "entry" {
			bought = bought.Add(o.filled)
		} else {
			sold = sold.Add(o.filled)
		}
	}
	if sold.GreaterThan(bought) {
		s.Errorf("bought %v and sold %v", bought, sold)
	}
}
