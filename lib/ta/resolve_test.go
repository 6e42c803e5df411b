package ta

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"candela/lib/fault"
)

// request reads a name, and after a space the parameters.
func request(t *testing.T, text string) Request {
	t.Helper()
	name, params, given := strings.Cut(text, " ")
	r := Request{Name: name}
	if !given {
		return r
	}
	if err := json.Unmarshal([]byte(params), &r.Params); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestResolve_TakesEverySpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`RSI`:                                 "rsi(length=14,overbought=70,oversold=30,show_divergences=false,zone_signals=false,source=close)",
		`rsi {"period":7}`:                    "rsi(length=7,overbought=70,oversold=30,show_divergences=false,zone_signals=false,source=close)",
		`bb {"mult":1.5}`:                     "bbands(period=20,std_dev=1.5,source=close)",
		`bollinger {"length":10,"std_dev":3}`: "bbands(period=10,std_dev=3,source=close)",
		`stoch {"k":5,"d":4,"smooth":2}`:      "stoch(period=5,k_smooth=2,d_smooth=4)",
		`vpvr {"range_bars":null}`:            "volume_profile(bins=24,side=left,range_bars=unset,split_up_down=false,color_up=#26a69a,color_down=#ef5350,opacity=0.35,va_step=1)",
		`atr {"length":21.0}`:                 "atr(period=21)",
	} {
		s, err := Resolve(request(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s.Key() != want {
			t.Errorf("%s resolves to %s, want %s", text, s.Key(), want)
		}
	}
}

// TestResolve_ReadsNamesWithValues holds the spellings in which people ask for a length.
func TestResolve_ReadsNamesWithValues(t *testing.T) {
	t.Parallel()
	average := func(kind string, n int, source string) string {
		return fmt.Sprintf("ma(type=%s,length=%d,source=%s,offset=0.85,sigma=6,factor=0.7,fast=2,slow=30,cross_signals=false)", kind, n, source)
	}
	index := func(n int) string {
		return fmt.Sprintf("rsi(length=%d,overbought=70,oversold=30,show_divergences=false,zone_signals=false,source=close)", n)
	}
	for name, want := range map[string]string{
		"sma": average("sma", 9, "close"), "sma200": average("sma", 200, "close"), "SMA 200": average("sma", 200, "close"),
		"SMA-200": average("sma", 200, "close"), "sma_200": average("sma", 200, "close"), "200 sma": average("sma", 200, "close"),
		"200sma": average("sma", 200, "close"), "200-period SMA": average("sma", 200, "close"), "sma:200": average("sma", 200, "close"),
		"simple moving average": average("sma", 9, "close"), "Simple Moving Average (200)": average("sma", 200, "close"),
		"EMA(50)": average("ema", 50, "close"), "ema_100": average("ema", 100, "close"), "ema100": average("ema", 100, "close"),
		"EMA[50]": average("ema", 50, "close"), "100 ema": average("ema", 100, "close"), "ta.ema(hl2, 21)": average("ema", 21, "hl2"),
		"ema(close)": average("ema", 9, "close"), "ma50": average("sma", 50, "close"), "50 ma": average("sma", 50, "close"),
		"moving average": average("sma", 9, "close"), "hull 21": average("hma", 21, "close"), "hull moving average": average("hma", 9, "close"),
		"smma": average("rma", 7, "close"), "wilders 14": average("rma", 14, "close"), "lsma": average("linreg", 25, "close"),
		"t3": average("t3", 5, "close"), "T3 10": average("t3", 10, "close"), "t3(8)": average("t3", 8, "close"),
		"rsi14": index(14), "rsi(7)": index(7), "RSI 21": index(21), "relative strength index": index(14), "14 rsi": index(14),
		"macd(12,26,9)": "macd(fast=12,slow=26,signal=9,source=close)", "MACD 5 35 5": "macd(fast=5,slow=35,signal=5,source=close)", "macd(8,17)": "macd(fast=8,slow=17,signal=9,source=close)",
		"ema": "ema_stack()", "EMA": "ema_stack()", "ema stack": "ema_stack()", "Ema-Stack": "ema_stack()",
		"atr_21": "atr(period=21)", "Bollinger Bands": "bbands(period=20,std_dev=2,source=close)",
	} {
		s, err := Resolve(Request{Name: name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Key() != want {
			t.Errorf("%s resolves to %s, want %s", name, s.Key(), want)
		}
	}
	for text, want := range map[string]string{
		`ema {"length":50}`:                    average("ema", 50, "close"),
		`ema {"source":"hl2"}`:                 average("ema", 9, "hl2"),
		`ma {"type":"EMA","period":50}`:        average("ema", 50, "close"),
		`sma200 {"source":"open"}`:             average("sma", 200, "open"),
		`sma200 {"length":200}`:                average("sma", 200, "close"),
		`hull {"period":16}`:                   average("hma", 16, "close"),
		`kama {"fast":2,"length":10}`:          average("kama", 10, "close"),
		`ema_stack {}`:                         "ema_stack()",
		`ema {}`:                               "ema_stack()",
		`ma {"type":"sma","offset":0.85}`:      average("sma", 9, "close"),
		`volume-weighted-moving-average-20 {}`: average("vwma", 20, "close"),
	} {
		if s, err := Resolve(request(t, text)); err != nil || s.Key() != want {
			t.Errorf("%s: %v %v, want %s", text, s, err, want)
		}
	}
}

// FuzzResolve_Names reads any name: it may be refused, must not panic, and what it
// resolves to has a key that does not depend on the spelling.
func FuzzResolve_Names(f *testing.F) {
	for _, name := range []string{"sma200", "EMA(50)", "200-day ema", "macd(12,26,9)", "ta.rsi(close, 14)", "(", "1", "((", "sma()", "sma(,)", "ema_0", "ema -5", "t3.5", "50 -", "ma 1e3", "sma 1.", ".5 ema"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := Resolve(Request{Name: name})
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("%q: %v", name, err)
			}
			return
		}
		again, err := Resolve(Request{Name: strings.ToUpper(" " + name + " ")})
		if err != nil || again.Key() != s.Key() {
			t.Fatalf("%q is %s, and in capitals %v %v", name, s.Key(), again, err)
		}
		if _, err := Find(name); err != nil && fault.KindOf(err) != fault.Invalid {
			t.Fatalf("%q: %v", name, err)
		}
	})
}

func TestResolve_NamesTheError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`rsii`:                         {"rsii", `"rsi"`},
		`rsi {"lengt":14}`:             {"lengt", `"length"`, "overbought"},
		`rsi {"length":0}`:             {"rsi.length", "0", "1 to 5000"},
		`rsi {"length":"14"}`:          {"rsi.length", "14", "whole number"},
		`rsi {"length":14.5}`:          {"rsi.length", "14.5", "whole number"},
		`rsi {"length":1e400}`:         {"rsi.length", "1e400", "1 to 5000"},
		`rsi {"length":null}`:          {"rsi.length", "null"},
		`rsi {"length":7,"period":9}`:  {"length", "period", "same parameter"},
		`vwap {"anchor":"sesion"}`:     {"vwap.anchor", "sesion", `"session"`, "week"},
		`vp {"color_up":"red"}`:        {"volume_profile.color_up", "red", "#26a69a"},
		`vp {"split_up_down":"yes"}`:   {"split_up_down", "yes", "true or false"},
		`50-day-ema`:                   {"names a time", `{"name":"ema","length":50}`, `"interval":"1d"`},
		`sma(20,50)`:                   {"2 values", "at most length", `{"name":"sma","length":9}`},
		`obv(5)`:                       {"obv", "values in the name"},
		`sma0`:                         {"sma.length", "1 to 5000"},
		`sma20 {"length":50}`:          {"sma.length", "50", "only one length", "sma20"},
		`rsi(hl3,14)`:                  {"unknown indicator", `"rsi"`},
		`mfi(close,14)`:                {"mfi parameter", "source"},
		`ma {"type":"sma","factor":1}`: {"ma.factor", "only type t3"},
		`sma {"type":"ema"}`:           {"sma parameter", "type", "length"},
		`ma {"type":"exponential"}`:    {"ma.type", "exponential", "ema"},
		`ema_stack {"length":100}`:     {"always 8, 21, 50 and 200", `{"name":"ema","length":100}`},
		`obv {"length":3}`:             {"obv parameter", "length", "takes no parameters"},
		`bbands {"std_dev":-1}`:        {"bbands.std_dev", "-1", "0 to 100"},
		`rsi {"oversold":80}`:          {"rsi.oversold", "80", "below overbought", "70"},
		`cb {"wt_overbought":-53}`:     {"cipher_b.wt_oversold", "-53", "below wt_overbought"},
	} {
		_, err := Resolve(request(t, text))
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: kind %v", text, fault.KindOf(err))
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", text, err, part)
			}
		}
	}
}

func TestCheckSignal_MatchesTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, label, want string }{
		{"cipher_b", "gold_buy", ""},
		{"rsi", "rsi_oversold", ""},
		{"rsi", "oversold", "rsi_oversold"},
		{"macd", "flip_up", "cross_up, cross_down"},
		{"obv", "buy", "no signals"},
		{"cipher_b", "green_dot", "gold_buy"},
	} {
		d, err := Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckSignal(d, c.label)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.name, c.label, err, c.want)
		}
	}
}
