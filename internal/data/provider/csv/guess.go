package csv

import (
	"context"
	"slices"
	"time"

	"candela/lib/market"
	barfile "candela/lib/market/csv"
)

// How much of a file a guess is made from, and how much there must be for one.
const (
	guessRows = 5000 // read at most
	guessDays = 10   // dates with bars
	guessSpan = 14   // days from the first to the last: two weekends
)

// calendar returns the calendar of a symbol's files: the one that is set, or a guess
// from the longest of them up to a day. The guess is kept with the file.
func (p *Provider) calendar(ctx context.Context, of files) (market.Calendar, error) {
	if !p.config.Calendar.RoundTheClock() {
		return p.config.Calendar, nil
	}
	best := market.Interval(0)
	for i := range of {
		if i > best && i <= market.Day1 {
			best = i
		}
	}
	if best == 0 {
		return market.Calendar{}.AsGuess(), nil // weeks and months alone show nothing
	}
	return p.guess(ctx, of[best], best)
}

func (p *Provider) guess(ctx context.Context, file string, i market.Interval) (market.Calendar, error) {
	f, err := p.root.Open(file)
	if err != nil {
		return market.Calendar{}, barfile.Unreadable(file, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return market.Calendar{}, barfile.Unreadable(file, err)
	}
	key := cacheKey{file: file}
	if s := p.cached(key, info); s != nil {
		return s.calendar, nil
	}
	c := guessFrom(barfile.File{Name: file}.Times(ctx, f, guessRows), i).AsGuess()
	p.keep(key, info, &series{calendar: c})
	return c, ctx.Err()
}

// guessFrom takes the bars for those of an exchange when none of them lies on a
// weekend, over two weekends at least. Bars that are all within the hours of New York
// are taken for New York's; of any others only the days are known.
func guessFrom(all []int64, i market.Interval) market.Calendar {
	const day = 24 * 3600
	dates := map[int64]bool{}
	for _, t := range all {
		if weekday := time.Unix(t, 0).UTC().Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			return market.Calendar{}
		}
		dates[t/day] = true
	}
	if len(dates) < guessDays || (all[len(all)-1]-all[0])/day < guessSpan {
		return market.Calendar{}
	}
	for _, hours := range []market.Hours{market.USEquities(), market.UTCWeekdays()} {
		c, err := market.NewCalendar(hours)
		misfit := func(t int64) bool {
			span, ok := c.Bucket(i, t)
			return !ok || span.Open != t
		}
		if err == nil && !slices.ContainsFunc(all, misfit) {
			return c
		}
	}
	return market.Calendar{}
}
