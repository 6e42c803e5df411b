package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// Evaluations keeps which scripts are evaluated at this moment, so that what a process was
// evaluating when it died is known afterwards.
type Evaluations interface {
	// Begin is called before a script is evaluated for alerts, and end after it.
	Begin(ctx context.Context, use string) (end func())
}

// useOf names a script over the bars of a dependency.
func useOf(d alert.Dependency, key string) string {
	sum := sha256.Sum256([]byte(d.Instrument.String() + " " + d.Interval.String() + " " + key))
	return hex.EncodeToString(sum[:])
}

// evaluating records that a script is evaluated until the function that it returns is called.
func (e *Engine) evaluating(ctx context.Context, d alert.Dependency, key string) (end func()) {
	if e.cfg.Evaluations == nil {
		return func() {}
	}
	return e.cfg.Evaluations.Begin(ctx, useOf(d, key))
}

// errNotReported means that what was set aside is not stored yet.
var errNotReported = errors.New("alerts that are set aside are not stored yet")

// SetAside keeps the alerts on scripts from being evaluated that a process was evaluating when it
// died, each with the time of its death. It returns after that is stored. Alerts that are listed or
// adopted later are set aside, too, unless their owner has resumed them since.
func (e *Engine) SetAside(ctx context.Context, died map[string]time.Time) error {
	_, err := ask(ctx, e, func(l *loop) (struct{}, error) {
		maps.Copy(l.died, died)
		for _, a := range l.index.Where(func(alert.Dependency) bool { return true }) {
			l.setAsideDied(&a)
		}
		return struct{}{}, l.storeReports()
	})
	return err
}

// StoreReports stores the reports about idle alerts.
func (e *Engine) StoreReports(ctx context.Context) error {
	_, err := ask(ctx, e, func(l *loop) (struct{}, error) { return struct{}{}, l.storeReports() })
	return err
}

func (l *loop) storeReports() error {
	l.reportIdle(func(market.Symbol) bool { return true }, func(a *alert.Alert) bool { return a.IsSetAside() })
	l.reports.retry = time.Time{}
	if l.commitReports(); len(l.reports.waiting) > 0 {
		return errNotReported
	}
	return nil
}

// setAsideDied sets an alert aside if its script was in evaluation when a process died, and reports
// whether it is set aside.
func (l *loop) setAsideDied(a *alert.Alert) bool {
	scripts := a.Condition.Scripts()
	if a.Idle != nil || len(l.died) == 0 || len(scripts) == 0 || l.index.CheckCondition(a) != nil {
		return false
	}
	for g := range alert.NewProbe(l.cfg.Library, a).Groups() {
		at, was := l.died[useOf(a.Dependency(), g.Key)]
		if !was || a.Resumed.After(at) {
			continue
		}
		aside := *a
		aside.Idle = &alert.Idle{State: alert.SetAside, At: at.UTC().Truncate(time.Millisecond), Reason: fmt.Sprintf("candela ended while it evaluated its script (%s); "+
			"candela alerts resume %s evaluates it again, and candela alerts cancel removes it", strings.Join(scripts, ", "), a.ID)}
		l.cfg.Log.ErrorContext(l.ctx, "alert set aside: the process ended while its script was evaluated", "alert_id", a.ID, "owner", a.Owner, "scripts", scripts)
		return l.keepIdle(&aside)
	}
	return false
}
