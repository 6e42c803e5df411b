package market_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/lib/fault"
	"candela/lib/market"
)

func TestParseSymbol(t *testing.T) {
	t.Parallel()
	cases := map[string]market.Symbol{
		"BTCUSDT":               {Name: "BTCUSDT"},
		" aapl ":                {Name: "AAPL"},
		"EURUSD=X":              {Name: "EURUSD=X"},
		"^gspc":                 {Name: "^GSPC"},
		"BRK-B":                 {Name: "BRK-B"},
		"7203.T":                {Name: "7203.T"},
		"BTC/USD":               {Name: "BTC/USD"},
		"binance:btcusdt":       {Venue: "binance", Name: "BTCUSDT"},
		"Binance_US:BTCUSDT":    {Venue: "binance_us", Name: "BTCUSDT"},
		"yahoo:^GSPC":           {Venue: "yahoo", Name: "^GSPC"},
		"0":                     {Name: "0"},
		strings.Repeat("A", 40): {Name: strings.Repeat("A", 40)},
		"\tES=F\n":              {Name: "ES=F"},
		"v:X^_.-=/":             {Venue: "v", Name: "X^_.-=/"},
	}
	for in, want := range cases {
		got, err := market.ParseSymbol(in)
		if err != nil || got != want {
			t.Errorf("ParseSymbol(%q) is %+v, %v, want %+v", in, got, err, want)
		}
	}
}

func TestParseSymbol_Refuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing": "", "white space": " \t", "a dash in front": "-A", "a dot in front": ".A", "a slash in front": "/etc",
		"a parent directory": "../A", "a space inside": "BTC USDT", "a venue alone": "binance:", "a name with an empty venue": ":BTC",
		"two venues": "a:b:C", "a venue that starts with a dash": "-a:B", "a caret in the venue": "^a:B",
		"forty-one characters": strings.Repeat("A", 41), "forty-one with the venue": "venue:" + strings.Repeat("A", 35),
		"a letter whose upper case is ASCII": "ſol", "a dotless i": "lıt", "an accent": "ÄPL", "a zero byte": "A\x00",
		"a newline inside": "A\nB", "a quote": `A"B`, "a percent sign": "A%2F", "broken UTF-8": "A\xff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := market.ParseSymbol(in)
			f := fault.Of(err)
			if f == nil || f.Kind != fault.Invalid || f.Field != "symbol" || !got.IsZero() {
				t.Errorf("ParseSymbol(%q) is %+v, %v", in, got, err)
			}
		})
	}
}

func TestSymbol_JSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"BTCUSDT"`, `"binance:BTCUSDT"`, `""`} {
		var s market.Symbol
		if err := json.Unmarshal([]byte(in), &s); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(s); err != nil || string(out) != in {
			t.Errorf("%s comes back as %s, %v", in, out, err)
		}
		if s.IsZero() != (in == `""`) {
			t.Errorf("%s: IsZero is %v", in, s.IsZero())
		}
	}
	s := market.Symbol{Name: "KEPT"}
	if err := json.Unmarshal([]byte(`"../x"`), &s); err == nil || s.Name != "KEPT" {
		t.Errorf("a bad symbol gives %v and leaves %v", err, s)
	}
}

func FuzzParseSymbol(f *testing.F) {
	for _, s := range []string{"BTCUSDT", "binance:BTCUSDT", "^GSPC", "EURUSD=X", "a:b:c", "ſ", " x ", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := market.ParseSymbol(in)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !s.IsZero() {
				t.Fatalf("%q: %v with %v", in, err, s)
			}
			return
		}
		text := s.String()
		if len(text) > 40 || strings.ToUpper(s.Name) != s.Name || strings.ToLower(s.Venue) != s.Venue {
			t.Fatalf("%q is read as %+v", in, s)
		}
		for _, c := range []byte(text) {
			if c < '!' || c > '~' || c == '\\' {
				t.Fatalf("%q lets %q through", in, c)
			}
		}
		if again, err := market.ParseSymbol(text); err != nil || again != s {
			t.Fatalf("%q is written as %q and read back as %+v, %v", in, text, again, err)
		}
	})
}
