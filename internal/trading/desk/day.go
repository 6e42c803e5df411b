package desk

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Sample is the P&L of a UTC day at some time, realized and unrealized, in the account's
// currency.
type Sample struct {
	At  time.Time
	PnL decimal.Decimal
}

// sampleInterval is the time between two samples, so that a day has at most 1,440.
const sampleInterval = time.Minute

// sampleDay takes a sample of the day's P&L if the last one is a minute old. A new day
// begins without samples. Only the loop calls it.
func (l *loop) sampleDay(now time.Time) {
	if l.state.Day.Date != now.UTC().Format(time.DateOnly) {
		return
	}
	var all []Sample
	if p := l.day.Load(); p != nil {
		all = *p
	}
	minute := now.UTC().Truncate(sampleInterval)
	if last := len(all) - 1; last >= 0 {
		switch {
		case all[last].At.Format(time.DateOnly) != l.state.Day.Date:
			all = nil
		case !minute.After(all[last].At):
			return
		}
	}
	// Readers hold a shorter slice of the same array, which append does not touch.
	all = append(all, Sample{At: minute, PnL: l.state.Day.Loss.Neg()})
	l.day.Store(&all)
}

// Day returns samples of the P&L of this UTC day, one a minute, from when the desk began
// to run. Minutes in which a price was unknown are missing.
func (d *Desk) Day() []Sample {
	all := d.day.Load()
	if all == nil || len(*all) == 0 || (*all)[len(*all)-1].At.Format(time.DateOnly) != d.cfg.Now().UTC().Format(time.DateOnly) {
		return nil
	}
	return slices.Clone(*all)
}
