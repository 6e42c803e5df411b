package console_test

import (
	"net/url"
	"strings"
	"testing"

	"candela/internal/serve/console"
	"candela/lib/ta"
)

func TestIndicators_AreSearchedByGroupAndHaveSettings(t *testing.T) {
	t.Parallel()
	b := newScene(t).browser().login()
	page := b.get("/console/chart/BTCUSDT?indicators=" + url.QueryEscape("rsi(21),macd,bollinger_bands(20,2.5)")).body
	for _, want := range []string{
		`name="set.rsi(21).0" value="21" min="1"`, `name="set.macd.2" value="9"`, `name="set.bollinger_bands(20,2.5).1" value="2.5"`, ">Momentum<", ">Sentiment<", "data-find",
		`data-query="indicators=rsi%2821%29%2Cmacd%2Cbollinger_bands%2820%2C2.5%29`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(page, `name="indicator"`); n < len(ta.All())-5 {
		t.Errorf("%d indicators to choose from, of %d", n, len(ta.All()))
	}
	form := url.Values{"symbol": {"BTCUSDT"}, "chosen": {"1"}, "indicator": {"rsi(21)", "macd", "atr"}, "set.rsi(21).0": {"30"}, "set.macd.0": {"12"}, "set.macd.1": {"26"}, "set.macd.2": {"5"}}
	if page = b.get("/console/chart?" + form.Encode()).body; !strings.Contains(page, `data-query="indicators=rsi%2830%29%2Cmacd%2812%2C26%2C5%29%2Catr&amp;`) {
		t.Errorf("settings are lost: %s", page[strings.Index(page, "data-query"):][:200])
	}
}

// Every indicator can be drawn again with the settings that its form shows.
func TestIndicators_TheirSettingsAreValid(t *testing.T) {
	t.Parallel()
	for _, def := range ta.All() {
		if _, err := (ta.Library{}).Resolve(ta.Request{Name: def.Name}); err != nil {
			continue // it needs more, such as a script
		}
		name := console.WithUsualSettings(def.Name)
		if _, err := (ta.Library{}).Resolve(ta.Request{Name: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
