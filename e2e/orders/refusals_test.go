package orders

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mistake is a call that must reach no venue.
type mistake struct {
	name string
	call string // the arguments; what it has is put before those of a good order
	rule string // of the guard's, "" when the arguments are wrong
	says string
}

// mistakes are calls that an agent makes by mistake, or that somebody makes it make.
// docs/errors.md has more of them, at a venue in memory.
func mistakes(v *venue) []mistake {
	symbol, grid, off := `"symbol":"BTCUSDT"`, `"quantity":0.0000001`, `"price":49000.00001`
	if v.name == "alpaca" {
		symbol, grid, off = `"symbol":"MSFT"`, `"quantity":0.0000000001`, `"price":99.001`
	}
	limit := symbol + `,"side":"buy","type":"limit","quantity":1,`
	market := symbol + `,"side":"buy","type":"market",`
	near := func(times string) string { return `"price":` + v.last.Mul(dec(times)).Round(2).String() }
	return []mistake{
		{"a quantity with a comma", market + `"quantity":"1,000"`, "", "a number above 0, without quotes"},
		{"a quantity that is no number", market + `"quantity":"NaN"`, "", "without quotes"},
		{"a bare NaN", market + `"quantity":NaN`, "", "-32700"},
		{"a quantity without end", market + `"quantity":1e400`, "", "1e400"},
		{"a quantity below zero", market + `"quantity":-1`, "", "above 0"},
		{"no quantity", market + `"quantity":0`, "", "above 0"},
		{"a side that does not exist", symbol + `,"side":"sideways","type":"market","quantity":1`, "", "buy, sell"},
		{"an unknown symbol", `"symbol":"NOSUCHUSDT","side":"buy","type":"market","quantity":1`, "", "NOSUCHUSDT"},
		{"a symbol of another venue", `"symbol":"kraken:BTC/USD","side":"buy","type":"market","quantity":1`, "", "symbols of " + v.name + ", where orders go"},
		{"a price off the grid", limit + off, "venue_tick", "not a multiple of the venue's step"},
		{"a quantity off the grid", market + grid, "venue_step", "not a multiple of the venue's step"},
		{"a price 50 % too high", limit + near("1.5"), "price_band_pct", "above the last price"},
		{"a price 50 % too low", limit + near("0.5"), "resting_band_pct", "below the last price"},
		{"a quantity with three digits too many", market + `"quantity":2000`, "max_order_notional", "the limit per order is 10000"},
		{"a sale of what is not held", symbol + `,"side":"sell","type":"market","quantity":1`, "allow_short", "would open a short position"},
	}
}

// refuse makes a call and holds that it is refused by a rule, in words, with the
// mode, and that nothing arrived at the venue.
func refuse(t *testing.T, p *program, v *venue, m mistake) {
	t.Helper()
	before := v.asked.Load()
	r := p.must("place_order", "{"+m.call+"}")
	var answer struct {
		Code        json.RawMessage // a number where the protocol is broken
		Rule, Limit string
		Order       *struct{ Status, Mode string }
	}
	if !r.isError || !strings.Contains(r.text, m.says) || json.Unmarshal([]byte(r.text), &answer) != nil || answer.Rule != m.rule {
		t.Errorf("%s: %s, want rule %q and %q", m.name, r.text, m.rule, m.says)
	}
	if m.rule != "" && (string(answer.Code) != `"order_denied"` || answer.Limit == "" || answer.Order == nil || answer.Order.Status != "denied" || answer.Order.Mode != "paper") {
		t.Errorf("%s: the refusal lacks something: %s", m.name, r.text)
	}
	if n := v.asked.Load() - before; n != 0 {
		t.Errorf("%s: %d requests reached the venue", m.name, n)
	}
}

// TestRefusals_ReachNoVenue makes hostile and mistaken calls over stdio, under the
// default policy, at both venues.
func TestRefusals_ReachNoVenue(t *testing.T) {
	t.Parallel()
	for _, at := range []func(testing.TB, string) *venue{atBinance, atAlpaca} {
		home := newHome(t)
		v := at(t, home)
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			usual(t, v, home)
			p := start(t, home, v.environ, v.args)
			s := &scene{T: t, venue: v, home: home, program: p}
			s.trades()
			for _, m := range mistakes(v) {
				refuse(t, p, v, m)
			}
			if n := len(v.orders()); n != 0 {
				t.Fatalf("the venue has %d orders", n)
			}
			halted(t, p, v, home)
			repeated(t, p, v)
			flood(t, p, v)
		})
	}
}

// usual has the default policy, but for prices of the fake that are too old, for the
// number of calls that this makes, and for the time that two of them may take here.
func usual(t *testing.T, v *venue, home string) {
	t.Helper()
	if err := os.Remove(filepath.Join(home, "policy.toml")); err != nil {
		t.Fatal(err)
	}
	lines := []string{"max_orders_per_minute = 40", `duplicate_window = "1m"`}
	if v.name == "alpaca" {
		lines = append(lines, `max_quote_age = "1h"`)
	}
	policy(t, home, lines...)
}

// halted stops trading from outside: no order passes.
func halted(t *testing.T, p *program, v *venue, home string) {
	t.Helper()
	if out, err := run(t, "halt", "too", "many", "mistakes", "--home", home); err != nil || !strings.Contains(out, "Trading is HALTED") {
		t.Fatalf("%v: %s", err, out)
	}
	refuse(t, p, v, mistake{"an order during a halt", v.fills, "halted", "too many mistakes"})
	if out, err := run(t, "resume", "--home", home); err != nil || !strings.Contains(out, "Trading is ACTIVE") {
		t.Fatalf("%v: %s", err, out)
	}
}

// repeated calls twice: the first order passes, the second does not.
func repeated(t *testing.T, p *program, v *venue) {
	t.Helper()
	if r := p.must("place_order", "{"+v.fills+"}"); r.isError {
		t.Errorf("a good order: %s", r.text)
	}
	refuse(t, p, v, mistake{"the same call again", v.fills, "duplicate_window", "Duplicate of order"})
	keyed := `,"idempotency_key":"k"`
	if r := p.must("place_order", "{"+v.fills+keyed+"}"); r.isError {
		t.Errorf("with a key of its own: %s", r.text)
	}
	before := v.asked.Load()
	if r := p.must("place_order", "{"+v.fills+keyed+"}"); r.isError || v.asked.Load() != before {
		t.Errorf("the same key again: %s", r.text)
	}
	refuse(t, p, v, mistake{"the key for another order", v.rests + keyed, "", "was used for order"})
}

// flood makes a hundred calls without a pause: those beyond the limit reach nothing.
func flood(t *testing.T, p *program, v *venue) {
	t.Helper()
	before, began := v.asked.Load(), time.Now()
	rules := make(map[string]int)
	for i := range 100 {
		r := p.must("place_order", fmt.Sprintf(`{%s,"idempotency_key":"flood %d"}`, v.fills, i))
		var answer struct{ Rule string }
		if err := json.Unmarshal([]byte(r.text), &answer); err != nil {
			t.Fatal(err)
		}
		rules[answer.Rule]++
	}
	sent, took := int(v.asked.Load()-before), time.Since(began)
	allowed := 40 * (1 + int(took/time.Minute)) // a slow machine makes fewer calls in a minute
	if sent > allowed || sent != rules[""] || rules["max_orders_per_minute"] < 100-allowed || sent+rules["max_orders_per_minute"]+rules["max_symbol_exposure"]+rules["max_daily_notional"] != 100 {
		t.Errorf("of a hundred calls in %v %d reached the venue: %v", took, sent, rules)
	}
}
