package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Level says which orders are allowed.
type Level uint8

// The levels, from least to most strict.
const (
	Active   Level = iota // all that the rules allow
	Reducing              // only those that reduce a position
	Halted                // none
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

// Restriction is one reason why trading is not ACTIVE. Each is lifted by itself.
type Restriction struct {
	Kind    RestrictionKind `json:"kind"`
	Subject string          `json:"subject,omitempty"` // for example the venue whose feed is lost
	Reason  string          `json:"reason,omitempty"`
	By      string          `json:"who,omitempty"` // author of a halt
	All     bool            `json:"all,omitempty"` // of a halt: orders that protect a position are cancelled too
	Since   time.Time       `json:"since"`
}

// Halts reports whether no order may be sent while it is in force.
func (r Restriction) Halts() bool { return r.Kind.info().Level == Halted }

// RestrictionKind is a kind of restriction.
type RestrictionKind string

// The kinds.
const (
	OwnerHalt    RestrictionKind = "owner_halt"         // candela halt, the halt file or the signal
	HostHalt     RestrictionKind = "host_halt"          // of many owners: the operator's halt of all, or a suspended owner
	HostOwner    RestrictionKind = "host_owner_halt"    // of many owners: the operator's halt of one
	Restored     RestrictionKind = "restored"           // the records come from a backup
	HostRestored RestrictionKind = "host_restored"      // of many owners: the records come from a backup
	StoreFailure RestrictionKind = "store_failure"      // events cannot be stored
	Unreconciled RestrictionKind = "unreconciled"       // not reconciled since the start
	DailyLoss    RestrictionKind = "daily_loss"         // max_daily_loss
	FeedLost     RestrictionKind = "feed_lost"          // no prices
	ClockSkew    RestrictionKind = "clock_skew"         // max_clock_skew
	Mismatch     RestrictionKind = "reconcile_mismatch" // the account differs from the venue's
	VenueSilent  RestrictionKind = "venue_silent"       // not reconciled for three minutes
	Unprotected  RestrictionKind = "unprotected"        // a position lacks the stop it should have
	LegOverfill  RestrictionKind = "leg_overfill"       // the exits of an entry closed more than it brought
	Liquidated   RestrictionKind = "liquidated"         // the venue closed a position by itself
	NearEnd      RestrictionKind = "near_liquidation"   // half of min_liquidation_distance_pct
)

// RestrictionInfo documents one kind of restriction.
type RestrictionInfo struct {
	Kind    RestrictionKind
	Level   Level
	Limit   string // under the policy, "" for none
	When    string
	Lifted  string
	byOwner bool // lifted by Resume, not by Lift
}

// Restrictions documents every kind: its level, when it is added and how it is lifted.
func Restrictions(p Policy) []RestrictionInfo {
	const resume = "with `candela resume`"
	const host = "by the operator of the server, " + resume
	const hostOwner = "by the operator of the server, with `candela resume --owner`"
	return []RestrictionInfo{
		{OwnerHalt, Halted, "", "The owner stops trading: `candela halt`, the halt file or SIGUSR1.", resume, true},
		{HostHalt, Halted, "", "With many owners: the operator stops trading for all of them, or has suspended this owner.", host + " or `candela owners resume`", false},
		{HostOwner, Halted, "", "With many owners: the operator stops trading for this owner, `candela halt --owner`.", hostOwner, true},
		{Restored, Halted, "", "The records come from a backup, so orders placed since then are not known.", resume + " while candela runs, which shows what differs from the venue", true},
		{HostRestored, Halted, "", "With many owners: the records come from a backup.", host, false},
		{StoreFailure, Halted, "", "Events cannot be stored.", resume, true},
		{Unreconciled, Halted, "", "The account was not reconciled with the venue since the start.", "by itself, after the first reconciliation", false},
		{
			DailyLoss, Reducing, p.MaxDailyLoss.String(), "More than `max_daily_loss` was lost since midnight UTC.",
			"at midnight UTC, or " + resume + ", which allows the same loss once more", true,
		},
		{FeedLost, Reducing, "", "The price feed is lost, or an open position has no price.", "by itself, when prices arrive again", false},
		{
			ClockSkew, Reducing, p.MaxClockSkew.String(), "The clock differs from the venue's by more than `max_clock_skew`.",
			"by itself, when the clocks agree", false,
		},
		{VenueSilent, Reducing, "", "The account could not be reconciled with the venue for three minutes.", "by itself, after the next reconciliation", false},
		{
			Unprotected, Reducing, p.UnprotectedGrace.String(), "A position lacks the stop it should have for longer than `unprotected_grace`.",
			"by itself, when the position is protected or gone", false,
		},
		{LegOverfill, Reducing, "", "The stop and the target of an entry were both filled, so they closed more than it brought.", resume, true},
		{Liquidated, Halted, "", "The venue closed a position, or a part of one, by itself: its margin was used up (liquidation), it covered the loss of others (adl), or its contract ended (settlement).", resume, true},
		{
			NearEnd, Reducing, halfOf(p.MinLiquidationDistancePct), "A position in a perpetual future is nearer to its liquidation than half of `min_liquidation_distance_pct`.",
			"by itself, when it is further away or gone", false,
		},
		{Mismatch, Reducing, "", "Orders or positions differ from the venue's.", "by itself, when a reconciliation finds no mismatch", false},
	}
}

// info returns the row of a kind. An unknown one, stored by another version, halts trading
// until the owner resumes.
func (k RestrictionKind) info() RestrictionInfo {
	for _, r := range Restrictions(Policy{}) {
		if r.Kind == k {
			return r
		}
	}
	return RestrictionInfo{Kind: k, Level: Halted, Lifted: "with `candela resume`", byOwner: true}
}

// Day is the profit and loss of a UTC day.
type Day struct {
	Date     string          `json:"date,omitempty"`    // such as 2026-01-31
	Start    decimal.Decimal `json:"start,omitzero"`    // Total at the start of the day
	Forgiven decimal.Decimal `json:"forgiven,omitzero"` // loss that the owner accepted with Resume
	Loss     decimal.Decimal `json:"loss,omitzero"`     // since Start, negative for a profit
}

// State is the trading state, a value that the caller stores as JSON.
type State struct {
	Restrictions []Restriction `json:"causes,omitempty"` // by kind and subject; read-only
	Day          Day           `json:"day,omitzero"`
	// Restored is the time of the newest record of the backup that the account was restored
	// from, zero if it was not. Orders placed later are not known.
	Restored time.Time `json:"restored,omitzero"`
	Reported Reported  `json:"reported,omitzero"`
}

// Level returns the strictest level of the restrictions.
func (s State) Level() Level {
	level := Active
	for _, c := range s.Restrictions {
		level = max(level, c.Kind.info().Level)
	}
	return level
}

// AwaitsReconciliation reports whether the first reconciliation is the only reason for a
// halt. An order is then rejected without a record, because it may pass a moment later.
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

// Explain describes the restrictions and how each is lifted; "" if there is none.
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
		part += "; lifted " + strings.ReplaceAll(c.Kind.info().Lifted, "`", "")
		parts = append(parts, part)
	}
	return strings.Join(parts, ". ")
}

// Restrict adds a restriction, or reports false if the same one is in force.
func (s State) Restrict(c Restriction) (State, bool) {
	at, found := slices.BinarySearchFunc(s.Restrictions, c, compareRestrictions)
	if found {
		return s, false
	}
	s.Restrictions = slices.Insert(slices.Clip(s.Restrictions), at, c)
	return s, true
}

// Restore returns the state of an account whose records come from a backup, the newest of them
// of a time: halted until the owner resumes.
func (s State) Restore(newest, now time.Time) State {
	s.Restored = newest
	s, _ = s.removeWhere(func(c Restriction) bool { return c.Kind == Restored })
	s, _ = s.Restrict(Restriction{Kind: Restored, Since: now, Reason: RestoredReason(newest)})
	return s
}

// RestoredReason says what a restore means.
func RestoredReason(newest time.Time) string {
	return "restored from a backup of " + newest.UTC().Format(time.RFC3339) + "; orders placed since are not known here"
}

// Find returns the first restriction of a kind, and false if there is none.
func (s State) Find(k RestrictionKind) (Restriction, bool) {
	at := slices.IndexFunc(s.Restrictions, func(c Restriction) bool { return c.Kind == k })
	if at < 0 {
		return Restriction{}, false
	}
	return s.Restrictions[at], true
}

// WithReason returns the state with another reason of the restrictions of a kind.
func (s State) WithReason(k RestrictionKind, reason string) State {
	s.Restrictions = slices.Clone(s.Restrictions)
	for i := range s.Restrictions {
		if s.Restrictions[i].Kind == k {
			s.Restrictions[i].Reason = reason
		}
	}
	return s
}

// Ordered reports whether somebody ordered the halt: the owner, or the operator of many owners.
func (r Restriction) Ordered() bool {
	return r.Kind == OwnerHalt || r.Kind == HostHalt || r.Kind == HostOwner
}

// ByHost returns the state of one of many owners. The operator alone halts it, so a halt that an earlier version
// stored as the owner's is the operator's.
func (s State) ByHost() State { return s.renamed(OwnerHalt, HostOwner) }

// OfHost returns the state of the operator's own halt with the names that owners see.
func (s State) OfHost() State { return s.renamed(OwnerHalt, HostHalt).renamed(Restored, HostRestored) }

func (s State) renamed(from, to RestrictionKind) State {
	for _, c := range s.Restrictions {
		if c.Kind != from {
			continue
		}
		s, _ = s.removeWhere(func(c Restriction) bool { return c.Kind == from })
		c.Kind = to
		s, _ = s.Restrict(c)
	}
	return s
}

// HaltAll makes an owner's halt cancel the orders that protect positions, and reports
// whether it did not before.
func (s State) HaltAll() (State, bool) {
	at := slices.IndexFunc(s.Restrictions, func(c Restriction) bool { return (c.Kind == OwnerHalt || c.Kind == HostOwner) && !c.All })
	if at < 0 {
		return s, false
	}
	s.Restrictions = slices.Clone(s.Restrictions)
	s.Restrictions[at].All = true
	return s, true
}

func compareRestrictions(a, b Restriction) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
}

// OrderedHalt returns the halt that somebody ordered and that is in force; of two the one that keeps
// no order. It cancels open orders; other restrictions only stop new ones.
func (s State) OrderedHalt() (halt Restriction, found bool) {
	for _, c := range s.Restrictions {
		if c.Ordered() && (!found || c.All) {
			halt, found = c, true
		}
	}
	return halt, found
}

// Lift removes a restriction and reports whether it did. Restrictions that only the owner
// can lift stay.
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

// Resume lifts the restrictions that the owner can lift, and reports whether there was
// any. It accepts the loss of the day, so that the same loss is allowed once more.
func (s State) Resume() (State, bool) {
	if slices.ContainsFunc(s.Restrictions, func(c Restriction) bool { return c.Kind == DailyLoss }) {
		s.Day.Forgiven = s.Day.Loss
	}
	return s.removeWhere(func(c Restriction) bool { return c.Kind.info().byOwner })
}

// Restart returns the state of a new process: halted until the first reconciliation, and
// without the restrictions that the desk finds again by itself.
func (s State) Restart(now time.Time) State {
	s, _ = s.removeWhere(func(c Restriction) bool { return !c.Kind.info().byOwner })
	s, _ = s.Restrict(Restriction{Kind: Unreconciled, Since: now, Reason: "synchronising with the venue"})
	return s
}

// CheckSkew adds or lifts ClockSkew and reports whether the state changed.
func (s State) CheckSkew(p Policy, venue string, skew time.Duration, now time.Time) (State, bool) {
	if skew.Abs() <= p.MaxClockSkew {
		return s.Lift(ClockSkew, venue)
	}
	reason := fmt.Sprintf("the clocks differ by %v; the limit is %v", skew.Abs().Round(time.Millisecond), p.MaxClockSkew)
	return s.Restrict(Restriction{Kind: ClockSkew, Subject: venue, Reason: reason, Since: now})
}

// CheckLoss records Total and reports whether the state must be stored: a new day began,
// or the loss exceeded max_daily_loss. That restriction stays for the rest of the day,
// even if prices recover.
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
		reason := fmt.Sprintf("%s was lost since midnight UTC; the limit is %v", money(lost), p.MaxDailyLoss)
		s, raised = s.Restrict(Restriction{Kind: DailyLoss, Reason: reason, Since: now})
		changed = changed || raised
	}
	return s, changed
}
