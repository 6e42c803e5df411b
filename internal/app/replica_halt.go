package app

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/control"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// The owner's word where replicas trade: it goes to the replica of this state
// directory, else over the NATS servers to whichever trades, and into what they keep
// when none does.

// HaltReplicas stops trading, whichever replica trades.
func HaltReplicas(ctx context.Context, cfg *config.Config, reason string, log io.Writer) (control.TradingState, error) {
	s, reached, err := control.Halt(ctx, cfg.Home, reason)
	if reached || err != nil {
		return s, err
	}
	return word{control.ByHalt, reason, true}.send(ctx, cfg, log)
}

// ResumeReplicas takes back what HaltReplicas did, and what else the owner can end.
func ResumeReplicas(ctx context.Context, cfg *config.Config, log io.Writer) (control.TradingState, error) {
	if err := removeOwnHalt(cfg.Home); err != nil {
		return control.TradingState{}, err
	}
	s, reached, err := control.Resume(ctx, cfg.Home)
	if reached || err != nil {
		return s, err
	}
	if err := withoutHalt(cfg.Home); err != nil {
		return s, err
	}
	return word{control.ByResume, "", false}.send(ctx, cfg, log)
}

// word is what the owner says.
type word struct {
	who, reason string
	halt        bool
}

// visitor is what the replicas' logs call a command.
const visitor = "a command of the owner"

// send tells whoever trades, or changes what is stored where nobody does.
func (w word) send(ctx context.Context, cfg *config.Config, log io.Writer) (control.TradingState, error) {
	rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return control.TradingState{}, err
	}
	defer conn.Close()
	names, err := member.Names(ctx, conn)
	if err != nil {
		return control.TradingState{}, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == visitor })
	if len(names) == 0 {
		return w.store(ctx, conn)
	}
	return w.ask(ctx, conn, rt)
}

// ask tells the replica that trades. On which account that is the owner need not say.
func (w word) ask(ctx context.Context, conn *conn.Conn, rt Runtime) (control.TradingState, error) {
	members, err := member.Join(ctx, conn, member.Info{Name: visitor}, rt.Log)
	if err != nil {
		return control.TradingState{}, err
	}
	defer members.Close() //nolint:contextcheck // the end is told even when ctx has ended
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	var answered *guard.State
	var failed error
	var asking sync.WaitGroup
	for _, account := range accounts() {
		d := deskproxy.New(members, deskproxy.Config{Account: account, Log: rt.Log, Now: time.Now})
		asking.Go(func() {
			s, err := w.tell(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered = &s
				done() // replicas trade on one account; nobody answers for the others
			case !errors.Is(err, member.ErrNotShardOwner) && !errors.Is(err, context.Canceled):
				failed = errors.Join(failed, err)
				if !errors.Is(err, member.ErrOutcomeUnknown) {
					done() // whoever trades has refused
				}
			}
		})
	}
	asking.Wait()
	switch {
	case answered != nil:
		s := control.StateOf(*answered)
		s.Where = "in the replica that trades"
		return s, nil
	case failed != nil:
		return control.TradingState{}, failed
	}
	return control.TradingState{}, w.unheard()
}

// unheard says what the owner can do where nobody takes the word.
func (w word) unheard() error {
	text := "replicas run, and none of them was ready to trade within ten seconds: nothing was done. Try again"
	if w.halt {
		text += ", or write a file " + statedir.HaltName + " into the state directory of one of them"
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "nobody_trades", Retryable: true, Message: text}
}

func (w word) tell(ctx context.Context, d *deskproxy.Desk) (guard.State, error) {
	if w.halt {
		return d.Halt(ctx, w.who, w.reason)
	}
	return d.Resume(ctx, w.who)
}

// store changes the stored state of every account and returns the strictest of them.
func (w word) store(ctx context.Context, conn *conn.Conn) (control.TradingState, error) {
	orders, err := orders.Open(ctx, conn, time.Now)
	if err != nil {
		return control.TradingState{}, err
	}
	s, err := w.storeIn(ctx, orders)
	s.Where = "in the state that the NATS servers keep; no replica trades"
	return s, err
}

// storeIn is store where the orders are open.
func (w word) storeIn(ctx context.Context, in desk.Store) (control.TradingState, error) {
	var strictest guard.State
	var err error
	for _, account := range accounts() {
		s, failed := desk.SetStoredHalt(ctx, in, account, w.who, w.reason, w.halt, time.Now())
		err = errors.Join(err, failed)
		if s.Level() > strictest.Level() {
			strictest = s
		}
	}
	return control.StateOf(strictest), err
}
