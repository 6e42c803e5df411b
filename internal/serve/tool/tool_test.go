package tool_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
)

func caller() principal.Caller {
	return principal.Caller{Subject: "owner", Key: "k", Scope: principal.Trade}
}

// call runs a tool through the checks that every transport runs.
func call(t *testing.T, r *tool.Registry, name, arguments string) mcp.Result {
	t.Helper()
	if err := strictjson.Check([]byte(arguments)); err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	// As long as it takes: other tests go before long work.
	result, err := r.Call(tooltest.Patient(t.Context()), caller(), name, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// good is arguments that each tool accepts, the first of them the least.
func good() map[string][]string {
	return map[string][]string{
		"generate_chart": {
			`{"format":"summary","bars":50}`,
			`{"symbol":"btcusdt","interval":"15min","format":"series","bars":30,"indicators":["rsi",{"name":"rsi","length":7}]}`,
			`{"ticker":"AAPL","timeframe":"1D","panels":["bb"],"format":"SUMMARY","width":300,"height":200,"theme":"light","scale":2,"log":true,"bars":20}`,
			`{"indicators":[],"format":"both","bars":5,"symbol":null}`,
			`{"symbol":"BTCUSDT","compare":["ETHUSDT"],"bars":20,"format":"series","drawings":[{"type":"fib","time":"2024-12-30","price":1,"time2":"2024-12-31T08:00:00Z","price2":2,"text":"t"},{"type":"level","price":-1.5}]}`,
		},
		"list_indicators":           {`{}`},
		"get_indicators":            {`{"symbol":"BTCUSDT","indicators":["macd","vp","ichimoku"]}`, `{"symbol":"AAPL","interval":"1h","indicators":[{"name":"cipher_b"}]}`},
		"place_order":               {`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.1}`, `{"symbol":"BTCUSDT","side":"SELL","type":"limit","quantity":1e-8,"price":123456789.123456789,"idempotency_key":"k","dry_run":true}`},
		"cancel_order":              {`{"order_id":"o-1"}`},
		"get_orders":                {`{}`, `{"filter":"open"}`},
		"get_positions":             {`{}`},
		"get_balance":               nil,
		"set_alert":                 {`{"symbol":"BTCUSDT","condition":{"price_above":70000.5}}`, `{"symbol":"BTCUSDT","interval":"1h","condition":{"indicator_signal":{"indicator":"wt","signal":"cross_up"}},"note":"n","expires_at":"2027-01-01T00:00:00+02:00"}`},
		"list_alerts":               {`{}`},
		"cancel_alert":              {`{"alert_id":"a-1"}`},
		"get_notifications":         {`{}`, `{"wait_seconds":240}`},
		"subscribe_notifications":   {`{}`, `{"symbols":["btcusdt"],"alert_types":["price_above","indicator_signal"]}`, `{"symbols":[],"alert_types":[]}`},
		"unsubscribe_notifications": {`{}`},
		"list_subscriptions":        {`{}`},
	}
}

var chartTools = []string{"generate_chart", "list_indicators", "get_indicators"}

func TestTools_FifteenInAFixedOrder(t *testing.T) {
	t.Parallel()
	var names []string
	for _, each := range tooltest.Registry(t, nil).Tools() {
		names = append(names, each.Name)
	}
	want := []string{
		"generate_chart", "list_indicators", "get_indicators",
		"place_order", "cancel_order", "get_orders", "get_positions", "get_balance",
		"set_alert", "list_alerts", "cancel_alert",
		"get_notifications", "subscribe_notifications", "unsubscribe_notifications", "list_subscriptions",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("got %q", names)
	}
}

// TestTools_AreAsRecorded holds every tool to its record: who may call it, which set it is in, and what clients read
// about it. The records say the same to the tests of other packages.
func TestTools_AreAsRecorded(t *testing.T) {
	t.Parallel()
	always := names(tooltest.Registry(t, nil))
	trading := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...)
	count := 0
	for _, set := range append(tooltest.Sets(), "") {
		tools := tooltest.Registry(t, nil).Tools()
		if set != "" {
			tools = slices.DeleteFunc(tooltest.Extended(t, nil, set).Tools(), func(each mcp.Tool) bool { return slices.Contains(always, each.Name) })
		}
		for _, each := range tools {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(tooltest.Recorded{Scope: trading.ScopeOf(each.Name).String(), Set: set, Tool: each}); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("tooltest", "recorded", each.Name+".json"), b.Bytes())
			count++
		}
	}
	if recorded := tooltest.All(); len(recorded) != count && !*mcptest.Update {
		t.Errorf("%d tools are recorded, of %d; remove the files of those that are gone", len(recorded), count)
	}
}

// golden compares with a recorded file, or records it with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *mcptest.Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not as recorded; -update rewrites it\n%s", file, got)
	}
}

func TestTools_DescribeThemselves(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	seen, total, plain := 0, 0, 0
	for _, each := range registry.Tools() {
		if each.Title == "" || each.Annotations.Title != each.Title {
			t.Errorf("%s has no title, or two", each.Name)
		}
		if len(each.Description) < 40 || len(each.Description) > 700 {
			t.Errorf("%s has a description of %d bytes", each.Name, len(each.Description))
		}
		if each.Annotations.ReadOnly && each.Annotations.Destructive {
			t.Errorf("%s cannot be both read-only and destructive", each.Name)
		}
		raw, err := json.Marshal(each.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		for _, hint := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if !bytes.Contains(raw, []byte(`"`+hint+`":`)) {
				t.Errorf("%s does not say its %s", each.Name, hint)
			}
		}
		compile(t, each.Name+" input", each.InputSchema)
		if each.Name == "generate_chart" {
			if each.OutputSchema != nil {
				t.Error("generate_chart has an output schema: docs/adr/0005 says why it must not")
			}
		} else {
			compile(t, each.Name+" output", each.OutputSchema)
		}
		total += listedBytes(t, each)
		each.Title, each.OutputSchema = "", nil
		plain += listedBytes(t, each)
		seen += len(each.Description) + len(each.InputSchema)
	}
	// Every client puts descriptions and input schemas into every conversation.
	t.Logf("descriptions and input schemas %d bytes, list %d bytes, %d with output schemas", seen, plain, total)
	if plain > 13_070 || total > 28_000 {
		t.Errorf("the list has %d bytes, and %d with output schemas: more than the budget", plain, total)
	}
}

// listedBytes is the size of a tool in tools/list.
func listedBytes(t *testing.T, each mcp.Tool) int {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(each); err != nil {
		t.Fatal(err)
	}
	return b.Len() - 1
}

func compile(t *testing.T, name string, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return resolved
}

func validate(t *testing.T, what string, s *jsonschema.Resolved, raw json.RawMessage) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v\n%.600s", what, err, raw)
	}
}

// TestTools_AcceptAndAnswerByTheirSchemas calls every tool with arguments that
// its input schema allows and holds the answer against its output schema.
func TestTools_AcceptAndAnswerByTheirSchemas(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, &tooltest.Trading{})
	calls := good()
	for _, each := range registry.Tools() {
		input := compile(t, each.Name, each.InputSchema)
		if _, ok := calls[each.Name]; !ok {
			t.Errorf("%s has no call here", each.Name)
		}
		for _, arguments := range calls[each.Name] {
			if !strings.Contains(arguments, "null") && !strings.Contains(arguments, "SUMMARY") && !strings.Contains(arguments, "SELL") {
				validate(t, each.Name+" arguments", input, json.RawMessage(arguments))
			}
			result := call(t, registry, each.Name, arguments)
			if result.IsError {
				t.Errorf("%s %s: %s", each.Name, arguments, result.Content[0].Text)
				continue
			}
			if each.OutputSchema != nil {
				validate(t, each.Name+" result", compile(t, each.Name, each.OutputSchema), result.Structured)
			}
			checkText(t, each.Name, result)
		}
	}
}

// checkText holds that a text result is compact JSON, and the structured content
// the same object, or an object around the same array. Lists of what may cost money
// also say the mode.
func checkText(t *testing.T, name string, result mcp.Result) {
	t.Helper()
	for _, c := range result.Content {
		if c.MIME != "" {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Text); err != nil || !bytes.Equal(compact.Bytes(), c.Text) {
			t.Errorf("%s: the text is not compact JSON: %v %.200s", name, err, c.Text)
		}
		if result.Structured == nil {
			continue
		}
		inner := result.Structured
		if c.Text[0] == '[' {
			for _, value := range strictjson.Fields(result.Structured) {
				if value[0] == '[' {
					inner = value
				}
			}
		}
		if slices.Contains([]string{"get_orders", "get_positions"}, name) && !bytes.HasSuffix(result.Structured, []byte(`,"mode":"paper"}`)) {
			t.Errorf("%s does not say the mode: %s", name, result.Structured)
		}
		if !bytes.Equal(inner, c.Text) {
			t.Errorf("%s: the text and the structured content differ", name)
		}
	}
}

func TestTools_WithoutTradeRefuseAndStayListed(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	disabled := 0
	for _, each := range registry.Tools() {
		result := call(t, registry, each.Name, `{}`)
		text := string(result.Content[0].Text)
		switch {
		case slices.Contains(chartTools, each.Name):
			if strings.Contains(text, "trading_disabled") {
				t.Errorf("%s: %s", each.Name, text)
			}
			continue
		case each.Name == "get_balance":
			if !result.IsError || !strings.Contains(text, `"not_supported"`) {
				t.Errorf("%s: %s", each.Name, text)
			}
		case !result.IsError || !strings.Contains(text, `"trading_disabled"`) || !strings.Contains(text, "restart candela with --trade"):
			t.Errorf("%s: %s", each.Name, text)
		}
		disabled++
		if result.Structured != nil {
			t.Errorf("%s: an error has structured content, which its output schema does not describe", each.Name)
		}
	}
	if disabled != 12 {
		t.Errorf("%d trading tools, want 12", disabled)
	}
}

func TestGetBalance_AlwaysFails(t *testing.T) {
	t.Parallel()
	for name, trading := range map[string]*tooltest.Trading{"with trading": {}, "without": nil} {
		result := call(t, tooltest.Registry(t, trading), "get_balance", `{}`)
		if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, "use get_positions") || !strings.Contains(text, "which the owner turns on with --toolsets account") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestCall_UnknownToolIsAProtocolErrorWithTheNearestName(t *testing.T) {
	t.Parallel()
	_, err := tooltest.Registry(t, nil).Call(t.Context(), caller(), "generate_charts", json.RawMessage(`{}`))
	refusal, ok := errors.AsType[*rpc.Error](err)
	if !ok || refusal.Code != rpc.CodeInvalidParams || !strings.Contains(refusal.Message, `did you mean "generate_chart"?`) || !strings.Contains(refusal.Message, "list_subscriptions") {
		t.Fatal(err)
	}
}

// Money goes from the JSON text to a decimal without a float between.
func TestPlaceOrder_KeepsEveryDigit(t *testing.T) {
	t.Parallel()
	trading := &tooltest.Trading{}
	registry := tooltest.Registry(t, trading)
	result := call(t, registry, "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":0.1000000000000000055,"price":123456789012345678.9}`)
	if got := trading.Placed.Quantity.String(); got != "0.1000000000000000055" {
		t.Errorf("quantity became %s", got)
	}
	if got := trading.Placed.Price.String(); got != "123456789012345678.9" {
		t.Errorf("price became %s", got)
	}
	if text := string(result.Content[0].Text); !strings.Contains(text, `"quantity":0.1000000000000000055,`) || !strings.Contains(text, `"limit_price":"123456789012345678.9"`) {
		t.Error(text)
	}
}

// A refused order is an error that nobody takes for a placed one, with the rule,
// the limit, the value and the order that was kept.
func TestPlaceOrder_RefusedIsAnError(t *testing.T) {
	t.Parallel()
	result := call(t, tooltest.Registry(t, &tooltest.Trading{}), "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1001}`)
	text := string(result.Content[0].Text)
	for _, part := range []string{
		`"code":"order_denied"`, `"field":"quantity"`, `"value":"1001"`, `"allowed":"1000"`, `"rule":"max_order_quantity","limit":"1000"`,
		`"order":{"id":"o-1"`, `"status":"denied"`, `"mode":"paper"`, `"reject_rule":"max_order_quantity"`,
	} {
		if !result.IsError || result.Structured != nil || !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func TestGenerateChart_Formats(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	for format, want := range map[string]string{"png": "image", "summary": "text", "series": "text", "both": "image text", "": "image"} {
		arguments := `{"symbol":"BTCUSDT","bars":60,"width":400,"height":300}`
		if format != "" {
			arguments = strings.Replace(arguments, "{", `{"format":"`+format+`",`, 1)
		}
		result := call(t, registry, "generate_chart", arguments)
		var got []string
		for _, c := range result.Content {
			switch {
			case c.MIME == "image/png" && bytes.HasPrefix(c.Image, []byte("\x89PNG")):
				got = append(got, "image")
			case c.MIME == "" && c.Text[0] == '{':
				got = append(got, "text")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("format %q gives %q", format, got)
		}
		if structured := result.Structured != nil; structured != (want == "text") {
			t.Errorf("format %q: structured content %v", format, structured)
		}
	}
}

func TestGenerateChart_StaysSmall(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	for _, more := range []string{"", `,"interval":"1d"`, `,"theme":"light"`, `,"interval":"15m"`} {
		png := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT"`+more+`}`).Content[0].Image
		size := base64.StdEncoding.EncodedLen(len(png))
		t.Logf("png%s: %d bytes of base64", more, size)
		if size >= 110_000 {
			t.Errorf("the default picture%s has %d bytes of base64", more, size)
		}
	}
	summary := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","format":"summary"}`).Content[0].Text
	if len(summary) >= 6<<10 {
		t.Errorf("the default summary has %d bytes:\n%s", len(summary), summary)
	} else {
		t.Logf("summary: %d bytes", len(summary))
	}
	series := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","format":"series"}`).Content[0].Text
	t.Logf("series: %d bytes", len(series))
	catalog := call(t, registry, "list_indicators", `{}`).Content[0].Text
	t.Logf("list_indicators: %d bytes", len(catalog))
	longest := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","format":"series","bars":5000}`)
	if text := longest.Content[0].Text; len(text) > 480_000 || !bytes.Contains(text, []byte(`"truncated":true`)) {
		t.Errorf("the longest series has %d bytes and says truncated: %v", len(text), bytes.Contains(text, []byte(`"truncated":true`)))
	}
}

func TestGetIndicators_DefaultInterval(t *testing.T) {
	t.Parallel()
	result := call(t, tooltest.Registry(t, nil), "get_indicators", `{"symbol":"BTCUSDT","indicators":["rsi"]}`)
	var got struct {
		Interval, Source string
		Bars             int
	}
	if err := json.Unmarshal(result.Structured, &got); err != nil || got.Interval != "4h" || got.Source != "fetched" || got.Bars != 200 {
		t.Fatalf("%+v %v", got, err)
	}
}

// drawn is a painter that keeps what it was given.
type drawn struct{ spec *chart.Spec }

func (d *drawn) PNG(spec *chart.Spec) ([]byte, error) {
	d.spec = spec
	return []byte("png"), nil
}

func TestGenerateChart_ShowsTheCallersAlerts(t *testing.T) {
	t.Parallel()
	painter := &drawn{}
	cfg := tool.Config{Trading: (&tooltest.Trading{}).Parts(), Log: slog.New(slog.DiscardHandler)}
	for _, trading := range []bool{true, false} {
		if !trading {
			cfg.Trading = nil
		}
		cfg.Charting = tooltest.Charts(marketdatatest.Bars{}, painter, cfg.Trading)
		registry, err := tool.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		text := string(call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","bars":60,"format":"both"}`).Content[1].Text)
		want := `"alerts":[{"alert_id":"a-2","price_below":540.5},{"alert_id":"a-1","price_above":640,"note":"note"}]`
		if strings.Contains(text, want) != trading {
			t.Errorf("trading %v: %s", trading, text)
		}
		if len(painter.spec.Levels) > 0 != trading {
			t.Errorf("trading %v: levels %+v", trading, painter.spec.Levels)
		}
		for _, l := range painter.spec.Levels {
			if l.Kind == chart.AlertLevel && l.Label != "Alert" {
				t.Errorf("level %+v", l)
			}
		}
		call(t, registry, "generate_chart", `{"bars":60}`)
		if len(painter.spec.Levels) != 0 {
			t.Errorf("levels on sample data: %+v", painter.spec.Levels)
		}
	}
}

func TestGenerateChart_ShowsTheCallersAccount(t *testing.T) {
	t.Parallel()
	painter, trading := &drawn{}, &tooltest.Trading{}
	registry, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, painter, trading.Parts()), Trading: trading.Parts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var series struct{ Bars []struct{ T int64 } }
	if err := json.Unmarshal(call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","bars":60,"format":"series"}`).Content[0].Text, &series); err != nil {
		t.Fatal(err)
	}
	trading.Traded = series.Bars[57].T + 10
	text := string(call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","bars":60,"format":"both"}`).Content[1].Text)
	for _, part := range []string{
		`"mode":"paper","position":{"side":"buy","quantity":2,"entry_price":550.125,"unrealized_pnl":99.75}`,
		`"open_orders":[{"order_id":"o-2","side":"sell","type":"limit","quantity":0.5,"price":650.5,"filled_quantity":0},` +
			`{"order_id":"o-4","role":"stop_loss","side":"sell","type":"market","quantity":0.5,"stop_price":430,"filled_quantity":0},{"order_id":"o-3"`,
		`"side":"buy","quantity":1,"price":600.25}]`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if !json.Valid([]byte(text)) {
		t.Error("the summary is no JSON")
	}
	levels := painter.spec.Levels
	if len(levels) < 4 || levels[0] != (chart.Level{Kind: chart.EntryLevel, Price: 550.125, Label: "Long 2"}) ||
		levels[1] != (chart.Level{Kind: chart.OrderLevel, Price: 650.5, Label: "Sell 0.5", Sell: true}) ||
		levels[2] != (chart.Level{Kind: chart.OrderLevel, Price: 430, Label: "Stop 0.5", Sell: true}) ||
		levels[3] != (chart.Level{Kind: chart.OrderLevel, Price: 1, Label: "Buy 0.5"}) { // far away, and for the edge of the picture
		t.Errorf("levels %+v", levels)
	}
	if diff := cmp.Diff([]chart.Trade{{X: 57, Price: 600.25}}, painter.spec.Trades); diff != "" {
		t.Error(diff)
	}
}
