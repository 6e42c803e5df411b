package providertest

import (
	"context"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// memory keeps the contract, unless one of its hooks breaks it.
type memory struct {
	bars  market.Bars
	caps  provider.Caps
	query func(provider.BarQuery) provider.BarQuery
	page  func(provider.BarQuery, *provider.BarPage)
	fail  func(error) error
	inst  func(*provider.Instrument)
	deaf  bool // to its context
	calls int
}

func newMemory(testing.TB) *memory {
	m := &memory{caps: provider.Caps{Intervals: []market.Interval{market.Hour1, market.Day1}, PageSize: 25, TakerBuy: true}}
	for i := range int64(60) {
		m.bars.Append(market.Bar{T: (i + 1) * 3600, O: 1, H: float64(i) + 2, L: 1, C: 1, V: 2, TakerBuy: 1})
	}
	return m
}

func (m *memory) Name() string { return "memory" }

func (m *memory) Capabilities() provider.Caps { return m.caps }

func (m *memory) check(ctx context.Context, s market.Symbol) error {
	if err := ctx.Err(); err != nil && !m.deaf {
		return err
	}
	if s.Name != "KNOWN" {
		return provider.UnknownSymbol("memory", s)
	}
	return nil
}

func (m *memory) failed(err error) error {
	if m.fail != nil {
		return m.fail(err)
	}
	return err
}

func (m *memory) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	if err := m.check(ctx, s); err != nil {
		return provider.Instrument{}, m.failed(err)
	}
	inst := provider.Instrument{Symbol: market.Symbol{Venue: "memory", Name: s.Name}}
	if m.inst != nil {
		m.inst(&inst)
	}
	return inst, nil
}

func (m *memory) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	if err := m.check(ctx, q.Symbol); err != nil {
		return provider.BarPage{}, m.failed(err)
	}
	if m.query != nil {
		q = m.query(q)
	}
	q, err := m.caps.Normalize("memory", q)
	if err != nil {
		return provider.BarPage{}, m.failed(err)
	}
	p := q.PageFromAll(&m.bars, false)
	if m.page != nil {
		m.page(q, &p)
	}
	return p, nil
}

func target() Target {
	return Target{
		New:    func(tb testing.TB) provider.Provider { tb.Helper(); return newMemory(tb) },
		Symbol: market.Symbol{Name: "KNOWN"}, Unknown: market.Symbol{Name: "OTHER"},
		Interval: market.Hour1, From: 5 * 3600, To: 55 * 3600,
	}
}

func TestRun_PassesAProviderThatKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, c := range checks() {
		if err := c.check(t.Context(), newMemory(t), target()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRun_WholeSuite(t *testing.T) { Run(t, target()) }

func TestChecks_CatchEveryBrokenPromise(t *testing.T) {
	t.Parallel()
	for name, brk := range map[string]func(*memory){
		"no intervals":              func(m *memory) { m.caps.Intervals = nil },
		"intervals out of order":    func(m *memory) { m.caps.Intervals = []market.Interval{market.Day1, market.Hour1} },
		"an interval that is none":  func(m *memory) { m.caps.Intervals = []market.Interval{0, market.Hour1} },
		"no page size":              func(m *memory) { m.caps.PageSize = 0 },
		"live without a stream":     func(m *memory) { m.caps.Live = true },
		"no bars of the target":     func(m *memory) { m.caps.Intervals = []market.Interval{market.Day1} },
		"bars out of order":         func(m *memory) { m.bars.T[20], m.bars.T[21] = m.bars.T[21], m.bars.T[20] },
		"the same bar twice":        func(m *memory) { m.bars.T[21] = m.bars.T[20] },
		"a bar with low above high": func(m *memory) { m.bars.L[20] = 1e9 },
		"a bar off the grid":        func(m *memory) { m.bars.T[20]++ },
		"too few bars":              func(m *memory) { m.bars = m.bars.Slice(0, 10) },
		"every page runs":           func(m *memory) { m.page = func(_ provider.BarQuery, p *provider.BarPage) { p.Running = true } },
		"the limit is ignored":      func(m *memory) { m.query = func(q provider.BarQuery) provider.BarQuery { q.Limit = 0; return q } },
		"from is ignored":           func(m *memory) { m.query = func(q provider.BarQuery) provider.BarQuery { q.From = 0; return q } },
		"to is ignored":             func(m *memory) { m.query = func(q provider.BarQuery) provider.BarQuery { q.To = 0; return q } },
		"from is exclusive":         func(m *memory) { m.query = func(q provider.BarQuery) provider.BarQuery { return shift(q, 1, 0) } },
		"to is inclusive":           func(m *memory) { m.query = func(q provider.BarQuery) provider.BarQuery { return shift(q, 0, 1) } },
		"more is never said":        func(m *memory) { m.page = func(_ provider.BarQuery, p *provider.BarPage) { p.More = false } },
		"more is always said":       func(m *memory) { m.page = func(_ provider.BarQuery, p *provider.BarPage) { p.More = true } },
		"next skips a bar":          func(m *memory) { m.page = func(q provider.BarQuery, p *provider.BarPage) { skip(q, p) } },
		"next leads nowhere":        func(m *memory) { m.page = func(q provider.BarQuery, p *provider.BarPage) { p.Next = max(q.From, 1) } },
		"the oldest bars for the newest": func(m *memory) {
			m.query = func(q provider.BarQuery) provider.BarQuery { q.From = max(q.From, 1); return q }
		},
		"made-up bars without a word": func(m *memory) { m.page = func(_ provider.BarQuery, p *provider.BarPage) { p.Synthetic = true } },
		"taker-buy volume left out":   func(m *memory) { m.page = func(_ provider.BarQuery, p *provider.BarPage) { p.Bars.TakerBuy = nil } },
		"every error is internal":     func(m *memory) { m.fail = func(error) error { return context.DeadlineExceeded } },
		"not found without a name":    func(m *memory) { m.fail = nameless },
		"deaf to its context":         func(m *memory) { m.deaf = true },
		"an instrument of no venue":   func(m *memory) { m.inst = func(i *provider.Instrument) { i.Symbol.Venue = "" } },
		"a negative tick":             func(m *memory) { m.inst = func(i *provider.Instrument) { i.Tick = decimal.NewFromInt(-1) } },
		"sessions not declared":       func(m *memory) { m.inst = func(i *provider.Instrument) { i.Calendar = newYork() } },
		"negative limits are taken": func(m *memory) {
			m.query = func(q provider.BarQuery) provider.BarQuery { q.Limit = max(q.Limit, 0); return q }
		},
		"ranges that run back are taken": func(m *memory) {
			m.query = func(q provider.BarQuery) provider.BarQuery {
				if q.To != 0 {
					q.To = max(q.To, q.From)
				}
				return q
			}
		},
		"every interval is taken": func(m *memory) {
			m.query = func(q provider.BarQuery) provider.BarQuery { q.Interval = market.Hour1; return q }
		},
		"bars that change between reads": func(m *memory) {
			m.page = func(_ provider.BarQuery, p *provider.BarPage) {
				m.calls++
				p.Bars = join(p.Bars, market.Bars{})
				for i := range p.Bars.V {
					p.Bars.V[i] += float64(m.calls)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range checks() {
				if c.name == "many may ask at once" {
					continue // the twins above share memory without a lock on purpose
				}
				m := newMemory(t)
				brk(m)
				if err := c.check(t.Context(), m, target()); err != nil {
					return
				}
			}
			t.Error("the suite does not notice")
		})
	}
}

func shift(q provider.BarQuery, from, to int64) provider.BarQuery {
	if q.From != 0 {
		q.From += from
	}
	if q.To != 0 && q.To != q.From {
		q.To += to
	}
	return q
}

func skip(q provider.BarQuery, p *provider.BarPage) {
	if p.More && q.From != 0 {
		p.Next += 3600
	}
}

func nameless(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return &fault.Error{Kind: fault.NotFound, Message: "no such thing"}
	}
	return err
}

func newYork() market.Calendar {
	c, err := market.NewCalendar(market.USEquities())
	if err != nil {
		panic(err)
	}
	return c
}
