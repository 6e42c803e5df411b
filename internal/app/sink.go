package app

import (
	"context"
	"math/rand/v2"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/fault"
)

// receivers returns the configured webhook and ntfy receivers.
func receivers(cfg *config.Config) ([]*sink.Receiver, error) {
	var all []*sink.Receiver
	s := cfg.Sinks
	if !s.Webhook.URL.IsZero() {
		r, err := sink.NewWebhook(s.Webhook.URL.Reveal(), s.Webhook.Secret, s.AllowPrivate)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if !s.Ntfy.URL.IsZero() {
		r, err := sink.NewNtfy(s.Ntfy.URL.Reveal(), s.Ntfy.Token, s.AllowPrivate)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// sinks returns a part for each receiver.
func (t *trading) sinks(rt Runtime) []Part {
	parts := make([]Part, 0, len(t.receivers))
	for _, to := range t.receivers {
		s := sink.New(to, sink.Config{
			Owner: accountOwner, Notifications: t.inbox, Store: t.cursors, Log: rt.Log, Now: time.Now, Rand: rand.Float64,
		})
		t.senders = append(t.senders, s)
		parts = append(parts, Part{Name: to.Name(), Run: t.exclusive("sink/"+to.Name()+"/"+accountOwner, s.Run)})
	}
	return parts
}

// SinkAnswer is a receiver's answer to a test.
type SinkAnswer struct {
	Name, Host string
	Status     string // of HTTP, such as "200 OK"
	Err        error  // why delivery failed
}

// TestSinks sends a message marked as a test to each configured receiver.
func TestSinks(ctx context.Context, cfg *config.Config) ([]SinkAnswer, error) {
	all, err := receivers(cfg)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fault.Missing("--webhook-url or --ntfy-url", "where alerts are sent; there is nothing to test")
	}
	answers := make([]SinkAnswer, 0, len(all))
	for _, to := range all {
		status, err := to.Test(ctx, time.Now())
		to.Close()
		answers = append(answers, SinkAnswer{to.Name(), to.Host(), status, err})
	}
	return answers, nil
}
