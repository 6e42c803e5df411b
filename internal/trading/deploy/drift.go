package deploy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/desk"
	"candela/internal/trading/drift"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Verdict says whether a deployment does what was tested.
type Verdict string

// The verdicts.
const (
	AsTested  Verdict = "as_tested" // what it wanted is computed again, and the account is near the model
	Costlier  Verdict = "costlier"  // the same, but the account is further away
	Differing Verdict = "different" // another intent is computed, or too many entries were not made
)

const (
	mostLost       = 0.05  // of the entries, that are missed or refused
	mostGap        = 0.005 // of the capital, as tested
	mostDriftPages = 100   // of orders that are read
	whilePaused    = "paused"
)

// Drift compares what a deployment wanted, computed again from its recorded bars, with what was recorded and with what
// its account did.
type Drift struct {
	drift.Report
	Verdict   Verdict
	Curve     []drift.Point              // since the start
	Intents   int                        // recorded, and computed again
	Different string                     // the first difference between both; "" without one
	Before    int                        // trades of the model that were wanted before the start, which are not compared
	Revised   int                        // recorded bars that the venue has otherwise now
	RevisedAt int64                      // the first of them
	Elsewhere map[string]decimal.Decimal // fees by asset that are in no step: their worth is unknown
	Shortened bool                       // the oldest orders of the account were not read
	Mark      decimal.Decimal            // the last close
	Currency  string                     // of the prices; "" when unknown
	Through   int64
}

// Drift compares a deployment with its account. One comparison runs at a time.
func (d *Deployments) Drift(ctx context.Context, name string) (out Drift, v Deployment, err error) {
	if v, err = d.Get(ctx, name); err != nil {
		return out, v, err
	}
	if v.StartedAt.IsZero() {
		return out, v, refuse(&v, "compared with its account: it was never started")
	}
	if v.Stage != Shadow && !d.trades(&v) {
		return out, v, fault.New(fault.Unsupported, "strategies_off", "strategy %s cannot be compared with its account: %s", v.ID, d.idle(&v))
	}
	select {
	case d.comparing <- struct{}{}:
		defer func() { <-d.comparing }()
	case <-ctx.Done():
		return out, v, ctx.Err()
	}
	if !v.State.Final() {
		if v, err = d.on(ctx, v.ID, func(ctx context.Context, r *runner) error { return recorded(r.flush(ctx)) }); err != nil {
			return out, v, err
		}
	}
	again, err := d.again(ctx, &v)
	if err != nil {
		return out, v, err
	}
	defer again.model.Close()
	out, err = again.compare(ctx)
	return out, v, err
}

// again is a deployment that is computed again from its journal.
type again struct {
	*Deployments
	d         Deployment
	model     *Model
	start     int64    // the newest bar before the start
	pauses    []window // bars at which it sent no entries
	bars      []market.Bar
	intents   int
	different string
}

// window is the bars after one and up to another, which is 0 while there is no end.
type window struct{ after, through int64 }

func (d *Deployments) again(ctx context.Context, v *Deployment) (*again, error) {
	made, err := d.cfg.Programs.Program(ctx, d.cfg.Owner, &v.Terms)
	if err != nil {
		return nil, err
	}
	a := &again{Deployments: d, d: Deployment{ID: v.ID}}
	if a.model, err = NewModel(v.ID, &v.Terms, made.Program); err != nil {
		return nil, err
	}
	a.model.entered = make(map[int]entered)
	r := &runner{Deployments: d, d: Deployment{ID: v.ID}}
	if err := r.entries(ctx, a.add); err != nil {
		a.model.Close()
		return nil, fmt.Errorf("strategies: %w", err)
	}
	return a, nil
}

// add computes what an entry of the journal has.
func (a *again) add(e *entry) error {
	if err := a.d.apply(e); err != nil {
		return err
	}
	switch e.Kind {
	case entryStarted, entryPromoted:
		a.start, a.pauses = e.Through, nil
	case entryPaused:
		a.pauses = append(a.pauses, window{after: a.d.Through})
	case entryResumed:
		if n := len(a.pauses); n > 0 {
			a.pauses[n-1].through = e.Through
		}
	}
	if err := e.noteIn(&a.d); err != nil {
		return err
	}
	bars, err := e.bars()
	for _, b := range bars {
		a.bars = append(a.bars, b)
		intents, err := a.model.Step(b)
		if err != nil {
			return fault.New(fault.Unsupported, string(ScriptFailed), "the strategy fails at the bar of %s: %v", market.Stamp(b.T), err)
		}
		if b.T <= a.d.history {
			continue
		}
		if a.intents += e.Intents.count(); a.different == "" && !e.Intents.are(intents) {
			a.different = fmt.Sprintf("at the bar of %s %s was recorded, and %s is computed", market.Stamp(b.T), textOf(e.Intents.read()), textOf(intents))
		}
	}
	return err
}

// compare says where the account differs from the model, and why.
func (a *again) compare(ctx context.Context) (out Drift, err error) {
	out.Intents, out.Different, out.Through = a.intents, a.different, a.d.Through
	out.Currency = a.d.Terms.Quote
	out.Mark = decimalOf(a.model.Account().Price(), a.model.exact.price)
	var entries []drift.Entry
	entries, out.Before = a.entriesOf()
	account := drift.Account{}
	if desk := a.deskOf(&a.d); desk != nil {
		if account, err = a.account(ctx, desk, &out); err != nil {
			return out, err
		}
	}
	rate := a.d.Terms.FeeBps.Shift(-4)
	out.Report, out.Curve = drift.Of(entries, account, rate, out.Mark), drift.Curve(entries, account, rate, a.closes())
	out.Verdict = a.verdict(&out)
	return out, a.revised(ctx, &out)
}

// closes returns the closes since the start.
func (a *again) closes() (all []drift.Close) {
	for _, b := range a.bars {
		if b.T > a.start {
			all = append(all, drift.Close{At: time.Unix(b.T+a.d.Terms.Interval.Seconds(), 0), Price: b.C})
		}
	}
	return all
}

// entriesOf returns the trades of the model that were wanted since the start, by the order of their entry, and how many
// were wanted before it.
func (a *again) entriesOf() (all []drift.Entry, before int) {
	account, at := a.model.Account(), make(map[string]int)
	place := func(number int) *drift.Entry {
		from := a.model.entered[number]
		if from.key == "" || from.since <= a.start {
			return nil
		}
		i, known := at[from.key]
		if !known {
			i, at[from.key] = len(all), len(all)
			all = append(all, drift.Entry{Key: from.key, Cause: a.cause(from.since)})
		}
		return &all[i]
	}
	exact := a.model.exact
	fill := func(ms int64, quantity, price, up float64) drift.Fill {
		return drift.Fill{At: time.UnixMilli(ms), Quantity: exact.quantityOf(quantity * up), Price: decimal.NewFromFloat(price)}
	}
	closed, open := account.Trades(), account.Open()
	for i := range closed {
		t := &closed[i]
		e := place(t.Number())
		if e == nil {
			before++
			continue
		}
		e.In = append(e.In, fill(t.EntryTime, t.Quantity, t.EntryPrice, float64(t.Side)))
		e.Out = append(e.Out, fill(t.ExitTime, t.Quantity, t.ExitPrice, -float64(t.Side)))
		e.Funding = e.Funding.Add(decimal.NewFromFloat(t.Funding))
	}
	for i := range open {
		l := &open[i]
		e := place(l.Number())
		if e == nil {
			before++
			continue
		}
		e.In = append(e.In, fill(l.Time, l.Quantity, l.Price, float64(l.Side)))
		e.Funding = e.Funding.Add(decimal.NewFromFloat(account.Marked(l, account.Price()).Funding))
	}
	return all, before
}

// cause says why no entry was sent for what the model has wanted since a bar, "" if one was to be.
func (a *again) cause(since int64) string {
	for _, w := range a.pauses {
		if since > w.after && (w.through == 0 || since <= w.through) {
			return whilePaused
		}
	}
	return ""
}

// account reads what the orders of the deployment did.
func (a *again) account(ctx context.Context, at Desk, out *Drift) (drift.Account, error) {
	account := drift.Account{In: make(map[string][]drift.Fill), Asked: make(map[string]decimal.Decimal)}
	book, _, err := at.DeploymentBook(ctx, a.d.ID, a.d.Terms.Symbol)
	if err != nil {
		return account, err
	}
	out.Currency = cmp.Or(book.Currency, out.Currency)
	account.Funding = book.Position(a.d.Terms.Symbol).Funding
	by, q := desk.DeploymentCaller(a.cfg.Owner, a.d.ID, a.d.Name), order.Query{Most: 500}
	for page := 0; ; page++ {
		p, err := at.OrderPage(ctx, by, q)
		if err != nil {
			return account, err
		}
		for i := range p.Orders {
			if o := &p.Orders[i]; o.Deployment == a.d.ID {
				a.take(&account, o, out)
			}
		}
		if p.Left == 0 || len(p.Orders) == 0 || p.Orders[len(p.Orders)-1].Created.Before(a.d.StartedAt) {
			return account, nil
		}
		if page == mostDriftPages {
			out.Shortened = true
			return account, nil
		}
		q.After = p.Orders[len(p.Orders)-1].Mark()
	}
}

// take adds an order.
func (a *again) take(account *drift.Account, o *order.Order, out *Drift) {
	entry := !o.ReduceOnly && o.Parent == ""
	if entry {
		account.Asked[o.Key] = o.Quantity
	}
	for i := range o.Fills {
		f := a.fillOf(o, &o.Fills[i], out)
		if entry {
			account.In[o.Key] = append(account.In[o.Key], f)
		} else {
			account.Out = append(account.Out, f)
		}
	}
}

// fillOf returns a fill with what its order was sent at. A fee in the traded asset makes the quantity smaller.
func (a *again) fillOf(o *order.Order, f *order.Fill, out *Drift) drift.Fill {
	x := drift.Fill{At: f.At, Quantity: f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())), Price: f.Price, Fee: f.Fee}
	switch f.FeeAsset {
	case out.Currency, "":
	case f.Base:
		x.Quantity, x.Fee = x.Quantity.Sub(f.Fee), f.Fee.Mul(f.Price)
		x.Taken = f.Fee
	default:
		if out.Elsewhere == nil {
			out.Elsewhere = make(map[string]decimal.Decimal)
		}
		out.Elsewhere[f.FeeAsset], x.Fee = out.Elsewhere[f.FeeAsset].Add(f.Fee), decimal.Zero
	}
	switch {
	case o.Price.IsPositive():
		x.Quote, x.Rested = o.Price, true
	case o.StopPrice.IsPositive():
		x.Quote, x.Rested = a.d.Terms.slipped(f.Side, o.StopPrice), true
	default:
		x.Quote = a.d.Terms.slipped(f.Side, o.Quote)
	}
	return x
}

// slipped returns a price with the slippage that the model counts with, as a price that the venue has.
func (t *Terms) slipped(side order.Side, price decimal.Decimal) decimal.Decimal {
	up := decimal.NewFromInt(side.Sign())
	ticks := price.Add(price.Mul(t.SlipBps).Shift(-4).Mul(up)).Div(t.Tick)
	if up.IsPositive() {
		return ticks.Ceil().Mul(t.Tick)
	}
	return ticks.Floor().Mul(t.Tick)
}

// verdict says whether the deployment does what was tested.
func (a *again) verdict(out *Drift) Verdict {
	lost := float64(out.Causes[drift.Missed] + out.Causes[drift.Refused])
	switch {
	case out.Different != "":
		return Differing
	case a.d.Stage == Shadow:
		return AsTested
	case lost > mostLost*float64(out.Entries):
		return Differing
	case out.Gap.Abs().InexactFloat64() > mostGap*a.d.Terms.Capital.InexactFloat64():
		return Costlier
	default:
		return AsTested
	}
}

// revised counts the recorded bars that the venue has otherwise now.
func (a *again) revised(ctx context.Context, out *Drift) error {
	now, err := a.cfg.Bars.Closed(ctx, a.d.Terms.Symbol, a.d.Terms.Interval, a.d.Terms.First)
	if err != nil {
		return err
	}
	at := make(map[int64]market.Bar, len(now))
	for _, b := range now {
		at[b.T] = b
	}
	for _, b := range a.bars {
		if is, ok := at[b.T]; ok && bitsOf(is) != bitsOf(b) {
			if out.Revised++; out.RevisedAt == 0 {
				out.RevisedAt = b.T
			}
		}
	}
	return nil
}

// bitsOf returns the values of a bar, to be compared: a volume may be missing in both.
func bitsOf(b market.Bar) [5]uint64 {
	return [...]uint64{math.Float64bits(b.O), math.Float64bits(b.H), math.Float64bits(b.L), math.Float64bits(b.C), math.Float64bits(b.V)}
}
