package yahoo

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/lib/market"
)

// recorded is the answer of the venue for one day of hours, after the close.
func recorded(tb testing.TB) string {
	tb.Helper()
	data, err := os.ReadFile("testdata/nvda_1h.json")
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func newYork(tb testing.TB) market.Calendar {
	tb.Helper()
	c, err := market.NewCalendar(market.USEquities())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func bar(t int64, o, h, l, c, v float64) market.Bar {
	return market.Bar{T: t, O: o, H: h, L: l, C: c, V: v, TakerBuy: math.NaN()}
}

func TestParse_RecordedDay(t *testing.T) {
	t.Parallel()
	c, err := parse([]byte(recorded(t)), "NVDA", "1h")
	if err != nil {
		t.Fatal(err)
	}
	cal, err := c.meta.calendar()
	if err != nil {
		t.Fatal(err)
	}
	bars, running := c.bars(cal, market.Hour1, 1714770000)
	if running {
		t.Error("a bar runs after the close")
	}
	if bars.Len() != 7 {
		t.Fatalf("%d bars: the tick at the session's end is one of them", bars.Len())
	}
	if got, want := bars.At(0), bar(1714743000, 877.89, 889.47, 870.40, 878.62, 13341628); !got.Equal(want) {
		t.Errorf("first is %+v, want %+v", got, want)
	}
	if got, want := bars.At(6), bar(1714764600, 888.78, 889.30, 885.97, 887.87, 2798449); !got.Equal(want) {
		t.Errorf("the short last one is %+v, want %+v", got, want)
	}
	holes, err := market.Gaps(&bars, market.Hour1, newYork(t))
	if err != nil || len(holes.Gaps)+len(holes.OffGrid) > 0 {
		t.Errorf("holes %+v, %v", holes, err)
	}
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	good := recorded(t)
	swap := func(old, changed string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the answer has no %q", old)
		}
		return strings.Replace(good, old, changed, 1)
	}
	for name, tc := range map[string]struct{ body, want string }{
		"nothing":                {"", "not a chart"},
		"a page":                 {"<!DOCTYPE html><html></html>", "not a chart"},
		"half of it":             {good[:len(good)/2], "not a chart"},
		"more than it":           {good + "}", "not a chart"},
		"an array":               {"[]", "not a chart"},
		"an object of no chart":  {"{}", "no chart"},
		"null":                   {"null", "no chart"},
		"no result":              {`{"chart":{"result":[],"error":null}}`, "0 results"},
		"two results":            {`{"chart":{"result":[{"meta":{}},{"meta":{}}],"error":null}}`, "2 results"},
		"no meta":                {`{"chart":{"result":[{}],"error":null}}`, "1 results"},
		"an error with 200":      {`{"chart":{"result":null,"error":{"code":"Not Found","description":"gone"}}}`, "gone"},
		"another symbol":         {swap(`"symbol":"NVDA"`, `"symbol":"NVDL"`), `"NVDL"`},
		"another interval":       {swap(`"dataGranularity":"1h"`, `"dataGranularity":"1d"`), `"1d"`},
		"a price in quotes":      {swap("878.6199951171875", `"878.6199951171875"`), "not a chart"},
		"a price out of range":   {swap("878.6199951171875", "1e999"), "not a chart"},
		"a time in quotes":       {swap("1714743000,1714746600,1714750200", `"1714743000",1714746600,1714750200`), "not a chart"},
		"a time with a fraction": {swap("1714746600,1714750200", "1714746600.5,1714750200"), "not a chart"},
		"a time missing":         {swap("1714746600,1714750200", "null,1714750200"), "time 1 is missing"},
		"times that run back":    {swap("1714746600,1714750200", "1714750200,1714746600"), "time 2 is missing or runs back"},
		"one time too few":       {swap("1714746600,1714750200", "1714750200"), "for 7 times"},
		"a column missing":       {swap(`"high":`, `"hi":`), "0 values of high"},
		"volumes in part":        {swap("13341628,5760484", "5760484"), "7 values of volume"},
		"no quote":               {swap(`"quote":[{`, `"quotes":[{`), "0 quotes"},
		"a decimal too many":     {swap(`"priceHint":2`, `"priceHint":99`), "priceHint is 99"},
		"columns swapped":        {strings.NewReplacer(`"high"`, `"low"`, `"low"`, `"high"`).Replace(good), "contradict themselves"},
		"periods of no kind":     {swap(`"tradingPeriods":[[`, `"tradingPeriods":[["x"],[`), "tradingPeriods"},
	} {
		_, err := parse([]byte(tc.body), "NVDA", "1h")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestParse_Holes(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]string{"open": "878.8699951171875", "high": "885.4000244140625", "low": "875.2600708007812", "close": "880.2459106445312", "volume": "5760484"} {
		c, err := parse([]byte(strings.Replace(recorded(t), old, "null", 1)), "NVDA", "1h")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bars, _ := c.bars(newYork(t), market.Hour1, 1714770000)
		if bars.Len() != 6 || bars.T[1] != 1714750200 {
			t.Errorf("a hole in %s gives %v", name, bars.T)
		}
	}
	body := `{"chart":{"result":[{"meta":{"symbol":"NVDA","dataGranularity":"1h"}}],"error":null}}`
	if c, err := parse([]byte(body), "NVDA", "1h"); err != nil || len(c.rows) != 0 {
		t.Errorf("a range without bars: %v", err)
	}
	none := `{"chart":{"result":[{"meta":{"symbol":"NVDA","dataGranularity":"1h"},"timestamp":[1714743000],
		"indicators":{"quote":[{"open":[1.25],"high":[1.25],"low":[1.25],"close":[1.25],"volume":[null]}]}}],"error":null}}`
	if c, err := parse([]byte(none), "NVDA", "1h"); err != nil || len(c.rows) != 1 || c.rows[0].V != 0 {
		t.Errorf("an instrument without volume: %+v, %v", c, err)
	}
	split := strings.Replace(none, `"dataGranularity"`, `"tradingPeriods":{"pre":[],"regular":[[{"start":5,"end":9}]]},"dataGranularity"`, 1)
	if c, err := parse([]byte(split), "NVDA", "1h"); err != nil || !cmp.Equal(c.meta.tradingPeriodsRead, []period{{5, 9}}) {
		t.Errorf("separate periods: %+v, %v", c, err)
	}
}

func TestRounder(t *testing.T) {
	t.Parallel()
	hint := func(n int) *int { return &n }
	for _, tc := range []struct {
		hint *int
		in   float64
		want float64
	}{
		{hint(2), 889.474609375, 889.47},
		{hint(2), 878.6199951171875, 878.62},
		{hint(4), 1.0723400115966797, 1.0723},
		{hint(0), 39000.5, 39001},
		{nil, 878.6199951171875, 878.62},
		{nil, 0.00002345000030, 0.00002345},
		{hint(12), 1e300, 1e300},
		{nil, 1e300, 1e300},
		{hint(2), -37.630001068115234, -37.63}, // oil, April 2020
	} {
		if got := rounder(tc.hint)(tc.in); got != tc.want {
			t.Errorf("%v becomes %v, want %v", tc.in, got, tc.want)
		}
	}
}

// TestBars_Labels goes through the ways in which the venue labels a bar. Times
// are of New York; 2025-11-03 is a Monday.
func TestBars_Labels(t *testing.T) {
	t.Parallel()
	cal := newYork(t)
	at := func(month time.Month, date, hour, minute, second int) int64 {
		return time.Date(2025, month, date, hour, minute, second, 0, cal.Zone()).Unix()
	}
	open := func(month time.Month, date int) int64 { return at(month, date, 9, 30, 0) }
	for name, tc := range map[string]struct {
		interval market.Interval
		rows     []market.Bar
		now      int64
		traded   int64 // regularMarketTime; now when 0
		want     []market.Bar
		running  bool
	}{
		"the now tick off the grid": {
			market.Minute5,
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 10, 5, 0), 2, 3, 2, 3, 4), bar(at(11, 3, 10, 7, 13), 3, 3, 3, 3, 0)},
			at(11, 3, 10, 7, 13), 0,
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 10, 5, 0), 2, 3, 2, 3, 4)},
			true,
		},
		"a bar that ended, sent with a delay": {
			market.Minute5,
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9)},
			at(11, 3, 10, 6, 0), at(11, 3, 9, 51, 0),
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9)},
			true,
		},
		"a bar that ended long ago": {
			market.Minute5,
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9)},
			at(11, 3, 10, 40, 0), at(11, 3, 10, 3, 0),
			[]market.Bar{bar(at(11, 3, 10, 0, 0), 1, 2, 1, 2, 9)},
			false,
		},
		"an auction after the session": {
			market.Minute5,
			[]market.Bar{bar(at(11, 3, 15, 55, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 16, 0, 0), 2, 2, 2, 2, 90), bar(open(11, 4), 2, 2, 2, 2, 1)},
			at(11, 4, 18, 0, 0), 0,
			[]market.Bar{bar(at(11, 3, 15, 55, 0), 1, 2, 1, 2, 9), bar(open(11, 4), 2, 2, 2, 2, 1)},
			false,
		},
		"hours counted from zero after lunch": {
			market.Hour1,
			[]market.Bar{bar(at(11, 3, 11, 30, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 13, 0, 0), 2, 3, 2, 2, 9)},
			at(11, 3, 13, 40, 0), 0,
			[]market.Bar{bar(at(11, 3, 11, 30, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 13, 0, 0), 2, 3, 2, 2, 9)},
			true,
		},
		"today labelled by its last trade": {
			market.Day1,
			[]market.Bar{bar(open(11, 3), 1, 2, 1, 2, 9), bar(at(11, 4, 11, 2, 5), 2, 3, 2, 3, 4)},
			at(11, 4, 11, 2, 5), 0,
			[]market.Bar{bar(open(11, 3), 1, 2, 1, 2, 9), bar(open(11, 4), 2, 3, 2, 3, 4)},
			true,
		},
		"today after the close": {
			market.Day1,
			[]market.Bar{bar(open(11, 3), 1, 2, 1, 2, 9), bar(at(11, 4, 16, 0, 2), 2, 3, 2, 3, 4)},
			at(11, 4, 16, 5, 0), at(11, 4, 16, 0, 2),
			[]market.Bar{bar(open(11, 3), 1, 2, 1, 2, 9), bar(open(11, 4), 2, 3, 2, 3, 4)},
			false,
		},
		"today listed twice": {
			market.Day1,
			[]market.Bar{bar(open(11, 4), 2, 3, 2, 2, 4), bar(at(11, 4, 15, 0, 1), 2, 4, 2, 4, 5)},
			at(11, 4, 15, 0, 1), 0,
			[]market.Bar{bar(open(11, 4), 2, 4, 2, 4, 5)},
			true,
		},
		"today and a tick": {
			market.Day1,
			[]market.Bar{bar(open(11, 4), 2, 3, 2, 2, 4), bar(at(11, 4, 15, 0, 1), 2, 2, 2, 2, 0)},
			at(11, 4, 15, 0, 1), 0,
			[]market.Bar{bar(open(11, 4), 2, 3, 2, 2, 4)},
			true,
		},
		"days labelled by midnight, over the clock change": {
			market.Day1,
			[]market.Bar{bar(at(10, 31, 0, 0, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 0, 0, 0), 2, 3, 2, 3, 4)},
			at(11, 4, 8, 0, 0), 0,
			[]market.Bar{bar(open(10, 31), 1, 2, 1, 2, 9), bar(open(11, 3), 2, 3, 2, 3, 4)},
			false,
		},
		"a day without a session": {
			market.Day1,
			[]market.Bar{bar(open(10, 31), 1, 2, 1, 2, 9), bar(at(11, 1, 0, 0, 0), 1, 2, 1, 2, 9)},
			at(11, 2, 0, 0, 0), 0,
			[]market.Bar{bar(open(10, 31), 1, 2, 1, 2, 9)},
			false,
		},
		"a week and today": {
			market.Week1,
			[]market.Bar{bar(at(10, 27, 0, 0, 0), 1, 2, 1, 2, 9), bar(at(11, 3, 0, 0, 0), 2, 3, 2, 3, 4), bar(at(11, 5, 14, 0, 9), 3, 5, 3, 4, 6)},
			at(11, 5, 14, 0, 9), 0,
			[]market.Bar{bar(open(10, 27), 1, 2, 1, 2, 9), bar(open(11, 3), 2, 5, 2, 4, 10)},
			true,
		},
		"a week after its close": {
			market.Week1,
			[]market.Bar{bar(at(11, 3, 0, 0, 0), 2, 3, 2, 3, 4), bar(at(11, 7, 16, 0, 1), 3, 5, 3, 4, 6)},
			at(11, 8, 1, 0, 0), 0,
			[]market.Bar{bar(open(11, 3), 2, 5, 2, 4, 10)},
			false,
		},
		"a month that begins on a Saturday": {
			market.Month1,
			[]market.Bar{bar(at(10, 1, 0, 0, 0), 1, 2, 1, 2, 9), bar(at(11, 1, 0, 0, 0), 2, 3, 2, 3, 4)},
			at(11, 5, 1, 0, 0), 0,
			[]market.Bar{bar(open(10, 1), 1, 2, 1, 2, 9), bar(open(11, 3), 2, 3, 2, 3, 4)},
			true,
		},
	} {
		c := &chart{rows: tc.rows}
		if c.meta.RegularMarketTime = tc.traded; tc.traded == 0 {
			c.meta.RegularMarketTime = tc.now
		}
		got, running := c.bars(cal, tc.interval, tc.now)
		if running != tc.running || got.Len() != len(tc.want) {
			t.Errorf("%s: %d bars, running %v", name, got.Len(), running)
			continue
		}
		for i, want := range tc.want {
			if !got.At(i).Equal(want) {
				t.Errorf("%s: bar %d is %+v, want %+v", name, i, got.At(i), want)
			}
		}
	}
}

func TestMeta_Calendar(t *testing.T) {
	t.Parallel()
	session := func(zone string, month time.Month, date, from, to int) period {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		at := func(minutes int) int64 { return time.Date(2025, month, date, 0, minutes, 0, 0, loc).Unix() }
		return period{at(from), at(to)}
	}
	hours := func(h market.Hours) market.Calendar {
		c, err := market.NewCalendar(h)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	sunToFri := []time.Weekday{0, 1, 2, 3, 4, 5}
	for name, tc := range map[string]struct {
		kind, zone string
		periods    []period
		want       market.Calendar
	}{
		"New York":       {"EQUITY", "America/New_York", []period{session("America/New_York", 11, 3, 570, 960)}, newYork(t)},
		"on a half day":  {"EQUITY", "America/New_York", []period{session("America/New_York", 11, 28, 570, 780), session("America/New_York", 11, 26, 570, 960)}, newYork(t)},
		"in summer time": {"INDEX", "America/New_York", []period{session("America/New_York", 7, 3, 570, 960), session("America/New_York", 11, 3, 570, 960)}, newYork(t)},
		"a currency": {
			"CURRENCY", "Europe/London",
			[]period{session("Europe/London", 11, 3, 0, 1439)},
			hours(market.Hours{Zone: "Europe/London", Close: 24 * time.Hour, Days: sunToFri, PerYear: 260}),
		},
		"a coin": {"CRYPTOCURRENCY", "UTC", []period{session("UTC", 11, 3, 0, 1439)}, market.Calendar{}},
		"a coin listed in another zone": {
			"CRYPTOCURRENCY", "Europe/London",
			[]period{session("Europe/London", 11, 3, 0, 1439)},
			hours(market.Hours{Zone: "Europe/London", Close: 24 * time.Hour, Days: append([]time.Weekday{6}, sunToFri...), PerYear: 365}),
		},
		"over midnight": {
			"FUTURE", "America/Chicago",
			[]period{session("America/Chicago", 11, 3, 1020, 1440+960)},
			hours(market.Hours{Zone: "America/Chicago", Close: 24 * time.Hour, Days: sunToFri, PerYear: 260}),
		},
		"a Sunday": {
			"EQUITY", "Asia/Riyadh",
			[]period{session("Asia/Riyadh", 11, 2, 600, 900)},
			hours(market.Hours{Zone: "Asia/Riyadh", Open: 10 * time.Hour, Close: 15 * time.Hour, Days: sunToFri, PerYear: 252}),
		},
	} {
		m := meta{Type: tc.kind, Zone: tc.zone, tradingPeriodsRead: tc.periods[1:], CurrentPeriod: periods{&tc.periods[0]}}
		got, err := m.calendar()
		if err != nil || !sameHours(got, tc.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, m := range map[string]meta{
		"no zone":    {CurrentPeriod: periods{&period{1, 2}}},
		"no such":    {Zone: "Mars/Olympus", CurrentPeriod: periods{&period{1, 2}}},
		"no session": {Zone: "America/New_York"},
		"backwards":  {Zone: "America/New_York", CurrentPeriod: periods{&period{2, 1}}},
	} {
		if _, err := m.calendar(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// sameHours compares what two calendars say over a year.
func sameHours(a, b market.Calendar) bool {
	if a.Zone().String() != b.Zone().String() || a.PerYear(market.Day1) != b.PerYear(market.Day1) {
		return false
	}
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for t := from; t < from+365*day; {
		s := a.Next(market.Day1, t)
		if s != b.Next(market.Day1, t) {
			return false
		}
		t = s.Open
	}
	return true
}

// FuzzParse holds that whatever comes is an error or sound bars on the calendar.
func FuzzParse(f *testing.F) {
	good := recorded(f)
	f.Add(good, uint32(market.Hour1))
	f.Add(good[:700], uint32(market.Hour1))
	f.Add("<!DOCTYPE html>", uint32(market.Day1))
	f.Add(`{"chart":{"result":null,"error":{"code":"Not Found","description":"No data found, symbol may be delisted"}}}`, uint32(market.Week1))
	f.Add(strings.NewReplacer(`"1h"`, `"1d"`, "5760484", "null", "878.6199951171875", `"x"`).Replace(good), uint32(market.Day1))
	f.Add(strings.NewReplacer(`"1h"`, `"1wk"`, "1714746600", "1714707000").Replace(good), uint32(market.Week1))
	f.Fuzz(func(t *testing.T, body string, interval uint32) {
		i := market.Interval(interval)
		form := forms()[i]
		if form.name == "" {
			return
		}
		c, err := parse([]byte(body), "NVDA", form.name)
		if err != nil {
			return
		}
		cal, err := c.meta.calendar()
		if err != nil {
			return
		}
		bars, running := c.bars(cal, i, 1714770000)
		if err := bars.Check(); err != nil {
			t.Fatal(err)
		}
		if bars.Len() > len(c.rows) || running && bars.Len() == 0 {
			t.Fatalf("%d bars of %d rows, running %v", bars.Len(), len(c.rows), running)
		}
	})
}
