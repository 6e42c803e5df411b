package source

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/serve/console"
	"candela/internal/serve/httpd"
	"candela/internal/store"
	"candela/internal/trading/desk"
)

// Health describes the parts of the program for the console.
type Health struct {
	Server  atomic.Pointer[httpd.Server] // nil while it is not built
	Trading *Trading                     // nil without --trade
}

// Trading says how the trading side is.
type Trading struct {
	Store  func() (store.Stats, bool) // false while it is not open; nil for replicas
	Engine func() engine.Status
	Desk   func() (desk.Status, bool) // false while another replica trades
}

// Parts returns every part with how it is.
func (h *Health) Parts() []console.Part {
	var all []console.Part
	if s := h.Server.Load(); s != nil {
		now := s.Stats()
		all = append(all, console.Part{Name: "server", Text: fmt.Sprintf("%d connections, %d streams", now.Connections, now.Streams)})
	}
	if h.Trading == nil {
		return all
	}
	t := h.Trading
	if t.Store != nil {
		all = append(all, storePart(t))
	}
	now := t.Engine()
	alerts := console.Part{Name: "engine", Text: fmt.Sprintf("%d alerts, %d series, %d loading", now.Alerts, now.Series, now.Loading), Bad: !now.Running || now.Failure != ""}
	if now.ScriptBars > 0 || now.ScriptsLate > 0 {
		alerts.Text += fmt.Sprintf(", %d bars wait for scripts, scripts late %d times", now.ScriptBars, now.ScriptsLate)
	}
	if now.Failure != "" {
		alerts.Text = "firings cannot be stored; see the log"
	}
	all = append(all, alerts)
	if feeds := feedsPart(t); feeds.Text != "" {
		all = append(all, feeds)
	}
	if now, here := t.Desk(); here {
		all = append(all, brokerPart(now))
	}
	return all
}

func storePart(t *Trading) console.Part {
	now, open := t.Store()
	p := console.Part{Name: "store", Bad: !open || now.Failing != ""}
	switch n := now.Commits.Count(); {
	case !open:
		p.Text = "not open"
	case now.Failing != "":
		p.Text = "writing fails: " + now.Failing
	case n == 0:
		p.Text = fmt.Sprintf("%.1f MB", float64(now.Bytes)/1e6)
	default:
		p.Text = fmt.Sprintf("commit %.1f ms, %.1f MB", float64(now.Commits.Sum.Microseconds())/1000/float64(n), float64(now.Bytes)/1e6)
	}
	return p
}

func feedsPart(t *Trading) console.Part {
	now := t.Engine()
	p := console.Part{Name: "feeds", Bad: len(now.LaggingVenues) > 0}
	var texts []string
	for _, f := range now.Feeds {
		switch {
		case f.Subscriptions == 0:
		case f.LastEvent.IsZero():
			texts = append(texts, f.Venue)
		default:
			texts = append(texts, fmt.Sprintf("%s %.1f s", f.Venue, time.Since(f.LastEvent).Seconds()))
		}
	}
	p.Text = strings.Join(texts, ", ")
	if p.Bad {
		p.Text = "no prices from " + strings.Join(now.LaggingVenues, ", ")
	}
	return p
}

func brokerPart(now desk.Status) console.Part {
	p := console.Part{Name: "broker", Text: now.Broker + ": reports flow, compared with the venue", Bad: !now.Connected || !now.Reconciled}
	switch {
	case !now.Reconciled:
		p.Text = now.Broker + ": not compared with the venue since the start"
	case !now.Connected:
		p.Text = now.Broker + ": no reports arrive"
	}
	return p
}
