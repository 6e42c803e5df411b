package orders

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
)

// TestTrades_SurviveAKill sells a position by hand in part and by its stop for the rest. get_trades and get_account
// say what that earned, and the same after kill -9.
func TestTrades_SurviveAKill(t *testing.T) {
	t.Parallel()
	for place, at := range map[string]func(testing.TB, int) *holder{"binance": heldByBinance, "paper": heldOnPaper} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			home, h := newHome(t), at(t, 1)
			h.fills = fmt.Sprintf(`"symbol":%q,"side":"buy","type":"limit","price":%s,"quantity":%s,"stop_loss":%s`, h.symbol, h.dip.Mul(dec("1.025")).Round(2), h.quantity, h.stop)
			policy(t, home, h.laws...)
			s := &shield{scene: newScene(t, h.venue, home), holder: h, legs: 1}
			s.start()
			if r := s.program.must("place_order", s.order("")); r.isError {
				t.Fatal(r.text)
			}
			half := h.quantity.Div(dec("2"))
			exit := fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":%s,"reduce_only":true}`, h.symbol, half)
			s.await("the exit is taken", func() bool { return !s.program.must("place_order", exit).isError })
			s.await("the exit is a trade", func() bool { return len(s.earned().Trades) == 1 })
			s.await("the stop is a trade", func() bool {
				h.move(h.crash)
				return len(s.earned().Trades) == 2 && s.program.must("get_positions", `{}`).text == "[]"
			})
			before := s.earned()
			if before.Trades[0].Reason != "stop" || before.Trades[1].Reason != "exit" {
				t.Errorf("the trades are %+v", before.Trades)
			}
			var sum decimal.Decimal
			for _, one := range before.Trades {
				sum = sum.Add(dec(one.Realised))
			}
			if len(before.Sums) != 1 || !sum.Equal(dec(before.Sums[0].Realised)) || before.Sums[0].Losses == 0 || !sum.Equal(dec(before.all)) {
				t.Errorf("%v was earned; the sums are %+v, the account says %s", sum, before.Sums, before.all)
			}
			s.program.kill()
			s.start()
			if after := s.earned(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("before the kill %+v, after it %+v", before, after)
			}
		})
	}
}

// earnings is what get_trades and get_account say.
type earnings struct {
	Trades []struct {
		Reason, Quantity, Net string
		Realised              string `json:"realized_pnl"`
	}
	Sums []struct {
		Wins, Losses int
		Realised     string `json:"realized_pnl"`
	}
	all string
}

func (s *shield) earned() earnings {
	s.Helper()
	var e earnings
	var account struct {
		Earned map[string]struct {
			Realised string `json:"realized_pnl"`
		}
	}
	for name, answer := range map[string]any{"get_trades": &e, "get_account": &account} {
		if r := s.program.must(name, `{}`); r.isError || json.Unmarshal([]byte(r.text), answer) != nil {
			s.Fatal(name + ": " + r.text)
		}
	}
	e.all = account.Earned["all"].Realised
	return e
}
