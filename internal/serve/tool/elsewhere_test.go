package tool_test

import (
	"log/slog"
	"strings"
	"testing"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/fault"
)

func TestTools_SayWhyTheyDoNotTrade(t *testing.T) {
	t.Parallel()
	registry, err := tool.New(tool.Config{
		Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler), TradingDisabled: func() error { return fault.New(fault.Conflict, "trading_elsewhere", "pid 42 trades in /home/of/state") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(call(t, registry, "list_alerts", `{}`).Content[0].Text); !strings.Contains(text, `"trading_elsewhere"`) || !strings.Contains(text, "/home/of/state") || !strings.Contains(text, "pid 42") {
		t.Error(text)
	}
	if result := call(t, registry, "list_indicators", `{}`); result.IsError {
		t.Error("charts do not work without trading")
	}
}
