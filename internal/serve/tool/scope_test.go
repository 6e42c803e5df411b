package tool_test

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/charting"
	"candela/lib/fault"
)

func allScopes() []principal.Scope {
	return append([]principal.Scope{principal.NoScope}, principal.Scopes()...)
}

// withScope returns a caller whose token has a scope.
func withScope(s principal.Scope) principal.Caller {
	c := caller()
	c.Scope = s
	return c
}

// over returns the tools over an account, with pictures that are only checked.
func over(t *testing.T, account *tooltest.Account, renderer charting.Renderer) *tool.Registry {
	t.Helper()
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, renderer, account.Parts()), Trading: account.Parts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused reports whether a call was refused for its scope, and demands the words that
// let a model explain it.
func refused(t *testing.T, result mcp.Result, name string, need, has principal.Scope) bool {
	t.Helper()
	if !result.IsError || !strings.Contains(string(result.Content[0].Text), "insufficient_scope") {
		return false
	}
	var p toolError
	if err := json.Unmarshal(result.Content[0].Text, &p); err != nil {
		t.Fatal(err)
	}
	want := name + " needs the scope " + need.String() + ", and the token of this client has " + has.String() + "; " +
		"the owner can connect the client again and approve it with more access"
	if p.Code != "insufficient_scope" || p.Message != want || *p.Retryable || result.Kind != fault.Unauthorized || result.Structured != nil || len(result.Content) != 1 {
		t.Errorf("%s with %s: %+v, kind %s", name, has, p, result.Kind)
	}
	return true
}

// TestScopes_OfEveryTool calls every tool with every scope: with arguments that are right,
// and with others, which must not be looked at first.
func TestScopes_OfEveryTool(t *testing.T) {
	t.Parallel()
	registry := over(t, &tooltest.Account{}, blank{})
	needs := tooltest.Scopes()
	if len(needs) != len(registry.Tools()) {
		t.Errorf("%d tools have a scope, of %d", len(needs), len(registry.Tools()))
	}
	for _, each := range registry.Tools() {
		need := needs[each.Name]
		for _, has := range allScopes() {
			for _, arguments := range append(good()[each.Name], `{}`, `{"no_such_argument":1}`, `{"scope":"trade"}`) {
				result, err := registry.Call(t.Context(), withScope(has), each.Name, json.RawMessage(arguments))
				if err != nil {
					t.Fatal(err)
				}
				if got := refused(t, result, each.Name, need, has); got != (has < need) {
					t.Errorf("%s with %s, needs %s: refused is %v", each.Name, has, need, got)
				}
			}
		}
	}
}

// TestScopes_WithoutTrading keeps the reason: what is missing is not access.
func TestScopes_WithoutTrading(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	for name, need := range tooltest.Scopes() {
		for _, has := range principal.Scopes() {
			result, err := registry.Call(t.Context(), withScope(has), name, json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			text := string(result.Content[0].Text)
			if strings.Contains(text, "insufficient_scope") || need > principal.Charts && !strings.Contains(text, "trading_disabled") && !strings.Contains(text, "not_supported") {
				t.Errorf("%s with %s: %.200s", name, has, text)
			}
		}
		result, err := registry.Call(t.Context(), withScope(principal.NoScope), name, json.RawMessage(`{}`))
		if err != nil || !refused(t, result, name, principal.Charts, principal.NoScope) {
			t.Errorf("%s without a scope: %.200s, %v", name, result.Content[0].Text, err)
		}
	}
}

// TestScopes_OfAStoredAlert holds that the test of a stored alert says which access is missing.
func TestScopes_OfAStoredAlert(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ResearchSet)
	result, err := registry.Call(t.Context(), withScope(principal.Charts), "test_alert", json.RawMessage(`{"alert_id":"a-1"}`))
	if text := string(result.Content[0].Text); err != nil || !strings.Contains(text, `"insufficient_scope"`) || !strings.Contains(text, "alert_id needs the scope read") {
		t.Errorf("%v, %s", err, text)
	}
}

func TestScopes_AToolWithoutOneIsNotBuilt(t *testing.T) {
	t.Parallel()
	if err := tool.BuildWithScope(principal.NoScope); err == nil || !strings.Contains(err.Error(), "scope") {
		t.Errorf("without a scope: %v", err)
	}
	if err := tool.BuildWithScope(principal.Trade); err != nil {
		t.Errorf("with a scope: %v", err)
	}
}

// TestScopes_OfThePage holds the table in docs/access.md to the tools.
func TestScopes_OfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	needs := tooltest.AllScopes()
	for _, scope := range principal.Scopes() {
		var names []string
		for _, each := range tooltest.Extended(t, nil, tooltest.Sets()...).Tools() {
			if needs[each.Name] == scope {
				names = append(names, each.Name)
			}
		}
		if row := "\n| `" + scope.String() + "` | " + strings.Join(names, ", ") + " | "; !strings.Contains(string(page), row) {
			t.Errorf("docs/access.md has no row %s; write it there", row)
		}
	}
}

// TestScopes_ChartsShowNothingOfTheAccount draws the same chart with each scope.
func TestScopes_ChartsShowNothingOfTheAccount(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "summary", "both", "series"} {
		for _, scope := range principal.Scopes() {
			account, picture := &tooltest.Account{}, &drawn{}
			result, err := over(t, account, picture).Call(t.Context(), withScope(scope), "generate_chart", json.RawMessage(`{"symbol":"BTCUSDT","bars":100,"indicators":[],"format":"`+format+`"}`))
			if err != nil || result.IsError {
				t.Fatalf("%s: %+v, %v", format, result, err)
			}
			var said strings.Builder
			for _, c := range result.Content {
				said.Write(c.Text)
				said.Write(c.Meta)
			}
			said.Write(result.Structured)
			marks, words := 0, 0
			if picture.spec != nil {
				marks = len(picture.spec.Levels) + len(picture.spec.Trades)
			}
			for _, word := range []string{`"alerts"`, `"account"`, `"position"`, `"orders"`, `"fills"`, `"o-2"`, `"a-1"`} {
				words += strings.Count(said.String(), word)
			}
			if scope == principal.Charts && (marks != 0 || words != 0 || account.State().Seen != 0) {
				t.Errorf("%s: %d marks and %d words of the account, looked at %d times", format, marks, words, account.State().Seen)
			}
			if scope >= principal.Read && (account.State().Seen == 0 || format == "png" && marks == 0 || format == "summary" && words == 0) {
				t.Errorf("%s with %s: %d marks, %d words", format, scope, marks, words)
			}
		}
	}
}

// calls makes random calls: names and arguments that are right, nearly right and wrong.
type calls struct {
	random *rand.Rand
	names  []string
	good   map[string][]string
}

func (c *calls) pick(of []string) string { return of[c.random.IntN(len(of))] }

// next returns a call. Charts take longer than all else, so they are rarer.
func (c *calls) next(t *testing.T) (name string, arguments json.RawMessage) {
	t.Helper()
	name = c.pick(c.names)
	for slices.Contains(chartTools, name) && c.random.IntN(3) > 0 {
		name = c.pick(c.names)
	}
	text := c.pick(append(slices.Clone(c.good[name]), `{}`))
	if c.random.IntN(3) == 0 {
		text = c.pick(append(slices.Clone(c.good[c.pick(c.names)]), `{}`)) // of another tool
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	keys := []string{"scope", "_scope", "caller", "token", "subject", "order_id", "alert_id", "quantity", "symbol", "condition", "wait_seconds", "idempotency_key"}
	values := []any{"trade", "owner", "o-1", "a-1", "BTCUSDT", 1, -1, 1e300, nil, true, []any{"trade"}, map[string]any{"Scope": 3}, map[string]any{"price_above": 1}}
	for range c.random.IntN(3) {
		fields[c.pick(keys)] = values[c.random.IntN(len(values))]
	}
	if slices.Contains(chartTools, name) {
		fields["bars"] = 5
	}
	switch c.random.IntN(50) {
	case 0:
		name = strings.ToUpper(name)
	case 1:
		name += c.pick([]string{" ", "\x00", "/", "2"})
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return name, data
}

// TestScopes_AChartsTokenChangesNothing makes 10,000 random calls with a charts token, and
// as many with the others: a read token changes no order and no alert, and a trade token
// changes all, so the calls reach what they try to change.
func TestScopes_AChartsTokenChangesNothing(t *testing.T) {
	t.Parallel()
	for _, scope := range allScopes() {
		t.Run(scope.String(), func(t *testing.T) {
			t.Parallel()
			account := &tooltest.Account{}
			registry := over(t, account, blank{})
			c := &calls{random: rand.New(rand.NewPCG(7, 19)), good: good()}
			for _, each := range registry.Tools() {
				c.names = append(c.names, each.Name)
			}
			n := 10_000
			if scope > principal.Charts {
				n = 2000 // only to see that the calls arrive
			}
			var answered, outside int
			for range n {
				name, arguments := c.next(t)
				if strictjson.Check(arguments) != nil {
					t.Fatalf("%s", arguments)
				}
				result, err := registry.Call(t.Context(), withScope(scope), name, arguments)
				switch {
				case err != nil: // no such tool
				case strings.Contains(string(result.Content[0].Text), "insufficient_scope"):
					outside++
				case !result.IsError:
					answered++
				}
			}
			state := account.State()
			t.Logf("%d calls: %d succeeded, %d were outside the scope", n, answered, outside)
			switch scope {
			case principal.NoScope, principal.Charts:
				if diff := cmp.Diff(tooltest.State{}, state); diff != "" || outside < n/2 || scope == principal.Charts && answered == 0 {
					t.Errorf("the account was touched: %s", diff)
				}
			case principal.Read:
				if len(state.Orders)+len(state.Alerts) != 0 || state.Seen == 0 || state.Polls == 0 || state.Filters == 0 {
					t.Errorf("%+v", state)
				}
			case principal.Trade:
				if len(state.Orders) == 0 || len(state.Alerts) == 0 || outside != 0 {
					t.Errorf("%+v, %d outside", state, outside)
				}
			}
		})
	}
}
