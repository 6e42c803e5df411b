package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Level is what orders pass.
type Level uint8

// The levels, each stricter than the one before.
const (
	Active   Level = iota // what the rules allow
	Reducing              // only what makes a position smaller
	Halted                // nothing
)

// String returns ACTIVE, REDUCING or HALTED.
func (l Level) String() string {
	switch l {
	case Reducing:
		return "REDUCING"
	case Halted:
		return "HALTED"
	default:
		return "ACTIVE"
	}
}

// Restriction is why trading is not ACTIVE. There may be several at once, and each goes
// by itself.
type Restriction struct {
	Kind    RestrictionKind `json:"kind"`
	Subject string          `json:"subject,omitempty"` // which of several, such as the venue whose feed is lost
	Reason  string          `json:"reason,omitempty"`  // in words
	By      string          `json:"who,omitempty"`     // who did it, where somebody did
	Since   time.Time       `json:"since"`
}

// RestrictionKind is a kind of cause.
type RestrictionKind string

// The kinds.
const (
	OwnerHalt    RestrictionKind = "owner_halt"         // candela halt, the file, the signal
	StoreFailure RestrictionKind = "store_failure"      // what happens cannot be persisted
	Unreconciled RestrictionKind = "unreconciled"       // not compared with the venue since the start
	DailyLoss    RestrictionKind = "daily_loss"         // max_daily_loss
	FeedLost     RestrictionKind = "feed_lost"          // no prices
	ClockSkew    RestrictionKind = "clock_skew"         // max_clock_skew
	Mismatch     RestrictionKind = "reconcile_mismatch" // the venue's books are not ours
	VenueSilent  RestrictionKind = "venue_silent"       // not compared with the venue for a while
)

// RestrictionInfo is one row of the table of causes.
type RestrictionInfo struct {
	Kind    RestrictionKind
	Level   Level
	Limit   string // by the policy, "" where there is none
	When    string // when it is raised
	Lifted  string // how
	byOwner bool   // ends by Resume and not by Clear
}

// Restrictions explains every kind of cause: what it does, when, and how it ends.
func Restrictions(p Policy) []RestrictionInfo {
	const resume = "with `candela resume`"
	return []RestrictionInfo{
		{OwnerHalt, Halted, "", "The owner stops trading: `candela halt`, the halt file or SIGUSR1.", resume, true},
		{StoreFailure, Halted, "", "What happens cannot be persisted.", resume, true},
		{Unreconciled, Halted, "", "The account was not yet compared with the venue since the start.", "by itself, after the first comparison", false},
		{
			DailyLoss, Reducing, p.MaxDailyLoss.String(), "More than `max_daily_loss` is lost since midnight UTC.",
			"at midnight UTC, or " + resume + ", which allows the same loss once more", true,
		},
		{FeedLost, Reducing, "", "The feed of prices is lost, or the worth of an open position is not known.", "by itself, when prices come again", false},
		{
			ClockSkew, Reducing, p.MaxClockSkew.String(), "The clock differs from the venue's by more than `max_clock_skew`.",
			"by itself, when the clocks agree", false,
		},
		{VenueSilent, Reducing, "", "The account could not be compared with the venue for three minutes.", "by itself, after the next comparison", false},
		{Mismatch, Reducing, "", "Orders or positions differ from the venue's.", "by itself, when a comparison finds no difference", false},
	}
}

// info returns the row of a kind. One that this build does not know, from a state
// that another wrote, halts until the owner resumes.
func (k RestrictionKind) info() RestrictionInfo {
	for _, r := range Restrictions(Policy{}) {
		if r.Kind == k {
			return r
		}
	}
	return RestrictionInfo{Kind: k, Level: Halted, Lifted: "with `candela resume`", byOwner: true}
}

// Day is a UTC day's account of profit and loss.
type Day struct {
	Date     string          `json:"date,omitempty"`    // such as 2026-01-31
	Start    decimal.Decimal `json:"start,omitzero"`    // Total when the day began
	Forgiven decimal.Decimal `json:"forgiven,omitzero"` // loss that the owner has accepted with Resume
	Loss     decimal.Decimal `json:"loss,omitzero"`     // since Start, below zero for a profit
}

// State is the trading state. It is a value: what changes it returns another, for
// the caller to persist as JSON.
type State struct {
	Restrictions []Restriction `json:"causes,omitempty"` // by kind and subject; read-only
	Day          Day           `json:"day,omitzero"`
}

// Level returns the strictest level of the causes.
func (s State) Level() Level {
	level := Active
	for _, c := range s.Restrictions {
		level = max(level, c.Kind.info().Level)
	}
	return level
}

// AwaitsReconciliation reports whether nothing passes for no other reason than that the account
// was not compared with the venue yet. That says nothing about an order: it is too
// early to judge one.
func (s State) AwaitsReconciliation() bool {
	found := false
	for _, c := range s.Restrictions {
		if c.Kind.info().Level == Halted && c.Kind != Unreconciled {
			return false
		}
		found = found || c.Kind == Unreconciled
	}
	return found
}

// Explain says what the causes are and how each ends; "" when there is none.
func (s State) Explain() string {
	parts := make([]string, 0, len(s.Restrictions))
	for _, c := range s.Restrictions {
		part := string(c.Kind)
		if c.Subject != "" {
			part += " (" + c.Subject + ")"
		}
		if c.By != "" {
			part += " by " + c.By
		}
		if c.Reason != "" {
			part += ": " + c.Reason
		}
		part += "; it ends " + strings.ReplaceAll(c.Kind.info().Lifted, "`", "")
		parts = append(parts, part)
	}
	return strings.Join(parts, ". ")
}

// Restrict adds a cause, and reports whether it is new: one of the same kind and
// subject stays as it was.
func (s State) Restrict(c Restriction) (State, bool) {
	at, found := slices.BinarySearchFunc(s.Restrictions, c, compareRestrictions)
	if found {
		return s, false
	}
	s.Restrictions = slices.Insert(slices.Clip(s.Restrictions), at, c)
	return s, true
}

func compareRestrictions(a, b Restriction) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
}

// Lift takes a cause away, and reports whether there was one. One that only the
// owner can end stays.
func (s State) Lift(k RestrictionKind, subject string) (State, bool) {
	if k.info().byOwner {
		return s, false
	}
	return s.removeWhere(func(c Restriction) bool { return c.Kind == k && c.Subject == subject })
}

func (s State) removeWhere(goes func(Restriction) bool) (State, bool) {
	left := slices.DeleteFunc(slices.Clone(s.Restrictions), goes)
	if len(left) == len(s.Restrictions) {
		return s, false
	}
	s.Restrictions = left
	return s, true
}

// Resume takes away what the owner can end, and reports whether there was any.
// A loss of the day beyond its limit is accepted: as much again may be lost. Other
// causes stay until they end by themselves.
func (s State) Resume() (State, bool) {
	if slices.ContainsFunc(s.Restrictions, func(c Restriction) bool { return c.Kind == DailyLoss }) {
		s.Day.Forgiven = s.Day.Loss
	}
	return s.removeWhere(func(c Restriction) bool { return c.Kind.info().byOwner })
}

// Restart returns the state with which a new process begins: what ends by itself
// is found again if it is still so, and nothing passes before the account was
// compared with the venue.
func (s State) Restart(now time.Time) State {
	s, _ = s.removeWhere(func(c Restriction) bool { return !c.Kind.info().byOwner })
	s, _ = s.Restrict(Restriction{Kind: Unreconciled, Since: now, Reason: "the account is being compared with the venue"})
	return s
}

// CheckSkew takes note of how far a venue's clock is from ours, and reports whether
// that changed the causes.
func (s State) CheckSkew(p Policy, venue string, skew time.Duration, now time.Time) (State, bool) {
	if skew.Abs() <= p.MaxClockSkew {
		return s.Lift(ClockSkew, venue)
	}
	reason := fmt.Sprintf("the clocks differ by %v and the limit is %v", skew.Abs().Round(time.Millisecond), p.MaxClockSkew)
	return s.Restrict(Restriction{Kind: ClockSkew, Subject: venue, Reason: reason, Since: now})
}

// CheckLoss takes note of Total, and reports whether the state must be persisted: a
// day began, or the loss of the day crossed max_daily_loss. A cause of that kind
// stays for the rest of the day, also when prices recover.
func (s State) CheckLoss(p Policy, total decimal.Decimal, now time.Time) (State, bool) {
	date := now.UTC().Format(time.DateOnly)
	changed := date != s.Day.Date
	if changed {
		s, _ = s.removeWhere(func(c Restriction) bool { return c.Kind == DailyLoss })
		s.Day = Day{Date: date, Start: total}
	}
	s.Day.Loss = s.Day.Start.Sub(total)
	if lost := s.Day.Loss.Sub(s.Day.Forgiven); p.MaxDailyLoss.exceeded(lost) {
		var raised bool
		reason := fmt.Sprintf("%s was lost since midnight UTC and the limit is %v", money(lost), p.MaxDailyLoss)
		s, raised = s.Restrict(Restriction{Kind: DailyLoss, Reason: reason, Since: now})
		changed = changed || raised
	}
	return s, changed
}
