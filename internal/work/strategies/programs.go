package strategies

import (
	"context"
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/internal/work/charting"
	"candela/internal/work/research"
	"candela/lib/fault"
	"candela/lib/market"
)

// Programs makes the programs of deployments from their terms. It is safe for concurrent use.
type Programs struct {
	Research *research.Research
	Wall     func(venue string, at int64) time.Time // when the clock of a venue shows a time
}

// self is on whose behalf a running strategy is computed.
func self(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Key: "strategy", Scope: principal.Charts}
}

// Program makes what terms compute.
func (p *Programs) Program(ctx context.Context, owner principal.Owner, t *deploy.Terms) (deploy.Made, error) {
	live, err := p.Research.Live(ctx, self(owner), questionOf(t))
	if err != nil {
		return deploy.Made{}, err
	}
	return deploy.Made{
		Program: live.Program, Tick: decimal.NewFromFloat(live.Tick), Step: decimal.NewFromFloat(live.Step),
		Closes: func(open int64) time.Time { return p.Wall(t.Symbol.Venue, live.Calendar.CloseOf(t.Interval, open)) },
	}, nil
}

// questionOf returns the back-test that terms were proposed with.
func questionOf(t *deploy.Terms) research.Backtest {
	q := research.Backtest{
		Symbol: t.Symbol, Interval: t.Interval, Script: t.Program.Script, Inputs: t.Program.Inputs, Span: research.Span{Bars: research.LeastBars},
		Account: research.Account{
			Capital: t.Capital.InexactFloat64(), Percent: wholeEquity, Fee: t.FeeBps.InexactFloat64(), Slip: t.SlipBps.InexactFloat64(), Leverage: research.LeastLeverage,
			Fills: research.FillsPaper, Chosen: research.Chosen{Capital: true, Fee: true, Slip: true},
		},
	}
	switch by := t.SizeBy.InexactFloat64(); t.Size {
	case deploy.SizePercent:
		q.Percent, q.Chosen.Percent = by, true
	case deploy.SizeFixed:
		q.Quantity, q.Chosen.Quantity = by, true
	}
	if t.Leverage.IsPositive() {
		q.Leverage = t.Leverage.InexactFloat64()
	}
	q.Libraries = func(path string) (string, bool) { source, ok := t.Program.Libraries[path]; return source, ok }
	readRules(&q.Rules, &t.Program)
	return q
}

// wholeEquity is the size of a position in percent of the equity where none is chosen.
const wholeEquity = 100

// readRules sets rules as they are recorded.
func readRules(r *research.Rules, p *deploy.Program) {
	r.Long, r.Short = p.Long, p.Short
	r.Read = func(name string, text []byte) (*research.Side, error) {
		side := &research.Side{}
		if err := json.Unmarshal(text, side); err != nil {
			return nil, fault.Field(name, string(text), "rules as they were recorded")
		}
		return side, nil
	}
}

// Bars reads the closed bars of strategies.
type Bars struct {
	Source charting.BarSource
	Subs   func(subs []deploy.Sub) // follows bars that close; nil where nothing does
}

// Follow replaces the bars that are followed. Where nothing follows bars, they are read after their close.
func (b *Bars) Follow(subs []deploy.Sub) {
	if b.Subs != nil {
		b.Subs(subs)
	}
}

// Closed returns all closed bars that opened at or after a time, oldest first.
func (b *Bars) Closed(ctx context.Context, s market.Symbol, i market.Interval, from int64) ([]market.Bar, error) {
	set, err := b.Source.Bars(ctx, marketdata.Request{Symbol: s, Interval: i, Bars: marketdata.MaxRequestBars - 1, Start: from, Closed: true})
	if err != nil {
		return nil, err
	}
	if set.Stale {
		return nil, fault.New(fault.Unavailable, "stale", "%s does not respond", s.Venue)
	}
	closed := closedOf(&set)
	first := closed.Search(from)
	if first == 0 && closed.Len() >= marketdata.MaxRequestBars-2 {
		return nil, fault.New(fault.Unsupported, "range_refused", "more than %d bars of %s have closed since %s", marketdata.MaxRequestBars-2, i, market.Stamp(from))
	}
	bars := make([]market.Bar, 0, closed.Len()-first)
	for k := first; k < closed.Len(); k++ {
		bars = append(bars, closed.At(k))
	}
	return bars, nil
}

// Newest returns the open of the newest closed bar.
func (b *Bars) Newest(ctx context.Context, s market.Symbol, i market.Interval) (int64, error) {
	set, err := b.Source.Bars(ctx, marketdata.Request{Symbol: s, Interval: i, Bars: 2, Closed: true})
	if err != nil {
		return 0, err
	}
	closed := closedOf(&set)
	if closed.Len() == 0 {
		return 0, fault.New(fault.Unavailable, "no_bars", "%s has no closed bar of %s", s, i)
	}
	return closed.T[closed.Len()-1], nil
}

// closedOf returns the bars of a set that have closed.
func closedOf(set *marketdata.BarSet) market.Bars {
	n := set.Bars.Len()
	if set.Forming {
		n--
	}
	return set.Bars.Slice(0, n)
}
