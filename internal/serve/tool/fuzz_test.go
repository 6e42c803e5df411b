package tool_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
)

// blank is a Painter that only checks, because fuzzing is about arguments.
type blank struct{}

func (blank) PNG(spec *chart.Spec) ([]byte, error) { return []byte("\x89PNG"), spec.Check() }

func fuzzOne(t *testing.T, name string, arguments []byte) {
	t.Helper()
	if strictjson.Check(arguments) != nil || len(arguments) == 0 || arguments[0] != '{' {
		return // the dispatcher lets nothing else through
	}
	registry, err := tool.New(tool.Config{
		Charting: tooltest.Charts(marketdatatest.Bars{}, blank{}, (&tooltest.Trading{}).Parts()), Trading: (&tooltest.Trading{}).Parts(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := registry.Call(t.Context(), caller(), name, arguments)
	if err != nil {
		return // no such tool
	}
	for _, c := range result.Content {
		if c.MIME == "" && !json.Valid(c.Text) {
			t.Fatalf("%s %s: not JSON: %s", name, arguments, c.Text)
		}
	}
	if result.IsError {
		var p toolError
		if err := json.Unmarshal(result.Content[0].Text, &p); err != nil || p.Code == "" || p.Message == "" {
			t.Fatalf("%s %s: %v %s", name, arguments, err, result.Content[0].Text)
		}
		if p.Code == "internal" || len(result.Content[0].Text) > 4096 {
			t.Fatalf("%s %s: %s", name, arguments, result.Content[0].Text)
		}
		return
	}
	for _, each := range registry.Tools() {
		if each.Name == name && each.OutputSchema != nil {
			validate(t, name, compile(t, name, each.OutputSchema), result.Structured)
		}
	}
}
