// Package charting reads what a chart needs and computes it: bars with their warm-up, indicators, other
// symbols and intervals, what the caller has in the symbol, and the picture of it all. It shares the
// processors fairly among callers. It knows no protocol: it neither reads arguments nor writes answers,
// apart from the JSON of package payload, which several faces send.
//
// The program makes one [Charting] with the sources of bars, alerts and positions. A face turns what its
// client wrote into a [Request] or a [Drawn], calls [Charting.Chart] for values or [Charting.Make] for a
// chart with the caller's own marks, as a picture or as JSON. What needs no turn, such as a
// command that draws one chart and ends, calls [Compute] and [Picture].
package charting

import (
	"context"
	"log/slog"
	"sync"

	"candela/internal/alerting/alert"
	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// BarSource reads bars; a set holds at least one. It must be safe for concurrent use,
// and return errors that a client may read: never sample bars in place of real ones.
type BarSource interface {
	Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error)
}

// Renderer draws charts as PNG. It must be safe for concurrent use. An error names the
// invalid argument.
type Renderer interface {
	PNG(spec *chart.Spec) ([]byte, error)
}

// Alerts finds the caller's alerts on a symbol, which includes its venue.
type Alerts interface {
	AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error)
}

// Account finds what the caller has in a symbol, which includes its venue: the position, and the orders
// that are open or have fills, newest first.
type Account interface {
	InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error)
}

// Saved finds the drawings that the caller's owner keeps on an instrument, newest first, and how many there are beyond
// the most.
type Saved interface {
	Saved(ctx context.Context, caller principal.Caller, instrument market.Symbol, most int) (drawn []Drawing, more int, err error)
}

// Config holds what charts are made from.
type Config struct {
	Bars     BarSource
	Renderer Renderer
	Alerts   Alerts     // nil without trading
	Account  Account    // nil without trading
	Saved    Saved      // nil without trading
	Turns    *Turns     // nil for turns of its own
	States   *ta.States // of indicators; nil for its own
	Log      *slog.Logger
}

// Charting makes charts. It is safe for concurrent use.
type Charting struct {
	Config
	memory sync.Pool // of *ta.Memory
}

// New returns the charts over cfg.
func New(cfg Config) *Charting {
	if cfg.Turns == nil {
		cfg.Turns = NewTurns(Sharing{})
	}
	if cfg.States == nil {
		cfg.States = ta.NewStates(maxStates)
	}
	return &Charting{Config: cfg}
}

// maxStates bounds what is kept of the series that charts are asked of, in bytes.
const maxStates = 32 << 20

// Chart reads the bars and runs the indicators as [Compute] does. It holds a turn for all but reading the
// bars.
func (c *Charting) Chart(ctx context.Context, caller principal.Caller, q Request) (shown *payload.Chart, err error) {
	bars, err := read(ctx, c.Bars, q)
	if err != nil {
		return nil, err
	}
	turn := c.Turns.Short
	if countScripts(q.Indicators) > 0 {
		turn = c.Turns.Scripts
	}
	err = turn(ctx, caller, func(ctx context.Context) error {
		memory, ok := c.memory.Get().(*ta.Memory)
		if !ok {
			memory = new(ta.Memory)
		}
		defer c.memory.Put(memory)
		run := c.Turns.Run(ctx, caller, true)
		defer run.Close()
		shown, err = show(ctx, bars, q, memory, run, c.States)
		return err
	})
	return shown, err
}
