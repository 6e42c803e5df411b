package soak

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Conditions of alerts.
const (
	above   = "price_above"
	below   = "price_below"
	crosses = "price_crosses"
	closes  = "value" // the close of a minute is above the price
)

// alert is an alert that was acknowledged.
type alert struct {
	id, symbol, kind string
	at               decimal.Decimal
	made, acked      time.Time
	due              time.Time // when the price passed it; zero for not yet
	cancelled        time.Time // when the cancel was acknowledged
	either           bool      // it was cancelled by a call without an answer, or a minute fired it before
}

// passed reports whether a price makes an alert on prices due.
func (a *alert) passed(price decimal.Decimal) bool {
	switch a.kind {
	case above, crosses: // which begins below the price
		return price.GreaterThanOrEqual(a.at)
	case below:
		return price.LessThanOrEqual(a.at)
	}
	return false
}

// quote is a price and since when it holds.
type priced struct {
	at    time.Time
	price decimal.Decimal
}

// unclear is how near to the end of a minute a price may have come in it or after it.
const unclear = 2 * time.Second

// minutes returns the ends of minutes after a time up to another, with whether the close is
// above a price and whether that is sure.
func minutes(prices []priced, from, to time.Time, limit decimal.Decimal, each func(end time.Time, holds, sure bool) bool) {
	for end := from.Truncate(time.Minute).Add(time.Minute); !end.After(to); end = end.Add(time.Minute) {
		i, _ := slices.BinarySearchFunc(prices, end, func(p priced, t time.Time) int { return p.at.Compare(t) })
		if i == 0 {
			continue
		}
		sure := end.Sub(from) > unclear && !slices.ContainsFunc(prices, func(p priced) bool { return p.at.Sub(end).Abs() < unclear })
		if !each(end, prices[i-1].price.GreaterThan(limit), sure) {
			return
		}
	}
}

// closedDue returns when an alert on the close must have fired at the latest, zero for never.
func closedDue(a *alert, prices []priced, until time.Time) (due time.Time) {
	minutes(prices, a.made, until, a.at, func(end time.Time, holds, sure bool) bool {
		if holds && sure {
			due = end
			return false
		}
		return true
	})
	return due
}

// closedCause reports whether a minute that ended at a time could have fired an alert.
func closedCause(a *alert, prices []priced, fired time.Time) (caused bool) {
	minutes(prices, a.made, fired.Add(time.Second), a.at, func(_ time.Time, holds, sure bool) bool {
		caused = caused || holds || !sure
		return !caused
	})
	return caused
}

// receipt is one notification of an alert as somebody got it.
type receipt struct {
	at    time.Time
	event string // of a stream
}

// span is a time in which something was done to the program, so that a notification may come
// again: what its reader had taken was not on disk.
type span struct{ began, ended time.Time }

func (s span) touches(from, to time.Time) bool {
	return !s.began.After(to) && (s.ended.IsZero() || !s.ended.Before(from))
}

// again is how long before a fault a notification may have been taken that comes again.
const again = 10 * time.Second

// repeated returns what is wrong with the receipts of one alert by one reader, "" for nothing.
func repeated(got []receipt, faults []span) string {
	for i := 1; i < len(got); i++ {
		if !slices.ContainsFunc(faults, func(s span) bool { return s.touches(got[i-1].at.Add(-again), got[i].at) }) {
			return fmt.Sprintf("came %d times, at %s and at %s, and nothing happened between", len(got), clock(got[i-1].at), clock(got[i].at))
		}
	}
	return ""
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
