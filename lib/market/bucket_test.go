package market_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"candela/lib/fault"
	"candela/lib/market"
)

func at(tb testing.TB, s string) int64 {
	tb.Helper()
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		tb.Fatal(err)
	}
	return t.Unix()
}

func calendar(tb testing.TB, h market.Hours) market.Calendar {
	tb.Helper()
	c, err := market.NewCalendar(h)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func utc(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

func TestCalendar_Bucket(t *testing.T) {
	t.Parallel()
	var crypto market.Calendar
	newYork := calendar(t, market.USEquities())
	tokyo := calendar(t, market.Hours{Zone: "Asia/Tokyo", Open: 9 * time.Hour, Close: 15*time.Hour + 30*time.Minute})
	fridays := calendar(t, market.Hours{Zone: "UTC", Close: time.Hour, Days: []time.Weekday{time.Friday}})
	berlin := calendar(t, market.Hours{Zone: "Europe/Berlin", Close: 24 * time.Hour, Days: []time.Weekday{time.Sunday}})
	stJohns := calendar(t, market.Hours{Zone: "America/St_Johns", Close: 24 * time.Hour, Days: []time.Weekday{time.Sunday}})
	casey := calendar(t, market.Hours{Zone: "Antarctica/Casey", Close: 24 * time.Hour})
	amman := calendar(t, market.Hours{Zone: "Asia/Amman", Close: 24 * time.Hour})
	riyadh := calendar(t, market.Hours{Zone: "Asia/Riyadh", Open: 10 * time.Hour, Close: 15 * time.Hour, Days: []time.Weekday{0, 1, 2, 3, 4}})
	cases := map[string]struct {
		cal         market.Calendar
		iv          market.Interval
		t           string
		open, close string // empty: outside every session
	}{
		"crypto minute":                        {crypto, market.Minute1, "2024-02-29T23:59:59Z", "2024-02-29T23:59:00Z", "2024-03-01T00:00:00Z"},
		"crypto 4h":                            {crypto, market.Hour4, "2024-03-05T15:59:59Z", "2024-03-05T12:00:00Z", "2024-03-05T16:00:00Z"},
		"crypto bucket holds its own open":     {crypto, market.Hour4, "2024-03-05T12:00:00Z", "2024-03-05T12:00:00Z", "2024-03-05T16:00:00Z"},
		"crypto day before 1970":               {crypto, market.Day1, "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"},
		"crypto 3d counts from the epoch":      {crypto, market.Day3, "1970-01-05T10:00:00Z", "1970-01-04T00:00:00Z", "1970-01-07T00:00:00Z"},
		"crypto 3d before the epoch":           {crypto, market.Day3, "1969-12-30T10:00:00Z", "1969-12-29T00:00:00Z", "1970-01-01T00:00:00Z"},
		"crypto week begins on Monday":         {crypto, market.Week1, "2024-03-10T23:59:59Z", "2024-03-04T00:00:00Z", "2024-03-11T00:00:00Z"},
		"crypto week of a Monday":              {crypto, market.Week1, "2024-03-04T00:00:00Z", "2024-03-04T00:00:00Z", "2024-03-11T00:00:00Z"},
		"seven minutes count from midnight":    {crypto, 7 * market.Minute1, "2024-02-29T00:20:00Z", "2024-02-29T00:14:00Z", "2024-02-29T00:21:00Z"},
		"the last seven minutes end with it":   {crypto, 7 * market.Minute1, "2024-02-29T23:56:00Z", "2024-02-29T23:55:00Z", "2024-03-01T00:00:00Z"},
		"two weeks from a Monday":              {crypto, 2 * market.Week1, "2024-03-01T12:00:00Z", "2024-02-26T00:00:00Z", "2024-03-11T00:00:00Z"},
		"a quarter":                            {crypto, 3 * market.Month1, "2024-02-29T12:00:00Z", "2024-01-01T00:00:00Z", "2024-04-01T00:00:00Z"},
		"a year":                               {crypto, 12 * market.Month1, "2024-02-29T12:00:00Z", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		"45 minutes of a session":              {newYork, 45 * market.Minute1, "2024-03-20T19:50:00Z", "2024-03-20T19:30:00Z", "2024-03-20T20:00:00Z"},
		"crypto leap February":                 {crypto, market.Month1, "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		"crypto December":                      {crypto, market.Month1, "2023-12-31T23:59:59Z", "2023-12-01T00:00:00Z", "2024-01-01T00:00:00Z"},
		"crypto month before 1970":             {crypto, market.Month1, "1969-12-15T00:00:00Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		"stocks in winter open at 14:30 UTC":   {newYork, market.Hour1, "2024-03-08T15:00:00Z", "2024-03-08T14:30:00Z", "2024-03-08T15:30:00Z"},
		"stocks in summer open at 13:30 UTC":   {newYork, market.Hour1, "2024-03-11T14:00:00Z", "2024-03-11T13:30:00Z", "2024-03-11T14:30:00Z"},
		"the last hour is cut at the close":    {newYork, market.Hour1, "2024-03-11T19:59:59Z", "2024-03-11T19:30:00Z", "2024-03-11T20:00:00Z"},
		"the second 4h is cut at the close":    {newYork, market.Hour4, "2024-03-11T18:00:00Z", "2024-03-11T17:30:00Z", "2024-03-11T20:00:00Z"},
		"12h is the whole session":             {newYork, market.Hour12, "2024-03-11T18:00:00Z", "2024-03-11T13:30:00Z", "2024-03-11T20:00:00Z"},
		"a stock day is its session":           {newYork, market.Day1, "2024-03-08T20:59:59Z", "2024-03-08T14:30:00Z", "2024-03-08T21:00:00Z"},
		"the close is outside":                 {newYork, market.Day1, "2024-03-08T21:00:00Z", "", ""},
		"before the open is outside":           {newYork, market.Minute1, "2024-03-08T14:29:59Z", "", ""},
		"Saturday is outside":                  {newYork, market.Minute1, "2024-03-09T15:00:00Z", "", ""},
		"a week over a change of clocks":       {newYork, market.Week1, "2024-03-12T02:00:00Z", "2024-03-11T13:30:00Z", "2024-03-15T20:00:00Z"},
		"the weekend is outside the week":      {newYork, market.Week1, "2024-03-16T02:00:00Z", "", ""},
		"a month over a change of clocks":      {newYork, market.Month1, "2024-03-20T00:00:00Z", "2024-03-01T14:30:00Z", "2024-03-29T20:00:00Z"}, // Good Friday: holidays are not known
		"a month that begins on a Saturday":    {newYork, market.Month1, "2024-06-20T00:00:00Z", "2024-06-03T13:30:00Z", "2024-06-28T20:00:00Z"},
		"3d groups local dates":                {newYork, market.Day3, "2024-03-12T15:00:00Z", "2024-03-12T13:30:00Z", "2024-03-14T20:00:00Z"},
		"3d with a weekend in it":              {newYork, market.Day3, "2024-03-15T15:00:00Z", "2024-03-15T13:30:00Z", "2024-03-15T20:00:00Z"},
		"Tokyo's Monday is Sunday in UTC":      {tokyo, market.Week1, "2024-03-11T00:00:00Z", "2024-03-11T00:00:00Z", "2024-03-15T06:30:00Z"},
		"Tokyo's first half hour":              {tokyo, market.Minute30, "2024-03-11T00:29:59Z", "2024-03-11T00:00:00Z", "2024-03-11T00:30:00Z"},
		"a week of Fridays":                    {fridays, market.Week1, "2024-03-15T00:30:00Z", "2024-03-15T00:00:00Z", "2024-03-15T01:00:00Z"},
		"3d without a Friday":                  {fridays, market.Day3, "2024-03-12T00:30:00Z", "", ""},
		"a week from Sunday to Thursday":       {riyadh, market.Week1, "2024-03-12T08:00:00Z", "2024-03-11T07:00:00Z", "2024-03-17T12:00:00Z"},
		"a spring day of 23 hours":             {berlin, market.Day1, "2025-03-30T10:00:00Z", "2025-03-29T23:00:00Z", "2025-03-30T22:00:00Z"},
		"hours count through an autumn change": {berlin, market.Hour12, "2024-10-27T22:30:00Z", "2024-10-27T22:00:00Z", "2024-10-27T23:00:00Z"},
		"the hour before midnight once more":   {stJohns, market.Hour1, "1987-10-25T02:45:00Z", "1987-10-25T02:30:00Z", "1987-10-25T03:30:00Z"},
		"an autumn day of 25 hours":            {stJohns, market.Day1, "1987-10-25T02:45:00Z", "1987-10-25T02:30:00Z", "1987-10-26T03:30:00Z"},
		"two hours that come once more, first": {casey, market.Day1, "2010-03-04T14:00:00Z", "2010-03-04T13:00:00Z", "2010-03-05T16:00:00Z"},
		"and again, after an hour of the 4th":  {casey, market.Day1, "2010-03-04T15:30:00Z", "2010-03-04T13:00:00Z", "2010-03-05T16:00:00Z"},
		"the day before them":                  {casey, market.Day1, "2010-03-04T12:59:59Z", "2010-03-03T13:00:00Z", "2010-03-04T13:00:00Z"},
		"midnight twice":                       {amman, market.Day1, "2011-10-27T21:30:00Z", "2011-10-27T21:00:00Z", "2011-10-28T22:00:00Z"},
		"no interval":                          {crypto, 0, "2024-03-12T00:30:00Z", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			span, ok := tc.cal.Bucket(tc.iv, at(t, tc.t))
			if tc.open == "" {
				if ok || span != (market.Span{}) {
					t.Fatalf("got %s to %s, want none", utc(span.Open), utc(span.Close))
				}
				return
			}
			if !ok || span.Open != at(t, tc.open) || span.Close != at(t, tc.close) {
				t.Errorf("got %s to %s (%v), want %s to %s", utc(span.Open), utc(span.Close), ok, tc.open, tc.close)
			}
		})
	}
}

// anyCalendar draws round-the-clock and session calendars in zones with and
// without clock changes, on either side of Greenwich.
func anyCalendar() *rapid.Generator[market.Calendar] {
	return rapid.Custom(func(rt *rapid.T) market.Calendar {
		zone := rapid.SampledFrom([]string{
			"", "UTC", "America/New_York", "Europe/London", "Asia/Tokyo", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "America/Havana", "Antarctica/Casey", "Asia/Amman",
		}).Draw(rt, "zone")
		if zone == "" {
			return market.Calendar{}
		}
		open := rapid.IntRange(0, 24*60-1).Draw(rt, "open minute")
		h := market.Hours{
			Zone: zone, Open: time.Duration(open) * time.Minute,
			Close: time.Duration(rapid.IntRange(open+1, 24*60).Draw(rt, "close minute")) * time.Minute,
		}
		for d := range 7 {
			if rapid.Bool().Draw(rt, "day") {
				h.Days = append(h.Days, time.Weekday(d))
			}
		}
		c, err := market.NewCalendar(h)
		if err != nil {
			rt.Fatal(err)
		}
		return c
	})
}

func TestCalendar_BucketsTileTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCalendar().Draw(rt, "calendar")
		iv := rapid.SampledFrom(allKinds()).Draw(rt, "interval")
		at := rapid.Int64Range(-2e9, 6e9).Draw(rt, "t")
		next, prev := c.Next(iv, at), c.Prev(iv, at)
		if next.Open <= at || prev.Open >= at || next.Open >= next.Close || prev.Open >= prev.Close {
			rt.Fatalf("around %d: %v and %v", at, prev, next)
		}
		for _, s := range []market.Span{prev, next} {
			for _, inside := range []int64{s.Open, s.Close - 1} {
				if got, ok := c.Bucket(iv, inside); !ok || got != s {
					rt.Fatalf("%v holds %d, whose bucket is %v, %v", s, inside, got, ok)
				}
			}
		}
		if span, ok := c.Bucket(iv, at); ok {
			if !span.Holds(at) || span.Close > next.Open {
				rt.Fatalf("%d is in %v, next is %v", at, span, next)
			}
			if span.Open < at && span != prev {
				rt.Fatalf("%d is in %v, but the last to open before it is %v", at, span, prev)
			}
		} else if prev.Holds(at) || next.Holds(at) {
			rt.Fatalf("%d is in no bucket, yet %v or %v holds it", at, prev, next)
		}
		if got := c.Prev(iv, next.Open); got.Open > at || c.Next(iv, got.Open) != next {
			rt.Fatalf("stepping back from %v leads to %v", next, got)
		}
		if c.RoundTheClock() && next.Open != prev.Close && next != c.Next(iv, prev.Open) {
			if span, ok := c.Bucket(iv, at); !ok || span.Open != at {
				rt.Fatalf("%v and %v leave a hole", prev, next)
			}
		}
	})
}

func TestCalendar_FinerBucketsLieInCoarserOnes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCalendar().Draw(rt, "calendar")
		fine := rapid.SampledFrom(allKinds()).Draw(rt, "fine")
		coarse := rapid.SampledFrom(allKinds()).Draw(rt, "coarse")
		if !fine.Divides(coarse) {
			rt.Skip()
		}
		s := c.Next(fine, rapid.Int64Range(-2e9, 6e9).Draw(rt, "t"))
		outer, ok := c.Bucket(coarse, s.Open)
		if !ok || outer.Open > s.Open || outer.Close < s.Close {
			rt.Fatalf("%v of %v is not within %v of %v", s, fine, outer, coarse)
		}
		if c.Next(fine, outer.Open-1).Open != outer.Open {
			rt.Fatalf("%v does not begin with a bar of %v", outer, fine)
		}
	})
}

func TestCalendar_CountEqualsSteppingThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCalendar().Draw(rt, "calendar")
		iv := rapid.SampledFrom(allKinds()).Draw(rt, "interval")
		from := rapid.Int64Range(-2e9, 6e9).Draw(rt, "from")
		in := market.Span{Open: from, Close: from + rapid.Int64Range(-5, 60*iv.Seconds()).Draw(rt, "length")}
		want := 0
		for s := c.Next(iv, in.Open-1); s.Open < in.Close; s = c.Next(iv, s.Open) {
			want++
		}
		if got := c.Count(iv, in); got != want {
			rt.Fatalf("%v has %d bars of %v, counted %d", in, want, iv, got)
		}
	})
}

func TestInterval_Divides(t *testing.T) {
	t.Parallel()
	cases := map[[2]market.Interval]bool{
		{market.Minute1, market.Minute3}: true, {market.Minute3, market.Minute5}: false,
		{market.Minute5, market.Minute3}: false, {market.Minute1, market.Hour4}: true,
		{market.Hour4, market.Hour6}: false, {market.Hour8, market.Hour12}: false,
		{market.Hour8, market.Day1}: true, {market.Day1, market.Day3}: true,
		{market.Day1, market.Week1}: true, {market.Day1, market.Month1}: true,
		{market.Day3, market.Week1}: false, {market.Week1, market.Month1}: false,
		{market.Day3, market.Month1}: false, {market.Month1, market.Month1}: true,
		{7 * market.Minute1, market.Day1}: true, {7 * market.Minute1, market.Hour1}: false, {7 * market.Minute1, 2 * market.Week1}: true,
		{market.Day1, 5 * market.Day1}: true, {2 * market.Day1, 4 * market.Day1}: true, {market.Day3, 2 * market.Day1}: false,
		{market.Day3, 21 * market.Day1}: false, {market.Week1, 2 * market.Week1}: true, {2 * market.Week1, market.Week1}: false,
		{market.Month1, 3 * market.Month1}: true, {3 * market.Month1, 12 * market.Month1}: true, {market.Week1, 3 * market.Month1}: false,
		{15, market.Minute1}: true, {45, market.Minute1}: false,
		{0, market.Hour1}: false, {market.Hour1, 0}: false, {0, 0}: false,
		{market.Day1, market.Hour1}: false,
	}
	for pair, want := range cases {
		if got := pair[0].Divides(pair[1]); got != want {
			t.Errorf("%v divides %v: %v", pair[0], pair[1], got)
		}
	}
}

func TestCalendar_PerYear(t *testing.T) {
	t.Parallel()
	var crypto market.Calendar
	newYork := calendar(t, market.USEquities())
	forex := calendar(t, market.Hours{Zone: "UTC", Close: 24 * time.Hour, PerYear: 260})
	cases := map[string]struct {
		cal  market.Calendar
		iv   market.Interval
		want float64
	}{
		"crypto minutes":     {crypto, market.Minute1, 525600},
		"crypto 4h":          {crypto, market.Hour4, 2190},
		"crypto days":        {crypto, market.Day1, 365},
		"crypto weeks":       {crypto, market.Week1, 365.0 / 7},
		"months":             {crypto, market.Month1, 12},
		"stock minutes":      {newYork, market.Minute1, 252 * 390},
		"stock hours":        {newYork, market.Hour1, 252 * 7},
		"stock 4h":           {newYork, market.Hour4, 252 * 2},
		"stock days":         {newYork, market.Day1, 252},
		"stock 3d":           {newYork, market.Day3, 365.0 / 3},
		"stock months":       {newYork, market.Month1, 12},
		"forex with its own": {forex, market.Hour1, 260 * 24},
		"no interval":        {newYork, 0, 0},
	}
	for name, tc := range cases {
		if got := tc.cal.PerYear(tc.iv); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestNewCalendar_Refuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*market.Hours)
		field  string
	}{
		"an unknown zone":             {func(h *market.Hours) { h.Zone = "Mars/Base" }, "zone"},
		"no zone":                     {func(h *market.Hours) { h.Zone = "" }, "zone"},
		"the machine's own zone":      {func(h *market.Hours) { h.Zone = "Local" }, "zone"},
		"a path for a zone":           {func(h *market.Hours) { h.Zone = "../../etc/passwd" }, "zone"},
		"a negative open":             {func(h *market.Hours) { h.Open = -time.Second }, "open"},
		"half a second":               {func(h *market.Hours) { h.Open += time.Second / 2 }, "open"},
		"a close at the open":         {func(h *market.Hours) { h.Close = h.Open }, "close"},
		"a close on the next day":     {func(h *market.Hours) { h.Close = 25 * time.Hour }, "close"},
		"no days":                     {func(h *market.Hours) { h.Days = []time.Weekday{} }, "days"},
		"an eighth day":               {func(h *market.Hours) { h.Days = []time.Weekday{7} }, "days"},
		"a negative count per year":   {func(h *market.Hours) { h.PerYear = -1 }, "per year"},
		"a close with half a second ": {func(h *market.Hours) { h.Close += time.Second / 2 }, "close"},
	}
	for name, tc := range cases {
		h := market.USEquities()
		tc.change(&h)
		_, err := market.NewCalendar(h)
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Field != tc.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCalendar_Zone(t *testing.T) {
	t.Parallel()
	if z := (market.Calendar{}).Zone(); z != time.UTC {
		t.Errorf("round the clock counts in %v", z)
	}
	c := calendar(t, market.USEquities())
	if c.Zone().String() != "America/New_York" || c.RoundTheClock() {
		t.Errorf("New York is in %v", c.Zone())
	}
}

func TestCalendar_NoIntervalHasNoBars(t *testing.T) {
	t.Parallel()
	var c market.Calendar
	if c.Next(0, 5) != (market.Span{}) || c.Prev(0, 5) != (market.Span{}) || c.Count(0, market.Span{Close: 9}) != 0 {
		t.Error("the zero interval has bars")
	}
}

// Around a change of clocks every moment is in one day, and days follow each other.
func TestCalendar_DaysTileTimeWhereClocksChange(t *testing.T) {
	t.Parallel()
	for zone, change := range map[string]string{
		"Antarctica/Casey":  "2010-03-04T15:00:00Z", // 02:00 to 23:00
		"Asia/Amman":        "2011-10-27T22:00:00Z", // 01:00 to 00:00
		"Africa/Cairo":      "2024-10-31T21:00:00Z", // 24:00 to 23:00
		"America/St_Johns":  "1987-10-25T02:31:00Z", // 00:01 to 23:01
		"Atlantic/Azores":   "2024-10-27T01:00:00Z", // 01:00 to 00:00
		"Europe/Berlin":     "2024-10-27T01:00:00Z", // 03:00 to 02:00
		"America/Havana":    "2024-03-10T05:00:00Z", // 00:00 to 01:00
		"Pacific/Apia":      "2011-12-30T10:00:00Z", // over a whole date
		"Antarctica/Vostok": "1994-01-31T17:00:00Z", // 24:00 to 17:00
	} {
		c := calendar(t, market.Hours{Zone: zone, Close: 24 * time.Hour, Days: []time.Weekday{0, 1, 2, 3, 4, 5, 6}})
		var last market.Span
		for now, to := at(t, change)-2*86400, at(t, change)+2*86400; now < to; now += 60 {
			s, ok := c.Bucket(market.Day1, now)
			if !ok || last.Close != 0 && s != last && s.Open != last.Close {
				t.Fatalf("%s: at %s the day is %s to %s (%v), after one to %s", zone, utc(now), utc(s.Open), utc(s.Close), ok, utc(last.Close))
			}
			last = s
		}
	}
}

// Cuba's clocks jump from midnight to one o'clock, so that day's midnight does
// not exist; taken for an hour before it, the session would begin a day early.
func TestCalendar_SessionThatOpensInAClockJumpStaysOnItsDate(t *testing.T) {
	t.Parallel()
	c := calendar(t, market.Hours{Zone: "America/Havana", Close: 2 * time.Hour, Days: []time.Weekday{time.Sunday}})
	s := c.Next(market.Minute1, at(t, "2024-03-09T12:00:00Z"))
	if utc(s.Open) != "2024-03-10T05:00:00Z" {
		t.Errorf("the session opens at %s", utc(s.Open))
	}
	if day, ok := c.Bucket(market.Day1, s.Open); !ok || day.Close-day.Open != 3600 {
		t.Errorf("the day is %v, %v", day, ok)
	}
}

// Samoa moved over the date line and had no 30 December 2011.
func TestCalendar_DateThatNeverWasHasNoSession(t *testing.T) {
	t.Parallel()
	c := calendar(t, market.Hours{Zone: "Pacific/Apia", Open: 9 * time.Hour, Close: 17 * time.Hour})
	s := c.Next(market.Day1, at(t, "2011-12-29T22:00:00Z")) // Thursday noon
	if s.Open-s.Close >= 0 || time.Unix(s.Open, 0).In(c.Zone()).Format("2006-01-02") != "2012-01-02" {
		t.Errorf("after Thursday comes %s", time.Unix(s.Open, 0).In(c.Zone()))
	}
}

func TestCalendar_TimesBeyondAllYearsEndAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]market.Calendar{"round the clock": {}, "New York": calendar(t, market.USEquities())} {
		for _, iv := range allKinds() {
			for _, far := range []int64{math.MinInt64, math.MaxInt64} {
				if _, ok := c.Bucket(iv, far); ok {
					t.Errorf("%s: there is a bar of %v at %d", name, iv, far)
				}
				if next, prev := c.Next(iv, far), c.Prev(iv, far); next.Open <= prev.Open || next.Open == far {
					t.Errorf("%s: %v around %d: %v and %v", name, iv, far, prev, next)
				}
			}
		}
	}
	if n := (market.Calendar{}).Count(market.Month1, market.Span{Open: math.MinInt64, Close: math.MaxInt64}); n < 9998*12 || n > 9999*12 {
		t.Errorf("9999 years have %d months", n)
	}
}

func TestCalendar_Dated(t *testing.T) {
	t.Parallel()
	ny, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	at := func(month time.Month, date, hour, minute int) int64 {
		return time.Date(2025, month, date, hour, minute, 0, 0, ny.Zone()).Unix()
	}
	utc := func(month time.Month, date int) int64 {
		return time.Date(2025, month, date, 0, 0, 0, 0, time.UTC).Unix()
	}
	for name, tc := range map[string]struct {
		cal      market.Calendar
		interval market.Interval
		t        int64
		span     market.Span
		ok       bool
		midnight int64
	}{
		"a day by midnight":          {ny, market.Day1, at(11, 3, 0, 0), market.Span{Open: at(11, 3, 9, 30), Close: at(11, 3, 16, 0)}, true, at(11, 3, 0, 0)},
		"a day after its close":      {ny, market.Day1, at(11, 3, 20, 0), market.Span{Open: at(11, 3, 9, 30), Close: at(11, 3, 16, 0)}, true, at(11, 3, 0, 0)},
		"a Saturday":                 {ny, market.Day1, at(11, 1, 12, 0), market.Span{}, false, at(11, 1, 0, 0)},
		"a week by its Monday":       {ny, market.Week1, at(11, 3, 0, 0), market.Span{Open: at(11, 3, 9, 30), Close: at(11, 7, 16, 0)}, true, at(11, 3, 0, 0)},
		"a week by its Sunday":       {ny, market.Week1, at(11, 9, 23, 0), market.Span{Open: at(11, 3, 9, 30), Close: at(11, 7, 16, 0)}, true, at(11, 3, 0, 0)},
		"a month from a Saturday on": {ny, market.Month1, at(11, 1, 0, 0), market.Span{Open: at(11, 3, 9, 30), Close: at(11, 28, 16, 0)}, true, at(11, 1, 0, 0)},
		"the clock, a week":          {market.Calendar{}, market.Week1, utc(11, 5) + 7, market.Span{Open: utc(11, 3), Close: utc(11, 10)}, true, utc(11, 3)},
		"an hour":                    {ny, market.Hour1, at(11, 3, 12, 0), market.Span{}, false, at(11, 3, 0, 0)},
	} {
		span, ok := tc.cal.Dated(tc.interval, tc.t)
		if span != tc.span || ok != tc.ok {
			t.Errorf("%s: %v %v, want %v", name, span, ok, tc.span)
		}
		if got := tc.cal.Midnight(tc.interval, tc.t); got != tc.midnight {
			t.Errorf("%s: midnight %d, want %d", name, got, tc.midnight)
		}
	}
}
