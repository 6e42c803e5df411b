package deploy

import (
	"context"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/lib/fault"
)

// Start runs a proposal. Only the owner may: a face that calls it has checked that it acts for the owner.
func (d *Deployments) Start(ctx context.Context, by, name string, stage Stage, limits *Limits) (Deployment, error) {
	if err := d.checkStage(stage); err != nil {
		return Deployment{}, err
	}
	d.acting.Lock()
	defer d.acting.Unlock()
	running := 0
	for _, v := range d.all() {
		if v.State == Running || v.State == Paused {
			running++
		}
	}
	if err := d.checkDirect(ctx, name, stage); err != nil {
		return Deployment{}, err
	}
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		v := d.current(r.d)
		switch {
		case v.State != Proposed:
			return refuse(&v, "started")
		case stage != Shadow && (limits == nil || !limits.Cap.IsPositive()):
			return fault.Missing("--cap", "the most that the strategy may hold, in the currency of its prices, such as 500")
		case running >= MostRunning:
			return fault.New(fault.Conflict, "too_many_strategies", "%d strategies run, and %d is the limit; stop one first", running, MostRunning)
		}
		return r.begin(ctx, by, stage, limits)
	})
}

// Stages lists the stages that this process runs, the lowest first.
func (d *Deployments) Stages() []string {
	return slices.DeleteFunc(Stages(), func(stage string) bool { return stage != string(Shadow) && d.cfg.Brokers[Stage(stage)].Desk == nil })
}

// checkStage returns an error if this process does not run a stage.
func (d *Deployments) checkStage(stage Stage) error {
	switch open := d.Stages(); {
	case !slices.Contains(Stages(), string(stage)):
		return fault.Field("stage", string(stage), "shadow, paper or live", Stages()...)
	case !slices.Contains(open, string(stage)):
		return fault.New(fault.Unsupported, "strategies_off", "this process runs strategies of the stages %s; start it with --strategies %s", strings.Join(open, ", "), stage).About("stage", string(stage), strings.Join(open, ", "))
	}
	return nil
}

// begin starts the model: what it would have wanted before now is history.
func (r *runner) begin(ctx context.Context, by string, stage Stage, limits *Limits) error {
	newest, err := r.cfg.Bars.Newest(ctx, r.d.Terms.Symbol, r.d.Terms.Interval)
	if err != nil {
		return err
	}
	if limits != nil {
		limits = &Limits{Budget: r.d.Limits.Budget, Cap: limits.Cap, MaxLoss: limits.MaxLoss}
	}
	started := &entry{Kind: entryStarted, By: by, Stage: stage, Account: r.cfg.Brokers[stage].Account, Through: newest, Limits: limits}
	if !r.record(ctx, started) {
		return errNotRecorded
	}
	r.show()
	if err := r.announce(ctx); err != nil {
		return err
	}
	r.compute(ctx)
	r.catchUp(ctx)
	return nil
}

// Decline ends a proposal.
func (d *Deployments) Decline(ctx context.Context, by, name string) (Deployment, error) {
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		if v := d.current(r.d); v.State != Proposed {
			return refuse(&v, "declined")
		}
		return recorded(r.record(ctx, &entry{Kind: entryDeclined, By: by}))
	})
}

// Pause stops entries until the owner resumes the deployment. Its bars are computed.
func (d *Deployments) Pause(ctx context.Context, by, name string) (Deployment, error) {
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		if r.d.State != Running {
			return refuse(&r.d, "paused")
		}
		r.due = true // its entries are cancelled
		return recorded(r.record(ctx, &entry{Kind: entryPaused, By: by, Cause: ByOwner}))
	})
}

// Resume lets a paused deployment go on: what it wanted at bars that have closed before is history. maxLoss
// replaces what it may lose since its start, unless it is zero. Only the owner may: a face that calls it has checked that
// it acts for the owner.
func (d *Deployments) Resume(ctx context.Context, by, name string, maxLoss decimal.Decimal) (Deployment, error) {
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		if r.d.State != Paused {
			return refuse(&r.d, "resumed")
		}
		newest, err := r.cfg.Bars.Newest(ctx, r.d.Terms.Symbol, r.d.Terms.Interval)
		if err != nil {
			return err
		}
		resumed := &entry{Kind: entryResumed, By: by, Through: newest}
		if maxLoss.IsPositive() {
			limits := r.d.Limits
			limits.MaxLoss, resumed.Limits = maxLoss, &limits
		}
		if !r.record(ctx, resumed) {
			return errNotRecorded
		}
		if r.model == nil {
			r.compute(ctx)
			r.catchUp(ctx)
		}
		return nil
	})
}

// Stop ends a deployment, or a proposal of one. What it holds is closed at the market, or stays with its stops and
// belongs to no deployment any more.
func (d *Deployments) Stop(ctx context.Context, by, name string, closes bool) (Deployment, error) {
	return d.on(ctx, name, func(ctx context.Context, r *runner) error {
		if r.d.State.Final() {
			return refuse(&r.d, "stopped")
		}
		last := &entry{Kind: entryStopping, By: by, Close: closes}
		switch b := r.cfg.Brokers[r.d.Stage]; {
		case b.Desk == nil:
			last.Kind = entryStopped
		case !r.trades(&r.d):
			return fault.New(fault.Conflict, "strategy_state", "strategy %s trades on the account %s, and this process on %s; stop it there", r.d.ID, r.d.Account, b.Account).About("deployment_id", r.d.ID, "")
		}
		if !r.flush(ctx) || !r.record(ctx, last) {
			return errNotRecorded
		}
		r.release()
		if r.due = r.d.State == Stopping; r.due {
			r.show()
			if err := r.announce(ctx); err != nil {
				return err
			}
			r.settle(ctx)
		}
		return nil
	})
}

func recorded(ok bool) error {
	if !ok {
		return errNotRecorded
	}
	return nil
}
