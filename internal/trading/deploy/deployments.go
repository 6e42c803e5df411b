package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of the deployments of an account.
const (
	MostRunning = 10  // running or paused
	MostKept    = 200 // that were started, ended ones among them
	MostADay    = 50  // proposals
	proposalTTL = 7 * 24 * time.Hour
)

// Made is what a deployment computes, made from its terms.
type Made struct {
	Program    backtest.Program
	Tick, Step decimal.Decimal            // of the venue now
	Closes     func(open int64) time.Time // when a bar closes
}

// Programs makes programs of terms.
type Programs interface {
	Program(ctx context.Context, owner principal.Owner, t *Terms) (Made, error)
}

// Bars reads and follows closed bars.
type Bars interface {
	// Closed returns all closed bars that opened at or after a time, oldest first.
	Closed(ctx context.Context, s market.Symbol, i market.Interval, from int64) ([]market.Bar, error)
	// Newest returns the open of the newest closed bar.
	Newest(ctx context.Context, s market.Symbol, i market.Interval) (int64, error)
	// Follow replaces the bars that are followed.
	Follow(subs []Sub)
}

// Sub names the bars of a symbol at an interval.
type Sub struct {
	Symbol   market.Symbol
	Interval market.Interval
}

// Config configures the deployments of an account.
type Config struct {
	Owner    principal.Owner
	Journal  Journal
	Programs Programs
	Bars     Bars
	Brokers  map[Stage]Broker // where deployments of a stage trade; none of a stage that does not run here
	Log      *slog.Logger
	Now      func() time.Time
	Restored func() bool // whether the account was put back from a backup and its owner has not resumed it; nil for never
	// Changed gets each deployment whose state has changed, after that was recorded; nil for nobody. It may take as long as
	// another record.
	Changed func(context.Context, Deployment, Change)
}

// Change is what was recorded about a deployment, and who did it, "" for the deployment itself: proposed, declined,
// started, paused, resumed, stopping or stopped.
type Change struct{ Kind, By string }

// Deployments are the strategies of one account. It is safe for concurrent use.
type Deployments struct {
	cfg Config

	mu         sync.Mutex
	runners    map[string]*runner
	ctx        context.Context //nolint:containedctx // of the runners, between the start and the end of Run
	group      sync.WaitGroup
	acting     sync.Mutex    // while a proposal is recorded or one is started: their number is bounded
	announcing sync.Mutex    // while the desk gets to know the deployments
	following  sync.Mutex    // while the bars that are followed are replaced
	known      chan struct{} // closed when the desk knows which deployments there are
	ended      chan struct{} // closed when Run has ended
	comparing  chan struct{} // holds one element while a model is compared with its account
}

// New returns deployments that are idle until Run.
func New(cfg Config) *Deployments {
	return &Deployments{cfg: cfg, runners: make(map[string]*runner), known: make(chan struct{}), ended: make(chan struct{}), comparing: make(chan struct{}, 1)}
}

// Run loads the deployments and runs them until ctx ends. It calls ready when all are loaded.
func (d *Deployments) Run(ctx, _ context.Context, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer d.end(stop)
	names, err := d.cfg.Journal.Journals(ctx)
	if err != nil {
		return fmt.Errorf("strategies: %w", err)
	}
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
	var loads []<-chan struct{}
	for _, name := range names[d.cfg.Owner] {
		if id, ok := strings.CutPrefix(name, namePrefix); ok {
			loads = append(loads, d.launch(Deployment{ID: id})) //nolint:contextcheck // it runs with the context of Run, which it has
		}
	}
	for _, load := range loads {
		<-load
	}
	if err := d.announce(ctx); err != nil {
		return fmt.Errorf("strategies: %w", err)
	}
	close(d.known)
	d.follow()
	ready()
	<-ctx.Done()
	return nil
}

// end stops the runners and waits for them. No other is launched.
func (d *Deployments) end(stop func()) {
	d.mu.Lock()
	d.ctx = nil
	d.mu.Unlock()
	stop()
	d.group.Wait()
	d.follow()
	close(d.ended)
}

// stopped reports whether no deployment runs any more, or yet.
func (d *Deployments) stopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx == nil || d.ctx.Err() != nil
}

// launch runs a deployment. The channel is closed when its journal was read.
func (d *Deployments) launch(of Deployment) <-chan struct{} {
	r := &runner{Deployments: d, d: of, log: d.cfg.Log.With("strategy", of.ID), mail: make(chan func(context.Context), mailbox), tried: make(map[string]bool), done: make(chan struct{})}
	r.show()
	loaded := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx := d.ctx
	if ctx == nil { // the process ends; the journal has what was recorded
		close(loaded)
		return loaded
	}
	d.runners[of.ID] = r
	d.group.Go(func() { r.run(ctx, func() { close(loaded) }) })
	return loaded
}

// Deliver hands on a bar that has closed. It does not block: a deployment without room for it reads the bar later.
func (d *Deployments) Deliver(s Sub, b market.Bar) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runners {
		v := r.view.Load()
		if v.State != Running && v.State != Paused || v.Terms.Symbol != s.Symbol || v.Terms.Interval != s.Interval {
			continue
		}
		select {
		case r.mail <- func(ctx context.Context) { r.bar(ctx, b) }:
		default:
			r.behind.Store(true)
		}
	}
}

// follow has the bars followed that running deployments need, none after the end.
func (d *Deployments) follow() {
	d.following.Lock()
	defer d.following.Unlock()
	var subs []Sub
	for _, v := range d.all() {
		if d.stopped() {
			break
		}
		if s := (Sub{v.Terms.Symbol, v.Terms.Interval}); (v.State == Running || v.State == Paused) && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	d.cfg.Bars.Follow(subs)
}

// trades reports whether a deployment sends orders here: its stage does, and the account is the one that it was started on.
func (d *Deployments) trades(v *Deployment) bool { return d.deskOf(v) != nil }

// deskOf returns the account on which a deployment trades, nil for none here.
func (d *Deployments) deskOf(v *Deployment) Desk {
	b := d.cfg.Brokers[v.Stage]
	if v.Account != "" && v.Account != b.Account {
		return nil
	}
	return b.Desk
}

// announce says to each desk which deployments may trade there.
func (d *Deployments) announce(ctx context.Context) error {
	d.announcing.Lock()
	defer d.announcing.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer cancel()
	errs := make([]error, 0, len(d.cfg.Brokers))
	for stage, b := range d.cfg.Brokers {
		errs = append(errs, b.Desk.SetDeployments(ctx, d.trading(stage)))
	}
	return errors.Join(errs...)
}

// trading lists the deployments of a stage that may trade.
func (d *Deployments) trading(stage Stage) (all []guard.Deployment) {
	for _, v := range d.all() {
		if v.Stage != stage || !d.trades(&v) || v.State != Running && v.State != Paused {
			continue
		}
		one := guard.Deployment{ID: v.ID, Name: v.Name, Symbol: v.Terms.Symbol, Budget: v.Limits.Budget, Cap: v.Limits.Cap}
		if v.State == Paused {
			one.Paused = string(v.Cause)
		}
		if one.Budget.IsZero() {
			one.Budget = one.Cap
		}
		all = append(all, one)
	}
	return all
}

// all returns the deployments, the newest first.
func (d *Deployments) all() []Deployment {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Deployment, 0, len(d.runners))
	for _, r := range d.runners {
		all = append(all, d.current(*r.view.Load()))
	}
	slices.SortFunc(all, func(a, b Deployment) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

// current returns a deployment as it stands now: a proposal expires.
func (d *Deployments) current(v Deployment) Deployment {
	if v.State == Proposed && d.cfg.Now().Sub(v.ProposedAt) > proposalTTL {
		v.State, v.EndedAt = Expired, v.ProposedAt.Add(proposalTTL)
	}
	if v.State == Running && v.Stage != Shadow && !d.trades(&v) {
		v.Detail = d.idle(&v)
	}
	return v
}

// idle says why a running deployment sends no orders here.
func (d *Deployments) idle(v *Deployment) string {
	if b := d.cfg.Brokers[v.Stage]; b.Desk != nil {
		return "its orders are not sent: it trades on the account " + v.Account + ", and this process on " + b.Account
	}
	return "its orders are not sent: this process runs strategies of the stages " + strings.Join(d.Stages(), ", ")
}

// List returns the deployments, the newest first.
func (d *Deployments) List(context.Context) ([]Deployment, error) { return d.all(), nil }

// Get returns a deployment by its id, or by its name: one that has not ended, else the newest.
func (d *Deployments) Get(_ context.Context, name string) (Deployment, error) {
	all := d.all()
	i := slices.IndexFunc(all, func(v Deployment) bool { return v.ID == name })
	if i < 0 { // a name is no id: see room
		i = slices.IndexFunc(all, func(v Deployment) bool { return v.Name == name && !v.State.Final() })
	}
	if i < 0 {
		i = slices.IndexFunc(all, func(v Deployment) bool { return v.Name == name })
	}
	if i >= 0 {
		return all[i], nil
	}
	return Deployment{}, fault.New(fault.NotFound, "strategy_not_found", "no strategy has the id or the name %q", name).About("deployment_id", name, "one that list_deployments shows")
}

// Synced is Get after the bars that were delivered before.
func (d *Deployments) Synced(ctx context.Context, name string) (Deployment, error) {
	if v, err := d.Get(ctx, name); err != nil || v.State.Final() {
		return v, err
	}
	return d.on(ctx, name, func(context.Context, *runner) error { return nil })
}

// Book returns what a deployment made in its account, and what it holds of its symbol.
func (d *Deployments) Book(ctx context.Context, v *Deployment) (book order.DeploymentBook, held decimal.Decimal, err error) {
	desk := d.deskOf(v)
	if desk == nil {
		return book, held, nil
	}
	return desk.DeploymentBook(ctx, v.ID, v.Terms.Symbol)
}

// Propose records a deployment that waits for the owner. Nothing is computed before its start.
func (d *Deployments) Propose(ctx context.Context, by string, p Deployment) (Deployment, error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	if err := d.room(&p); err != nil {
		return Deployment{}, err
	}
	p.ID, p.TermsHash = id.New(d.cfg.Now()), p.Terms.Hash()
	first := &entry{Kind: entryProposed, At: d.cfg.Now(), By: by, Deployment: &p}
	data, err := encode(first)
	if err != nil {
		return Deployment{}, err
	}
	if err := d.cfg.Journal.AppendJournal(ctx, d.cfg.Owner, namePrefix+p.ID, data); err != nil {
		return Deployment{}, err
	}
	<-d.launch(Deployment{ID: p.ID}) //nolint:contextcheck // it outlives the call
	made, err := d.Get(ctx, p.ID)
	if err == nil && d.cfg.Changed != nil {
		d.cfg.Changed(ctx, made, Change{entryProposed, by})
	}
	return made, err
}

// room returns an error if no other deployment may be proposed.
func (d *Deployments) room(p *Deployment) error {
	all, waiting, kept, today := d.all(), 0, 0, 0
	for i := range all {
		if d.cfg.Now().Sub(all[i].ProposedAt) < 24*time.Hour {
			today++
		}
		if !all[i].StartedAt.IsZero() {
			kept++
		}
		switch {
		case all[i].State.Final():
			continue
		case all[i].Name == p.Name:
			return fault.New(fault.Conflict, "strategy_exists", "strategy %s has the name %q; it is %s", all[i].ID, p.Name, all[i].State).About("name", p.Name, "another name")
		case all[i].TermsHash == p.Terms.Hash():
			return fault.New(fault.Conflict, "strategy_exists", "strategy %s, %q, has the same terms; it is %s", all[i].ID, all[i].Name, all[i].State)
		case all[i].State == Proposed:
			waiting++
		}
	}
	switch {
	case id.Valid(p.Name):
		return fault.Field("name", p.Name, "a name, not an id")
	case d.stopped():
		return ended()
	case kept >= MostKept:
		return fault.New(fault.Conflict, "too_many_strategies", "%d strategies that were started are kept, and %d is the limit", kept, MostKept)
	case today >= MostADay:
		return fault.New(fault.Conflict, "too_many_strategies", "%d strategies were proposed within a day, and %d is the limit", today, MostADay)
	case waiting >= MostRunning:
		return fault.New(fault.Conflict, "too_many_strategies", "%d proposals wait for the owner; propose others when some are started or declined", waiting)
	}
	return nil
}

// on runs a function in the goroutine of a deployment and returns the deployment after it.
func (d *Deployments) on(ctx context.Context, name string, f func(ctx context.Context, r *runner) error) (Deployment, error) {
	v, err := d.Get(ctx, name)
	if err != nil {
		return Deployment{}, err
	}
	if v.State.Final() {
		return v, refuse(&v, "changed")
	}
	d.mu.Lock()
	r := d.runners[v.ID]
	d.mu.Unlock()
	answer := make(chan error, 1)
	select {
	case r.mail <- func(ctx context.Context) {
		err := r.readable()
		if err == nil {
			err = f(ctx, r)
		}
		r.show()
		answer <- err
	}:
	case <-r.done:
		return v, ended()
	case <-ctx.Done():
		return v, ctx.Err()
	}
	select {
	case err = <-answer:
	case <-r.done:
		select {
		case err = <-answer: // it ended with this
		default:
			err = ended()
		}
	}
	if err == nil {
		err = d.announce(ctx)
		d.follow()
	}
	return d.current(*r.view.Load()), err
}

// errNotRecorded is the error of a change that could not be stored.
var errNotRecorded = errors.New("the change could not be stored; nothing was changed")

// refuse is the error of a change that does not fit the state of a deployment.
func refuse(v *Deployment, what string) error {
	return fault.New(fault.Conflict, "strategy_state", "strategy %s is %s and cannot be %s", v.ID, v.State, what).About("deployment_id", v.ID, "")
}
