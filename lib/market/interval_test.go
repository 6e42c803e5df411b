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

// allKinds are the named intervals and others of every kind: some divide a day, some do not.
func allKinds() []market.Interval {
	return append(market.Intervals(), 10, 45, 2*market.Minute1, 7*market.Minute1, 45*market.Minute1, 3*market.Hour1, 11*market.Hour1,
		1439*market.Minute1, 2*market.Day1, 5*market.Day1, 365*market.Day1, 2*market.Week1, 3*market.Week1, 52*market.Week1,
		2*market.Month1, 3*market.Month1, 5*market.Month1, 12*market.Month1)
}

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

		45 * market.Second1:   {"45s", "45S", "45sec", "45 seconds"},
		7 * market.Minute1:    {"7m", "7", "7min"},
		90 * market.Minute1:   {"90m", "90"},
		3 * market.Hour1:      {"3h", "180", "3H"},
		2 * market.Day1:       {"2d", "2D", "48h", "2880"},
		2 * market.Week1:      {"2w", "2W", "14d"},
		3 * market.Month1:     {"3M", "3mo", "3months"},
		12 * market.Month1:    {"12M"},
		365 * market.Day1:     {"365d"},
		1439 * market.Minute1: {"1439m", "1439"},
	}
	for want, spellings := range cases {
		for _, s := range spellings {
			if got, err := market.ParseInterval(s); err != nil || got != want {
				t.Errorf("ParseInterval(%q) is %v, %v, want %v", s, got, err, want)
			}
		}
	}
	for _, i := range market.Intervals() {
		if len(cases[i]) == 0 {
			t.Errorf("no spelling of %v", i)
		}
	}
}

func TestParseInterval_Refuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "0", "0m", "60s", "90s", "25h", "1441", "366d", "53w", "15M", "13M", "1y", "-1h", "+1h", "1.5h", "1h1", "h1", "x",
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
		if iv.String() != names[k] {
			t.Errorf("%v has the name %s", iv, names[k])
		}
	}
	all = allKinds()
	slices.Sort(all)
	for k, iv := range all {
		if !iv.Valid() || iv.Duration() != time.Duration(iv.Seconds())*time.Second {
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
	for _, iv := range []market.Interval{0, market.Month1 + 1, 255, 60 + 1, 25 * market.Hour1, 366 * market.Day1, 13 * market.Month1} {
		if iv.Valid() || iv.Seconds() != 0 || iv.Duration() != 0 || !strings.HasPrefix(iv.String(), "interval(") {
			t.Errorf("%v passes for an interval", iv)
		}
		if _, err := iv.MarshalText(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v is written: %v", iv, err)
		}
	}
	iv := market.Hour1
	if err := iv.UnmarshalText([]byte("7x")); err == nil || iv != market.Hour1 {
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
