package listing_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"candela/internal/data/listing"
	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/yahoo"
	"candela/lib/market"
)

func venues() []provider.Descriptor {
	return []provider.Descriptor{binance.Descriptor(), yahoo.Descriptor(), coinbase.Descriptor(), kraken.Descriptor(), alpaca.Descriptor()}
}

// directory has the lists of every venue; alpaca's keys are missing.
func directory() *listing.Directory {
	var sources []listing.Source
	for _, d := range venues() {
		sources = append(sources, listing.Source{Venue: d.Name, Title: d.Title, Listed: d.Listed(), Locked: d.Name == "alpaca"})
	}
	return listing.New(sources)
}

// listed returns every instrument that a venue declares.
func listed() map[string]bool {
	all := make(map[string]bool)
	for _, d := range venues() {
		for _, l := range d.Listed() {
			all[d.Name+":"+l.Name] = true
		}
	}
	return all
}

func symbols(all []listing.Instrument) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Symbol.String()
	}
	return strings.Join(names, " ")
}

func TestNear_LeadsToInstruments(t *testing.T) {
	t.Parallel()
	d := directory()
	for text, want := range map[string]string{
		"bitcoin":           "binance:BTCUSDT yahoo:BTC-USD coinbase:BTC-USD kraken:BTC/USD",
		"BTC":               "binance:BTCUSDT yahoo:BTC-USD coinbase:BTC-USD kraken:BTC/USD",
		"ETH":               "binance:ETHUSDT yahoo:ETH-USD",
		"ether":             "binance:ETHUSDT yahoo:ETH-USD",
		"solana":            "binance:SOLUSDT yahoo:SOL-USD",
		"Apple":             "yahoo:AAPL",
		"apple stock":       "yahoo:AAPL",
		"tesla":             "yahoo:TSLA",
		"Microsoft":         "yahoo:MSFT",
		"nvidia":            "yahoo:NVDA",
		"AAPLE":             "yahoo:AAPL",
		"BTCUSTD":           "binance:BTCUSDT",
		"BTC/USD":           "yahoo:BTC-USD coinbase:BTC-USD kraken:BTC/USD binance:BTCUSDT",
		"XBTUSD":            "yahoo:BTC-USD coinbase:BTC-USD kraken:BTC/USD binance:BTCUSDT",
		"bitcoin usd":       "yahoo:BTC-USD",
		"BTC USDT":          "binance:BTCUSDT coinbase:BTC-USDT kraken:BTC/USDT yahoo:BTC-USD",
		"BTCUSDT.P":         "binance:BTCUSDT.P",
		"BINANCE:BTCUSDT.P": "binance:BTCUSDT.P",
		"BTC-USDT-SWAP":     "binance:BTCUSDT.P",
		"BTC/USDT:USDT":     "binance:BTCUSDT.P",
		"BTC-PERP":          "binance:BTCUSDT.P",
		"XBTUSDTM":          "binance:BTCUSDT.P",
		"bitcoin perpetual": "binance:BTCUSDT.P binance:BTCUSDC.P",
		"btcusdt perp":      "binance:BTCUSDT.P",
		"BTCUSDT_260327":    "binance:BTCUSDT",
		"BYBIT:BTCUSDT":     "binance:BTCUSDT",
		"BTC:USDT":          "binance:BTCUSDT",
		"kraken:bitcoin":    "kraken:BTC/USD",
		"coinbase:BTCUSDC":  "coinbase:BTC-USD",
		"EUR/USD":           "yahoo:EURUSD=X kraken:EUR/USD",
		"EURUSD":            "yahoo:EURUSD=X kraken:EUR/USD",
		"USD/EUR":           "yahoo:EURUSD=X kraken:EUR/USD",
		"FX:EURUSD":         "yahoo:EURUSD=X kraken:EUR/USD",
		"euro":              "yahoo:EURUSD=X kraken:EUR/USD",
		"pound":             "yahoo:GBPUSD=X",
		"yen":               "yahoo:USDJPY=X",
		"GBP-JPY":           "yahoo:GBPJPY=X",
		"gold":              "yahoo:GC=F yahoo:GLD",
		"XAUUSD":            "yahoo:GC=F",
		"OANDA:XAUUSD":      "yahoo:GC=F",
		"silver":            "yahoo:SI=F yahoo:SLV",
		"oil":               "yahoo:CL=F",
		"S&P 500":           "yahoo:^GSPC yahoo:SPY",
		"SPX":               "yahoo:^GSPC yahoo:SPY",
		"nasdaq 100":        "yahoo:^NDX yahoo:QQQ",
		"dow jones":         "yahoo:^DJI yahoo:DIA",
		"dax":               "yahoo:^GDAXI",
		"vix":               "yahoo:^VIX",
		"10y":               "yahoo:^TNX",
		"TVC:US10Y":         "yahoo:^TNX",
		"nasdaq:AAPL":       "yahoo:AAPL",
		"NYSE:BRK.B":        "yahoo:BRK-B",
		"XETR:SAP":          "yahoo:SAP.DE",
		"LSE:VOD":           "yahoo:VOD.L",
		"AAPL.US":           "yahoo:AAPL",
		"AAPL US":           "yahoo:AAPL",
		"ES1!":              "yahoo:ES=F",
		"qwertyuiop":        "",
		"":                  "",
		"$$$":               "",
	} {
		near, _ := d.Near(text)
		if got := symbols(near); got != want && (want == "" || !strings.HasPrefix(got+" ", want+" ")) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"BTCUSDT.P": "perpetuals", "USD/EUR": "other way around", "nasdaq:AAPL": "nasdaq is not a venue here", "bitcoin": ""} {
		if _, why := d.Near(text); !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("%s: %q", text, why)
		}
	}
}

func TestFind_RanksAndBounds(t *testing.T) {
	t.Parallel()
	d := directory()
	for _, c := range []struct {
		query listing.Query
		want  string
		total int
	}{
		{listing.Query{Text: "bitcoin", Limit: 2}, "binance:BTCUSDT yahoo:BTC-USD", 0},
		{listing.Query{Text: "bitcoin", Venue: "kraken", Limit: 2}, "kraken:BTC/USD kraken:BTC/EUR", 0},
		{listing.Query{Text: "gold", Class: provider.Fund, Limit: 9}, "yahoo:GLD alpaca:GLD yahoo:GDX alpaca:GDX yahoo:IAU", 5},
		{listing.Query{Text: "AAPL", Limit: 9}, "yahoo:AAPL alpaca:AAPL", 2},
		{listing.Query{Text: "micro", Class: provider.Stock, Venue: "yahoo", Limit: 9}, "yahoo:MSFT yahoo:MU yahoo:MSTR yahoo:SMCI", 0},
		{listing.Query{Text: "bitcon", Limit: 1}, "binance:BTCUSDT", 0},
		{listing.Query{Text: "BTCUSDT", Venue: "nowhere", Limit: 9}, "", 0},
	} {
		found, total := d.Find(c.query)
		if got := symbols(found); got != c.want || c.total != 0 && total != c.total || len(found) > c.query.Limit {
			t.Errorf("%+v: %d, %s", c.query, total, got)
		}
	}
}

// TestEverySuggestionExists asks for damaged symbols, names and arbitrary texts: whatever
// is offered is in the list of its venue and can be parsed.
func TestEverySuggestionExists(t *testing.T) {
	t.Parallel()
	d, known := directory(), listed()
	var some []string
	for name := range known {
		some = append(some, name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		if rapid.Bool().Draw(rt, "damaged") {
			text = rapid.SampledFrom(some).Draw(rt, "symbol")
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			text = text[:at] + rapid.StringN(0, 2, 4).Draw(rt, "more") + text[min(len(text), at+rapid.IntRange(0, 2).Draw(rt, "cut")):]
		}
		near, _ := d.Near(text)
		found, _ := d.Find(listing.Query{Text: text, Limit: 5})
		if len(near) > 4 || len(found) > 5 {
			rt.Fatalf("%q: %d and %d instruments", text, len(near), len(found))
		}
		for _, one := range append(near, found...) {
			if parsed, err := market.ParseSymbol(one.Symbol.String()); err != nil || parsed != one.Symbol || !known[one.Symbol.String()] || one.Name == "" {
				rt.Fatalf("%q: %+v is offered, %v", text, one, err)
			}
		}
		for _, one := range near {
			if one.Locked {
				rt.Fatalf("%q: %v needs keys", text, one.Symbol)
			}
		}
	})
}

// TestListed_AreCanonical holds that each venue spells its list as it spells symbols.
func TestListed_AreCanonical(t *testing.T) {
	t.Parallel()
	for _, d := range venues() {
		seen := make(map[string]bool)
		for _, l := range d.Listed() {
			s, err := market.ParseSymbol(d.Name + ":" + l.Name)
			if err != nil || s.Name != l.Name || seen[l.Name] || l.Class == "" || l.Quote == "" {
				t.Errorf("%s lists %+v: %v", d.Name, l, err)
			}
			seen[l.Name] = true
		}
		if !seen[d.Example] {
			t.Errorf("%s does not list its example %s", d.Name, d.Example)
		}
	}
}

func TestLoaded_ReplacesTheFixedList(t *testing.T) {
	t.Parallel()
	var loaded []provider.Listing
	d := listing.New([]listing.Source{{Venue: "v", Listed: provider.PairsIn("USD", "", "BTC ETH"), Loaded: func() []provider.Listing { return loaded }}})
	if near, _ := d.Near("bitcoin"); symbols(near) != "v:BTCUSD" {
		t.Errorf("before the list is read: %v", near)
	}
	loaded = provider.PairsIn("USD", "", "ETH SOL")
	if near, _ := d.Near("bitcoin"); len(near) != 0 {
		t.Errorf("what the venue does not list is offered: %v", near)
	}
	if near, _ := d.Near("solana"); symbols(near) != "v:SOLUSD" {
		t.Errorf("what the venue lists: %v", near)
	}
}

func BenchmarkNear(b *testing.B) {
	d := directory()
	for b.Loop() {
		d.Near("BTCUSTD")
	}
}

func TestLists_OnlyWhatAVenueHas(t *testing.T) {
	t.Parallel()
	d := directory()
	cases := map[string]struct{ listed, known bool }{
		"binance:BTCUSDT": {true, true}, "yahoo:AAPL": {true, true}, "yahoo:NOPE": {false, true}, "csv:AAPL": {false, false},
	}
	for text, want := range cases {
		s, err := market.ParseSymbol(text)
		if err != nil {
			t.Fatal(err)
		}
		if listed, known := d.Lists(s); listed != want.listed || known != want.known {
			t.Errorf("%s: listed %t, known %t", text, listed, known)
		}
	}
}
