package yahoo

import (
	"errors"
	"slices"
	"time"

	"candela/lib/market"
)

const (
	day = 24 * 60 * 60
	// nearlyDay is how the venue writes a whole day: from 00:00 to 23:59.
	nearlyDay = day - 60

	typeCrypto = "CRYPTOCURRENCY"
)

// calendar makes the trading hours out of the venue's sessions: by
// the wall clock of the exchange, from the earliest open to the latest close of
// the days received, so that a half day among them does not shorten all others.
func (m *meta) calendar() (market.Calendar, error) {
	zone, err := time.LoadLocation(m.Zone)
	if err != nil || m.Zone == "" || m.Zone == "Local" {
		return market.Calendar{}, errors.New("exchangeTimezoneName " + m.Zone + " is no time zone")
	}
	periods := slices.Clone(m.tradingPeriodsRead)
	if m.CurrentPeriod.Regular != nil {
		periods = append(periods, *m.CurrentPeriod.Regular)
	}
	h := market.Hours{
		Zone: m.Zone, Open: 24 * time.Hour,
		Days: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
	}
	for _, p := range periods {
		open, length := time.Unix(p.Start, 0).In(zone), p.End-p.Start
		if length <= 0 {
			continue
		}
		from := sinceMidnight(open)
		to := sinceMidnight(time.Unix(p.End, 0).In(zone))
		if length >= nearlyDay || to <= from {
			from, to = 0, 24*time.Hour // round the clock, or over midnight, which a calendar cannot express
		}
		h.Open, h.Close = min(h.Open, from), max(h.Close, to)
		if !slices.Contains(h.Days, open.Weekday()) {
			h.Days = append(h.Days, open.Weekday()) // Riyadh trades on Sundays
		}
	}
	switch whole := h.Open == 0 && h.Close == 24*time.Hour; {
	case h.Close == 0:
		return market.Calendar{}, errors.New("no trading period is given")
	case whole && m.Type == typeCrypto && m.Zone == "UTC":
		return market.Calendar{}, nil
	case whole && m.Type == typeCrypto:
		h.Days, h.PerYear = everyDay(), 365
	case whole:
		// Currencies and futures open again on Sunday evening.
		h.Days, h.PerYear = everyDay()[:6], 260
	default:
		h.PerYear = 252
	}
	return market.NewCalendar(h)
}

func everyDay() []time.Weekday {
	return []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
}
