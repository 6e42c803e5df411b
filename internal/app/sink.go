package app

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// receivers returns the configured receivers of alerts.
func receivers(cfg *config.Config, all []sink.Descriptor) ([]sink.Target, error) {
	mode := order.Paper
	if cfg.Trading.Live {
		mode = order.Live
	}
	return sink.Open(all, sink.Env{Values: cfg.Values, AllowPrivate: cfg.Sinks.AllowPrivate, Now: time.Now, Home: cfg.Home, Environ: cfg.Environ(), Mode: string(mode)})
}

// sinks returns a part for each receiver.
func (t *trading) sinks(rt Runtime) []lifecycle.Part {
	parts := make([]lifecycle.Part, 0, len(t.receivers))
	for _, to := range t.receivers {
		s := sink.New(to, sink.Config{
			Owner: accountOwner, Notifications: t.inbox, Kinds: notify.KindsOf(rt.Config.Sinks.Events), Store: t.cursors, Log: rt.Log, Now: time.Now, Rand: rand.Float64,
			Post: func(n sink.Notice) error { return t.notices.Post(n) },
		})
		t.senders = append(t.senders, s)
		parts = append(parts, lifecycle.Part{Name: to.Name, Run: t.exclusive("sink/"+to.Name+"/"+accountOwner, s.Run)})
	}
	t.notices = sink.NewOutbox(t.receivers, sink.OutboxConfig{Log: rt.Log, Now: time.Now, Rand: rand.Float64})
	if len(t.receivers) > 0 {
		parts = append(parts, lifecycle.Part{Name: "notices", Run: t.notices.Run})
	}
	if t.asker != nil {
		parts = append(parts, lifecycle.Part{Name: "approvals", Run: t.asker.Run})
	}
	return append(parts, t.listeners(rt)...)
}

// postCheckpoint sends a checkpoint to the receivers.
func (t *trading) postCheckpoint(s chain.Signed) {
	if n, err := receipt.Notice(s, time.Now()); err == nil {
		_ = t.notices.Post(n) // a checkpoint in the log is always a valid notice
	}
}

// listeners returns a part for each receiver that reports presses of buttons, if something
// decides about them. A bot has one listener, also with several replicas: the one that trades
// asks, and knows the buttons.
func (t *trading) listeners(rt Runtime) []lifecycle.Part {
	if t.decider == nil {
		return nil
	}
	var parts []lifecycle.Part
	for _, to := range t.receivers {
		l, ok := to.Receiver.(sink.Listener)
		if !ok {
			continue
		}
		run := func(ctx, hard context.Context, ready func()) error {
			ready()
			return l.Listen(ctx, hard, sink.Presses{Decider: t.decider, Log: rt.Log, Rand: rand.Float64})
		}
		parts = append(parts, lifecycle.Part{Name: to.Name + "-buttons", Run: t.exclusive(deskproxy.TradingShard, run)})
	}
	return parts
}

// SinkAnswer is a receiver's answer to a test.
type SinkAnswer struct {
	Name, Host string
	Sent       bool
	Text       string // how the receiver put it, such as "200 OK", or why delivery failed
}

// TestSinks sends a message marked as a test to each configured receiver.
func TestSinks(ctx context.Context, cfg *config.Config) ([]SinkAnswer, error) {
	all, err := receivers(cfg, Sinks())
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fault.Missing(sinkFlags(Sinks()), "where alerts are sent; there is nothing to test")
	}
	answers := make([]SinkAnswer, 0, len(all))
	for _, to := range all {
		a := to.Send(ctx, sink.Message{Now: time.Now()})
		to.Close()
		answers = append(answers, SinkAnswer{to.Name, to.Host(), a.Outcome == sink.Delivered, a.Text})
	}
	return answers, nil
}

// sinkFlags lists the flags that turn sinks on, as a sentence does.
func sinkFlags(all []sink.Descriptor) string {
	flags := make([]string, 0, len(all))
	for _, d := range all {
		flags = append(flags, "--"+d.EnabledBy)
	}
	last := len(flags) - 1
	return strings.Join(flags[:last], ", ") + " or " + flags[last]
}
