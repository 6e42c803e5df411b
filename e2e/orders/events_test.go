package orders

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEvents_OnceAcrossKills buys with a stop, sells a part by hand, and has the rest sold by the stop. A client that
// asks for order events hears of each once, whenever the program is killed; one that asks for alerts hears of none.
func TestEvents_OnceAcrossKills(t *testing.T) {
	t.Parallel()
	for place, at := range map[string]func(testing.TB, int) *holder{"binance": heldByBinance, "paper": heldOnPaper} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			home, h := newHome(t), at(t, 1)
			h.fills = fmt.Sprintf(`"symbol":%q,"side":"buy","type":"limit","price":%s,"quantity":%s,"stop_loss":%s`, h.symbol, h.dip.Mul(dec("1.025")).Round(2), h.quantity, h.stop)
			policy(t, home, h.laws...)
			s := &shield{scene: newScene(t, h.venue, home), holder: h, legs: 1}
			s.start()
			var heard []heardEvent
			listen := func() {
				for _, e := range s.events() { // what was taken within a second before a kill comes again, with its number
					if !slices.Contains(heard, e) {
						heard = append(heard, e)
					}
				}
				if none := s.program.must("get_notifications", `{}`); none.text != "[]" {
					t.Fatalf("without events: %s", none.text)
				}
			}
			if r := s.program.must("place_order", s.order("")); r.isError {
				t.Fatal(r.text)
			}
			s.await("the entry is reported", func() bool { listen(); return len(heard) >= 1 })
			s.restart()
			half := h.quantity.Div(dec("2"))
			exit := fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":%s,"reduce_only":true}`, h.symbol, half)
			s.await("the exit is taken", func() bool { return !s.program.must("place_order", exit).isError })
			s.await("the exit is a trade", func() bool { return len(s.earned().Trades) == 1 })
			s.restart() // what was not polled yet stays
			s.await("the stop is a trade", func() bool {
				h.move(h.crash)
				return len(s.earned().Trades) == 2 && s.program.must("get_positions", `{}`).text == "[]"
			})
			s.await("the end of the position is reported", func() bool { listen(); return len(heard) >= 4 })
			s.restart()
			listen()
			var got []string
			for _, e := range heard {
				got = append(got, strings.TrimSpace(e.Event+" "+e.Role))
			}
			if want := "order_filled entry, order_filled exit, order_filled stop_loss, position_closed stop_loss"; strings.Join(got, ", ") != want {
				t.Fatalf("heard %s, want %s", strings.Join(got, ", "), want)
			}
			if all := s.earned().all; !dec(heard[3].Realised).Equal(dec(all)) || heard[3].After != "0" || heard[2].Status != "filled" {
				t.Errorf("the account earned %s; heard %+v", all, heard)
			}
		})
	}
}

// heardEvent is a record of get_notifications about an order or a position.
type heardEvent struct {
	Event, Role, Status string
	Seq                 uint64
	After               string `json:"position_after"`
	Realised            string `json:"realized_pnl"`
}

// events takes the order events out of the queue.
func (s *shield) events() (all []heardEvent) {
	s.Helper()
	if r := s.program.must("get_notifications", `{"events":["orders"]}`); r.isError || json.Unmarshal([]byte(r.text), &all) != nil {
		s.Fatal(r.text)
	}
	return all
}

// restart kills the program and starts it.
func (s *shield) restart() {
	s.Helper()
	s.program.kill()
	s.start()
}
