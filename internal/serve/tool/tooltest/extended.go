package tooltest

import (
	"log/slog"
	"testing"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/serve/tool"
	"candela/internal/store/scripts"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/pine"
	"candela/lib/ta"
)

// Sets returns the names of all tool sets there are.
func Sets() []string {
	var names []string
	for _, s := range tool.Toolsets() {
		if s.Purpose != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Script is a script that is stored as kept.
const Script = "//@version=6\nindicator(\"Kept\", overlay = true)\nlength = input.int(5, \"Length\", minval = 1)\nmean = ta.sma(close, length)\n" +
	"plot(mean, \"Mean\")\nalertcondition(ta.crossover(close, mean), \"Over mean\")\n"

// Extended returns the tools with those of the sets, with trading when it is not nil.
func Extended(tb testing.TB, trading *tool.Trading, sets ...string) *tool.Registry {
	tb.Helper()
	shelf := scripts.Open(tb.TempDir(), scripts.Unshared, pine.Compile)
	if _, err := shelf.Save("kept", Script); err != nil {
		tb.Fatal(err)
	}
	library, charts := ta.Library{Scripts: shelf}, Charts(marketdatatest.Bars{}, chart.NewRenderer(), trading)
	asked := research.Config{Charting: charts, Library: library, Scripts: shelf}
	if trading != nil {
		asked.Alerts = trading.Alerts
	}
	r, err := tool.New(tool.Config{
		Charting: charts, Research: research.New(asked), Trading: trading, Symbols: marketdatatest.Symbols(tb), Toolsets: sets, Log: slog.New(slog.DiscardHandler),
		Scripts: shelf, Library: library,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
