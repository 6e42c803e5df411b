package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// A stored alert may be idle: broken, because this version does not know its definition or lacks
// its script, or set aside. It is listed, reported once and can be cancelled; the index does not
// have it, so nothing about it is computed. The store keeps it as it is.

// added reports whether an alert was added, and keeps it among the idle ones if not.
func (l *loop) added(a *alert.Alert, err error) bool {
	if err == nil {
		delete(l.idle, a.ID)
		return true
	}
	broken := *a
	broken.MarkBroken(l.whyBroken(&broken, err))
	if was, known := l.idle[a.ID]; !known || was.Idle.Reason != broken.Idle.Reason {
		l.cfg.Log.ErrorContext(l.ctx, "alert not evaluated: unsupported definition", "alert_id", a.ID, "owner", a.Owner, "error", broken.Idle.Reason)
	}
	l.idle[a.ID] = broken
	return false
}

// whyBroken returns why an alert cannot be evaluated, for its owner.
func (l *loop) whyBroken(a *alert.Alert, err error) error {
	if a.Condition.Type == 0 {
		if f := fault.Of(err); f != nil && f.Cause != nil {
			err = f.Cause
		}
		return fmt.Errorf("this version of candela does not know its definition (%w); a version that does evaluates it again, and cancel_alert removes it", err)
	}
	if f := fault.Of(err); f == nil || f.Code != ta.UnknownCode {
		return fmt.Errorf("its definition cannot be evaluated: %w", err)
	}
	if scripts := a.Condition.Scripts(); len(scripts) > 0 {
		return fmt.Errorf("a version of a script that it uses is not stored here (%s); it is evaluated again when the state directory has it under scripts/pinned, and cancel_alert removes it", strings.Join(scripts, ", "))
	}
	return fmt.Errorf("this version of candela lacks its indicator: %w", err)
}

// keepIdle keeps an alert that the store has as idle, and reports whether it is one.
func (l *loop) keepIdle(a *alert.Alert) bool {
	if a.Idle == nil {
		return false
	}
	if l.index.Has(a.ID) {
		l.remove(Name{a.Owner, a.ID})
	}
	l.idle[a.ID] = *a
	return true
}

// idleOf returns the idle alerts of an owner.
func (l *loop) idleOf(owner principal.Owner) []alert.Alert {
	var all []alert.Alert
	for _, a := range l.idle {
		if a.Owner == owner {
			all = append(all, a)
		}
	}
	return all
}

// listed returns all alerts of an owner in the order of their creation.
func (l *loop) listed(owner principal.Owner) []alert.Alert {
	all := l.index.List(owner)
	idle := l.idleOf(owner)
	if len(idle) == 0 {
		return all
	}
	all = append(all, idle...)
	slices.SortStableFunc(all, func(x, y alert.Alert) int {
		return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID))
	})
	return all
}

// reportIdle reports those idle alerts that which selects, on the instruments that this engine
// evaluates. The store knows which were reported.
func (l *loop) reportIdle(mine func(market.Symbol) bool, which func(*alert.Alert) bool) {
	for _, a := range l.idle {
		if mine(a.Instrument) && which(&a) && !l.reports.has[a.ID] {
			l.reports.add(alert.Report(a, l.cfg.Now().Truncate(time.Millisecond).UTC()))
		}
	}
}

func anyIdle(*alert.Alert) bool { return true }

// commitReports stores the reports and then publishes those that are new.
func (l *loop) commitReports() {
	l.commitOutbox(&l.reports, "idle alerts", func(batch []alert.Firing) ([]notify.Entry, error) {
		return l.cfg.Store.ReportAlerts(l.drainCtx, batch)
	})
}

// ResumeAlert lets an alert of the caller that was set aside be evaluated again, from the next bar
// on.
func (e *Engine) ResumeAlert(ctx context.Context, caller principal.Caller, alertID string) error {
	_, err := askFor(ctx, e, caller, func(l *loop) (struct{}, error) {
		a, idle := l.idle[alertID]
		if idle && a.Owner == caller.Subject && a.IsBroken() {
			return struct{}{}, fault.New(fault.Conflict, "alert_broken", "The alert is broken: %s.", a.Idle.Reason).About("alert_id", alertID, "an alert that is set aside")
		}
		if err := l.cfg.Store.ResumeAlert(l.drainCtx, caller, alertID); err != nil {
			return struct{}{}, err
		}
		if idle {
			l.resumeAlert(a)
		}
		return struct{}{}, nil
	})
	return err
}

func (l *loop) resumeAlert(a alert.Alert) {
	delete(l.idle, a.ID)
	a.Idle, a.Resumed = nil, l.cfg.Now().Truncate(time.Millisecond).UTC()
	if l.adopt(&Handed{Alert: a}) {
		l.load(l.track(a.Dependency()))
	}
}
