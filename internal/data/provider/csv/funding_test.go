package csv_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/lib/fault"
	"candela/lib/market"
)

const day = int64(1735689600) // 2025-01-01

// TestFunding_IsReadFromItsFile holds that a perpetual has the funding rates of its file: those of the time asked for
// and the one in force before, and none where there is no file.
func TestFunding_IsReadFromItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bars := "time,open,high,low,close,volume\n2025-01-01,1,1,1,1,1\n"
	write(t, dir, "BTCUSDT.P_1d.csv", bars)
	write(t, dir, "BTCUSDT_1d.csv", bars)
	write(t, dir, "BTCUSDT.P_funding.csv", "rate,time,note\n0.0001,2025-01-01T00:00:00Z,a\n-0.0002,2025-01-01T08:00:00Z,b\n0.0003,1735747200,c\n")
	p := open(t, csv.Config{Dir: dir})
	read := func(symbol string, from, to int64) []provider.Point {
		points, err := p.Series(t.Context(), provider.SeriesQuery{Name: "funding_rate", Symbol: market.Symbol{Name: symbol}, Interval: market.Hour1, From: from, To: to})
		if err != nil {
			t.Errorf("%s: %v", symbol, err)
		}
		return points
	}
	all := []provider.Point{{T: day, V: 0.0001}, {T: day + 8*3600, V: -0.0002}, {T: day + 16*3600, V: 0.0003}}
	for name, c := range map[string]struct{ got, want []provider.Point }{
		"all of them":            {read("BTCUSDT.P", day-86400, day+86400), all},
		"the one in force":       {read("BTCUSDT.P", day+3600, day+7200), all[:1]},
		"from a time exactly":    {read("BTCUSDT.P", day+8*3600, day+9*3600), all[:2]},
		"nothing of the pair":    {read("BTCUSDT", day, day+86400), nil},
		"nothing before a start": {read("BTCUSDT.P", day-86400, day-3600), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	inst, err := p.Instrument(t.Context(), market.Symbol{Name: "BTCUSDT.P"})
	if err != nil || inst.Class != provider.Perpetual {
		t.Errorf("the instrument is %+v, %v", inst, err)
	}
	if inst, err = p.Instrument(t.Context(), market.Symbol{Name: "BTCUSDT"}); err != nil || inst.Class != "" {
		t.Errorf("the pair is %+v, %v", inst, err)
	}
	before := p.Version(market.Symbol{Name: "BTCUSDT.P"})
	write(t, dir, "BTCUSDT.P_funding.csv", "time,rate\n2025-01-01,0.0007\n")
	if p.Version(market.Symbol{Name: "BTCUSDT.P"}) == before {
		t.Error("another file of rates is the same version")
	}
	if _, err := p.Series(t.Context(), provider.SeriesQuery{Name: "open_interest", Symbol: market.Symbol{Name: "BTCUSDT.P"}}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("another series: %v", err)
	}
}

// TestFunding_RefusesABrokenFile holds that what is wrong with a file is an error that says where.
func TestFunding_RefusesABrokenFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "is empty; the first line must name time,rate",
		"time,value\n1,2\n":        "line 1: no column rate",
		"rate\n1\n":                "line 1: no column time",
		"time,rate\nyesterday,1\n": `line 2, column time: "yesterday" is no time`,
		"time,rate\n1,much\n":      `line 2, column rate: "much" is not a finite decimal number`,
		"time,rate\n2,1\n2,1\n":    `line 3, column time: "2" is not later than the row before`,
		"time,rate\n1,2,3\n":       "line 2",
	} {
		dir := t.TempDir()
		write(t, dir, "BTCUSDT.P_1d.csv", "time,open,high,low,close,volume\n2025-01-01,1,1,1,1,1\n")
		write(t, dir, "BTCUSDT.P_funding.csv", text)
		p := open(t, csv.Config{Dir: dir, Now: time.Now})
		_, err := p.Series(t.Context(), provider.SeriesQuery{Name: "funding_rate", Symbol: market.Symbol{Name: "BTCUSDT.P"}, To: day})
		if f := fault.Of(err); f == nil || f.Code != "bad_file" || !strings.Contains(f.Message, want) || !strings.Contains(f.Message, "BTCUSDT.P_funding.csv") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
