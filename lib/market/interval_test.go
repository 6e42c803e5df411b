package market_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"candela/lib/fault"
	"candela/lib/market"
)

func TestParseInterval(t *testing.T) {
	t.Parallel()
	cases := map[market.Interval][]string{
		market.Minute1:  {"1m", "1", "1min", "m", "01m"},
		market.Minute3:  {"3m", "3", "3min"},
		market.Minute5:  {"5m", "5", "5 min", "5Minutes"},
		market.Minute15: {"15m", "15", "15min", "15mins", " 15m "},
		market.Minute30: {"30m", "30"},
		market.Hour1:    {"1h", "60", "60m", "1hr", "1H", "1hour", "hourly", "h"},
		market.Hour2:    {"2h", "120", "2hrs"},
		market.Hour4:    {"4h", "240", "4H", "4hours"},
		market.Hour6:    {"6h", "360"},
		market.Hour8:    {"8h", "480"},
		market.Hour12:   {"12h", "720"},
		market.Day1:     {"1d", "1D", "D", "24h", "1440", "1day", "daily"},
		market.Day3:     {"3d", "3D", "72h"},
		market.Week1:    {"1w", "1W", "1wk", "W", "7d", "weekly", "1week"},
		market.Month1:   {"1M", "M", "1mo", "1Mo", "1month", "monthly", "1 M"},
	}
	for want, spellings := range cases {
		for _, s := range spellings {
			if got, err := market.ParseInterval(s); err != nil || got != want {
				t.Errorf("ParseInterval(%q) is %v, %v, want %v", s, got, err, want)
			}
		}
	}
	if len(cases) != len(market.Intervals()) {
		t.Errorf("%d intervals are spelled, there are %d", len(cases), len(market.Intervals()))
	}
}

func TestParseInterval_Refuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "0", "0m", "2m", "7m", "15M", "3M", "2w", "2mo", "1y", "-1h", "+1h", "1.5h", "1h1", "h1", "x",
		"99999999999999999999m", "9223372036854775807d", "10081", "1w\u212a", "１m", "1\x00m",
	} {
		got, err := market.ParseInterval(in)
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Invalid || f.Field != "interval" || f.Value != in || got != 0 {
			t.Errorf("ParseInterval(%q) is %v, %v", in, got, err)
			continue
		}
		if !strings.Contains(f.Allowed, "1m 3m 5m") || !strings.Contains(f.Allowed, "1M") {
			t.Errorf("ParseInterval(%q) allows %q", in, f.Allowed)
		}
	}
}

func TestParseInterval_SuggestsTheMinuteForCapitalM(t *testing.T) {
	t.Parallel()
	_, err := market.ParseInterval("15M")
	if f := fault.Of(err); f == nil || len(f.Suggestions) == 0 || f.Suggestions[0] != "15m" {
		t.Errorf("the error is %v", err)
	}
}

func TestInterval_TableIsWhole(t *testing.T) {
	t.Parallel()
	all, names := market.Intervals(), market.IntervalNames()
	if want := strings.Fields("1m 3m 5m 15m 30m 1h 2h 4h 6h 8h 12h 1d 3d 1w 1M"); !slices.Equal(names, want) {
		t.Fatalf("names are %v", names)
	}
	for k, iv := range all {
		if iv.String() != names[k] || !iv.Valid() || iv.Duration() != time.Duration(iv.Seconds())*time.Second {
			t.Errorf("interval %d is %v", k, iv)
		}
		if k > 0 && iv.Seconds() <= all[k-1].Seconds() {
			t.Errorf("%v is not longer than %v", iv, all[k-1])
		}
		text, err := json.Marshal(iv)
		var back market.Interval
		if err != nil || json.Unmarshal(text, &back) != nil || back != iv {
			t.Errorf("%v comes back from %s as %v", iv, text, back)
		}
	}
}

func TestInterval_OutsideTheTable(t *testing.T) {
	t.Parallel()
	for _, iv := range []market.Interval{0, market.Month1 + 1, 255} {
		if iv.Valid() || iv.Seconds() != 0 || iv.Duration() != 0 || !strings.HasPrefix(iv.String(), "interval(") {
			t.Errorf("%v passes for an interval", iv)
		}
		if _, err := iv.MarshalText(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v is written: %v", iv, err)
		}
	}
	iv := market.Hour1
	if err := iv.UnmarshalText([]byte("7m")); err == nil || iv != market.Hour1 {
		t.Errorf("a bad text gives %v and leaves %v", err, iv)
	}
}

func FuzzParseInterval(f *testing.F) {
	for _, s := range []string{"15", "15m", "1M", "1mo", "60", "1wk", "24h", "1 d", "0", "", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		iv, err := market.ParseInterval(in)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || iv != 0 {
				t.Fatalf("%q: %v with %v", in, err, iv)
			}
			return
		}
		if again, err := market.ParseInterval(iv.String()); err != nil || again != iv {
			t.Fatalf("%q is %v, whose own name is read as %v, %v", in, iv, again, err)
		}
		for _, c := range strings.TrimSpace(in) {
			if c > 127 && !unicode.IsSpace(c) {
				t.Fatalf("%q lets %q through", in, c)
			}
		}
	})
}
