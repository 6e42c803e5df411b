package csv_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/internal/data/provider/csv"
	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
)

// rows writes bars that open at the times.
func rows(times []time.Time, layout string) string {
	var b strings.Builder
	b.WriteString(header)
	for _, t := range times {
		fmt.Fprintf(&b, "%s,1,2,0.5,1.5,10\n", t.Format(layout))
	}
	return b.String()
}

// span lists the times from a date on for some days, without those on weekends if
// marked so.
func span(from time.Time, days int, each time.Duration, weekends bool, open, end time.Duration) []time.Time {
	var all []time.Time
	for d := range days {
		day := from.AddDate(0, 0, d)
		if w := day.Weekday(); !weekends && (w == time.Saturday || w == time.Sunday) {
			continue
		}
		for at := open; at < end; at += each {
			all = append(all, day.Add(at))
		}
	}
	return all
}

func TestInstrument_GuessesTheCalendarFromTheFile(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	monday := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	local := time.Date(2024, 3, 4, 0, 0, 0, 0, newYork) // over the change of clocks
	for name, tc := range map[string]struct {
		file, body, want string
	}{
		"days without weekends":      {"X_1d.csv", rows(span(monday, 30, day, false, 0, day), time.DateOnly), "Mon-Fri 00:00-24:00 UTC"},
		"days with weekends":         {"X_1d.csv", rows(span(monday, 30, day, true, 0, day), time.DateOnly), "24/7"},
		"too few days":               {"X_1d.csv", rows(span(monday, 5, day, false, 0, day), time.DateOnly), "24/7"},
		"hours of New York":          {"X_1h.csv", rows(span(local, 20, time.Hour, false, 9*time.Hour+30*time.Minute, 16*time.Hour), time.RFC3339), "Mon-Fri 09:30-16:00 America/New_York"},
		"hours round the clock":      {"X_1h.csv", rows(span(monday, 20, time.Hour, true, 0, day), time.RFC3339), "24/7"},
		"hours without weekends":     {"X_1h.csv", rows(span(monday, 20, time.Hour, false, 0, day), time.RFC3339), "Mon-Fri 00:00-24:00 UTC"},
		"weeks alone":                {"X_1w.csv", rows(span(monday, 1, day, true, 0, day), time.DateOnly), "24/7"},
		"a file that cannot be used": {"X_1d.csv", "nothing", "24/7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, tc.file, tc.body)
			got, err := open(t, csv.Config{Dir: dir}).Instrument(t.Context(), market.Symbol{Name: "X"})
			if err != nil || got.Calendar.String() != tc.want || !got.Calendar.Guessed() {
				t.Errorf("the calendar is %v (guessed %v), want %s; %v", got.Calendar, got.Calendar.Guessed(), tc.want, err)
			}
		})
	}
}

// TestBars_OfAnExchangeHaveNoFalseHoles builds weeks from the days of a stock, whose
// weekends and holidays are not missing.
func TestBars_OfAnExchangeHaveNoFalseHoles(t *testing.T) {
	t.Parallel()
	p := open(t, csv.Config{Dir: sharedtest.Path(t, "data")})
	apple, err := p.Instrument(t.Context(), market.Symbol{Name: "AAPL"})
	if err != nil {
		t.Fatal(err)
	}
	page, err := read(t, p, "AAPL", market.Week1)
	if err != nil || page.Bars.Len() < 100 || apple.Calendar.Missed(page.Holes) != 0 {
		t.Errorf("%d weeks with holes %+v, %v", page.Bars.Len(), page.Holes, err)
	}
	if year := apple.Calendar.PerYear(market.Day1); year != 252 {
		t.Errorf("a year of AAPL has %v days", year)
	}
	bitcoin, err := p.Instrument(t.Context(), market.Symbol{Name: "BTCUSDT"})
	if err != nil || bitcoin.Calendar.PerYear(market.Day1) != 365 {
		t.Errorf("a year of BTCUSDT has %v days, %v", bitcoin.Calendar.PerYear(market.Day1), err)
	}
}

func TestBars_OfDatesAreThoseOfMidnight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "X_1d.csv", header+"2024-01-01,1,2,0.5,1.5,10\n2024-01-02,1,2,0.5,1.5,11\n")
	page, err := read(t, open(t, csv.Config{Dir: dir}), "X", market.Day1)
	if err != nil || page.Bars.Len() != 2 || page.Bars.T[0] != 1704067200 || page.Bars.T[1] != 1704153600 {
		t.Errorf("%+v, %v", page.Bars, err)
	}
}
