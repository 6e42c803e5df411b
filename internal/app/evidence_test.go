package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/trading/order"
	"candela/lib/market"
	"candela/lib/ta"
)

// found is what an answer of place_order says of its claims.
type found struct {
	Order struct {
		Evidence []claim `json:"evidence"`
	} `json:"order"`
}

type claim struct {
	True  *bool       `json:"true"`
	Value json.Number `json:"value"`
	Bar   string      `json:"bar"`
}

// shown is a line of an indicator and its value at a closed bar.
type shown struct {
	name, line string
	value      float64
}

// TestEvidence_HasTheValuesOfIndicators claims of every indicator with a line that its value is above itself, which is
// false. The denials have the values that get_indicators shows at the same closed bar, to the last bit.
func TestEvidence_HasTheValuesOfIndicators(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	for range 2 { // an hour may begin between two calls, and not twice
		end := time.Now().UTC().Truncate(time.Hour)
		all := closedValues(t, p, end)
		if len(all) < 100 {
			t.Fatalf("only %d indicators have values", len(all))
		}
		if claimsHaveValues(t, p, all, end) {
			t.Logf("%d indicators", len(all))
			return
		}
	}
	t.Error("two hours began")
}

// TestEvidence_InTheWordsOfModels places orders with reasons as models write them.
func TestEvidence_InTheWordsOfModels(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	for i, because := range []string{
		`[{"interval":"1h","value":{"indicator":"rsi","op":"<","value":100}}]`,
		`{"timeframe":"1h","indicator":"rsi","op":"<","value":100}`,
		`[{"interval":"1h","condition":{"and":[{"indicator":"rsi","op":"<","value":100},{"price_above":1}]}}]`,
		`[{"interval":"1h","all":[{"value":{"indicator":"rsi","op":"<","value":100}},{"interval":"1d","value":{"price":"close","op":">","value":1}}]}]`,
		`[{"price_above":1},{"symbol":"ETHUSDT","tf":"1d","value":{"price":"close","op":">","value":1}}]`,
	} {
		text, failed := p.settled("place_order", fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"idempotency_key":"k%d","because":%s}`, i, because))
		if failed || !strings.Contains(text, `"status":"filled"`) || !strings.Contains(text, `"true":true`) || strings.Contains(text, `"true":false`) || strings.Contains(text, `"true":null`) {
			t.Errorf("%s: %s", because, text)
		}
	}
}

// closedValues returns the first lines of the indicators at the bar that closed at a time.
func closedValues(t *testing.T, p *program, end time.Time) (all []shown) {
	t.Helper()
	for _, def := range ta.All() {
		if len(def.Lines) == 0 || !mayBeClaimed(def.Name, def.Lines[0]) {
			continue
		}
		if value, ok := closedValue(t, p, def.Name, def.Lines[0], end); ok {
			all = append(all, shown{def.Name, def.Lines[0], value})
		}
	}
	return all
}

// claimsHaveValues compares values with those of evidence. It reports false if evidence is of another bar.
func claimsHaveValues(t *testing.T, p *program, all []shown, end time.Time) bool {
	t.Helper()
	for claimed := range slices.Chunk(all, order.MaxClaims) {
		for i, got := range claimAbove(t, p, claimed) {
			if got.Bar != end.Format("2006-01-02T15:04:05.000Z") {
				return false
			}
			if value, err := got.Value.Float64(); err != nil || value != claimed[i].value || got.True == nil || *got.True {
				t.Errorf("%s is %v in evidence, %v in get_indicators", claimed[i].name, got.Value, claimed[i].value)
			}
		}
	}
	return true
}

// denied returns a comparison with itself that is false: above, or below where the value has reached a
// bound that it is never above.
func (s shown) denied() alert.Op {
	above := alert.Alert{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Hour1, Condition: alert.Condition{
		Type: alert.Value, Op: alert.Greater, Left: alert.Operand{Indicator: s.name, Line: s.line}, Right: alert.Operand{Number: decimal.NewFromFloat(s.value)},
	}}
	if above.Normalize(ta.Library{}) == nil && above.Condition.CheckReach(ta.Library{}, "value") == nil {
		return alert.Greater
	}
	return alert.Less
}

// mayBeClaimed reports whether a condition may be about a line: its values stay, and follow from the bars alone. A
// running sum depends on the bar at which it begins, which the answer names.
func mayBeClaimed(name, line string) bool {
	want := alert.Alert{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Hour1, Condition: alert.Condition{
		Type: alert.Value, Op: alert.Greater, Left: alert.Operand{Indicator: name, Line: line},
	}}
	if want.Normalize(ta.Library{}) != nil || name == "price" {
		return false
	}
	selection, err := ta.ResolveAlert(name)
	if err != nil {
		return false
	}
	sums, ok := selection.Instance.(ta.Summing)
	return !ok || !sums.Sums()
}

// claimAbove places an order because indicators are above values, and returns what was found.
func claimAbove(t *testing.T, p *program, all []shown) []claim {
	t.Helper()
	claims := make([]string, len(all))
	for i, s := range all {
		claims[i] = fmt.Sprintf(`{"interval":"1h","value":{"indicator":%q,"line":%q,"op":%q,"value":%s}}`, s.name, s.line, s.denied(), strconv.FormatFloat(s.value, 'f', -1, 64))
	}
	text, _ := p.settled("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"dry_run":true,"because":[`+strings.Join(claims, ",")+`]}`)
	var got found
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Order.Evidence) != len(all) {
		t.Fatalf("%.500s", text)
	}
	return got.Order.Evidence
}

// closedValue returns a line of an indicator at the bar that closed at a time, false if it has no value there.
func closedValue(t *testing.T, p *program, name, line string, end time.Time) (float64, bool) {
	t.Helper()
	text, failed := p.call("get_indicators", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","indicators":[%q],"end":%q}`, name, end.Format(time.RFC3339)))
	if failed {
		return 0, false
	}
	var got struct {
		Indicators map[string]struct {
			Lines []struct {
				Label string      `json:"label"`
				Last  json.Number `json:"last_value"`
			} `json:"lines"`
		} `json:"indicators"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, l := range got.Indicators[name].Lines {
		if l.Label == line {
			value, err := l.Last.Float64()
			return value, err == nil
		}
	}
	return 0, false
}
