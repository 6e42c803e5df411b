package brokertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness lets the suite have a venue in memory, with a broker around it.
func harness(around func(*Memory) broker.Broker) Harness {
	return Harness{Open: func(testing.TB) *Venue {
		m := NewMemory()
		fail := func(f Fault) func() func() {
			return func() func() {
				m.Fail(f)
				return func() {}
			}
		}
		return &Venue{
			Broker: around(m), Symbol: MemorySymbol(), Unknown: market.Symbol{Venue: "memory", Name: "NOSUCH"},
			Quantity: decimal.New(2, -1), Orders: m.Orders, Trade: m.Trade, Drop: m.Drop, Force: m.Force, Reach: m.SetPrice,
			Late: func(by time.Duration) { m.Fail(Fault{Fate: broker.ErrUnknown, Late: by}) },
			Rest: func(s order.Side) decimal.Decimal {
				return map[order.Side]decimal.Decimal{order.Buy: decimal.NewFromInt(40_000), order.Sell: decimal.NewFromInt(60_000)}[s]
			},
			Foreign: func() string {
				return m.Place(order.Spec{ID: "theirs", Symbol: MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: decimal.New(1, -1), Price: decimal.NewFromInt(30_000)})
			},
			Failures: []Failure{
				{Name: "no network", Arm: fail(Fault{Fate: broker.ErrNotSent}), Want: broker.ErrNotSent},
				{Name: "a refusal", Arm: fail(Fault{Fate: broker.ErrRejected}), Want: broker.ErrRejected},
				{Name: "a lost request", Arm: fail(Fault{Fate: broker.ErrUnknown}), Want: broker.ErrUnknown},
				{Name: "a lost answer", Arm: fail(Fault{Fate: broker.ErrUnknown, Done: true}), Want: broker.ErrUnknown, Done: true},
				{Name: "silence", Arm: fail(Fault{Hang: true, Done: true}), Want: broker.ErrUnknown, Done: true, Hang: true},
			},
		}
	}}
}

func TestRun(t *testing.T) {
	for name, manner := range map[string]Manner{"like Binance": LikeBinance, "like Alpaca": LikeAlpaca} {
		t.Run(name, func(t *testing.T) {
			Run(t, harness(func(m *Memory) broker.Broker {
				m.Behave(manner)
				return m
			}))
		})
	}
	t.Run("whose stops become other orders", func(t *testing.T) {
		Run(t, harness(func(m *Memory) broker.Broker {
			m.Link(LinksFirst)
			return m
		}))
	})
	t.Run("that drops late requests", func(t *testing.T) {
		Run(t, harness(func(m *Memory) broker.Broker {
			m.Void(5 * time.Second)
			m.Digits(5)
			return m
		}))
	})
	t.Run("that judges orders after their receipt", func(t *testing.T) {
		Run(t, harness(func(m *Memory) broker.Broker {
			m.Receipts()
			return m
		}))
	})
	t.Run("that swaps", func(t *testing.T) {
		Run(t, harness(func(m *Memory) broker.Broker { return Swapping{m} }))
	})
}

// The brokers below each break one promise.
type (
	forgetful struct{ *Memory } // says of every failure that nothing was sent
	eager     struct{ *Memory } // sends again what failed
	lenient   struct{ *Memory } // calls an id that is taken refused
	sloppy    struct{ *Memory } // loses the cursor
	silent    struct{ *Memory } // ready before it listens
	leaky     struct{ *Memory } // leaves a goroutine behind
	vague     struct{ *Memory } // wraps two fates
	careless  struct{ *Memory } // sends though the context ended
	partial   struct{ *Memory } // sends the first order of a group alone
	hasty     struct{ *Memory } // sends a group again that failed
	halting   struct{ *Memory } // stops halfway through a swap
)

func (b forgetful) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	r, err := b.Memory.Submit(ctx, o)
	if err != nil {
		err = fmt.Errorf("%w", broker.ErrNotSent)
	}
	return r, err
}

func (b eager) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	r, err := b.Memory.Submit(ctx, o)
	if errors.Is(err, broker.ErrUnknown) {
		return b.Memory.Submit(ctx, o)
	}
	return r, err
}

func (b lenient) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	if _, err := b.Query(ctx, o.Handle()); err == nil {
		return order.Report{}, broker.ErrRejected
	}
	return b.Memory.Submit(ctx, o)
}

func (b sloppy) Fills(ctx context.Context, s market.Symbol, _ broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	return b.Memory.Fills(ctx, s, "")
}

func (b silent) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	ready()
	time.Sleep(time.Second)
	return b.Memory.Stream(ctx, func() {}, out)
}

func (b leaky) Stream(ctx context.Context, ready func(), out chan<- order.Report) error {
	go func() { time.Sleep(time.Hour) }()
	return b.Memory.Stream(ctx, ready, out)
}

func (b vague) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	r, err := b.Memory.Cancel(ctx, o)
	if err != nil {
		err = errors.Join(err, broker.ErrUnknown)
	}
	return r, err
}

func (b careless) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	r, err := b.Memory.Submit(context.WithoutCancel(ctx), o)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", broker.ErrNotSent, ctx.Err())
	}
	return r, err
}

func (b partial) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	first := orders[0]
	first.Group, first.Protect = order.Group{}, order.Protection{}
	r, err := b.Submit(ctx, first)
	return []order.Report{r, r, r}[:len(orders)], err
}

func (b hasty) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	r, err := b.Memory.SubmitGroup(ctx, orders)
	if errors.Is(err, broker.ErrUnknown) {
		return b.Memory.SubmitGroup(ctx, orders)
	}
	return r, err
}

func (b halting) Swap(ctx context.Context, ended []order.Handle, groups [][]order.Spec) (broker.Swapped, error) {
	for _, h := range ended {
		if _, err := b.Cancel(ctx, h); err != nil {
			return broker.Swapped{}, err
		}
	}
	return Swapping(b).Swap(ctx, nil, groups)
}

func TestRun_FindsBrokenPromises(t *testing.T) {
	for name, around := range map[string]func(*Memory) broker.Broker{
		"forgetful": func(m *Memory) broker.Broker { return forgetful{m} },
		"eager":     func(m *Memory) broker.Broker { return eager{m} },
		"lenient":   func(m *Memory) broker.Broker { return lenient{m} },
		"sloppy":    func(m *Memory) broker.Broker { return sloppy{m} },
		"silent":    func(m *Memory) broker.Broker { return silent{m} },
		"leaky":     func(m *Memory) broker.Broker { return leaky{m} },
		"vague":     func(m *Memory) broker.Broker { return vague{m} },
		"careless":  func(m *Memory) broker.Broker { return careless{m} },
		"partial":   func(m *Memory) broker.Broker { return partial{m} },
		"hasty":     func(m *Memory) broker.Broker { return hasty{m} },
		"halting":   func(m *Memory) broker.Broker { return halting{m} },
	} {
		t.Run(name, func(t *testing.T) {
			h, found := harness(around), 0
			try := func(check func(context.Context, *Venue) error) {
				synctest.Test(t, func(t *testing.T) {
					v := h.Open(t)
					if err := check(t.Context(), v); err != nil || name == "leaky" && running(v.Broker) != "" {
						found++
					}
					time.Sleep(2 * time.Hour) // what was left behind comes to its end
				})
			}
			for _, c := range checks() {
				try(c.check)
			}
			for _, c := range failing() {
				for i := range 5 {
					try(func(ctx context.Context, v *Venue) error { return c.check(ctx, v, v.Failures[i]) })
				}
			}
			if found == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

func TestEnough(t *testing.T) {
	all := harness(func(m *Memory) broker.Broker { return m }).Open(t).Failures
	if err := enough(all, false); err != nil {
		t.Error(err)
	}
	if err := enough(all[:2], true); err != nil {
		t.Error(err)
	}
	for i := range all {
		if enough(append(append([]Failure{}, all[:i]...), all[i+1:]...), false) == nil && i != 3 {
			t.Errorf("without %q nothing is missing", all[i].Name)
		}
	}
}
