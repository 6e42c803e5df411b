package source

import (
	"context"
	"slices"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/kit/principal"
	"candela/internal/serve/console"
	"candela/internal/trading/order"
)

// Receivers lists where messages to the owner go.
func Receivers(senders []*sink.Sink) []console.Receiver {
	all := make([]console.Receiver, 0, len(senders))
	for _, one := range senders {
		now := one.Status()
		all = append(all, console.Receiver{Name: now.Name, Delivered: now.Delivered, Problem: now.Problem, Took: one.Took, Test: func(ctx context.Context) (string, bool) {
			a := one.Test(ctx)
			return a.Text, a.Outcome == sink.Delivered
		}})
	}
	return all
}

// maxFirings bounds how many firings the console lists, and maxEvents among how many order events it looks.
const (
	maxFirings = 200
	maxEvents  = 1000
)

// Closed returns the positions of an owner whose closing is among the newest order events.
func Closed(inbox notify.Inbox, owner principal.Owner) (all []order.NoticeRecord) {
	tail := inbox.Tail(owner, notify.Orders)
	defer tail.Close()
	for seq := uint64(0); ; {
		entry, _, _ := tail.Next(seq, notify.PollTTL, maxEvents)
		if entry == nil {
			return all
		}
		seq = entry.Seq
		if r, ok := order.ParseNotice(entry.Data); ok && r.Event == order.NoticeClosed {
			all = append(all, r)
		}
	}
}

// Firings returns the newest firings of the alerts of an owner, newest first.
func Firings(inbox notify.Inbox, owner principal.Owner) []console.Firing {
	tail := inbox.Tail(owner, notify.Alerts)
	defer tail.Close()
	var all []console.Firing
	for seq := uint64(0); len(all) < maxFirings; {
		entry, _, _ := tail.Next(seq, notify.PollTTL, maxFirings)
		if entry == nil {
			break
		}
		seq = entry.Seq
		if fired, ok := alert.ParseFired(entry.Data); ok && fired.State == "" { // others wait and are idle
			all = append(all, console.Firing{Fired: fired, Seq: entry.Seq})
		}
	}
	slices.Reverse(all)
	return all
}
