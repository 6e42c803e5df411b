package indicator

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/kit/fault"
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
		`RSI`:                                 "rsi(length=14,overbought=70,oversold=30,show_divergences=false,zone_signals=false)",
		`rsi {"period":7}`:                    "rsi(length=7,overbought=70,oversold=30,show_divergences=false,zone_signals=false)",
		`bb {"mult":1.5}`:                     "bbands(period=20,std_dev=1.5)",
		`bollinger {"length":10,"std_dev":3}`: "bbands(period=10,std_dev=3)",
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

func TestResolve_NamesTheError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`rsii`:                        {"rsii", `"rsi"`},
		`rsi {"lengt":14}`:            {"lengt", `"length"`, "overbought"},
		`rsi {"length":0}`:            {"rsi.length", "0", "1 to 5000"},
		`rsi {"length":"14"}`:         {"rsi.length", "14", "whole number"},
		`rsi {"length":14.5}`:         {"rsi.length", "14.5", "whole number"},
		`rsi {"length":1e400}`:        {"rsi.length", "1e400", "1 to 5000"},
		`rsi {"length":null}`:         {"rsi.length", "null"},
		`rsi {"length":7,"period":9}`: {"length", "period", "same parameter"},
		`vwap {"anchor":"sesion"}`:    {"vwap.anchor", "sesion", `"session"`, "week"},
		`vp {"color_up":"red"}`:       {"volume_profile.color_up", "red", "#26a69a"},
		`vp {"split_up_down":"yes"}`:  {"split_up_down", "yes", "true or false"},
		`obv {"length":3}`:            {"obv parameter", "length", "takes no parameters"},
		`bbands {"std_dev":-1}`:       {"bbands.std_dev", "-1", "0 to 100"},
		`rsi {"oversold":80}`:         {"rsi.oversold", "80", "below overbought", "70"},
		`cb {"wt_overbought":-53}`:    {"cipher_b.wt_oversold", "-53", "below wt_overbought"},
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
