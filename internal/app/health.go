package app

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"candela/internal/serve/console"
	"candela/internal/serve/httpd"
	"candela/internal/trading/desk"
)

// health describes the parts of the program for the console.
type health struct {
	server  atomic.Pointer[httpd.Server]
	trading *trading // nil without --trade
}

// parts returns every part with how it is.
func (h *health) parts() []console.Part {
	var all []console.Part
	if s := h.server.Load(); s != nil {
		now := s.Stats()
		all = append(all, console.Part{Name: "server", Text: fmt.Sprintf("%d connections, %d streams", now.Connections, now.Streams)})
	}
	if h.trading == nil {
		return all
	}
	t := h.trading
	if t.stats != nil {
		all = append(all, storePart(t))
	}
	now := t.engine.Status()
	engine := console.Part{Name: "engine", Text: fmt.Sprintf("%d alerts, %d series, %d loading", now.Alerts, now.Series, now.Loading), Bad: !now.Running || now.Failure != ""}
	if now.ScriptBars > 0 || now.ScriptsLate > 0 {
		engine.Text += fmt.Sprintf(", %d bars wait for scripts, scripts late %d times", now.ScriptBars, now.ScriptsLate)
	}
	if now.Failure != "" {
		engine.Text = "firings cannot be stored; see the log"
	}
	all = append(all, engine)
	if feeds := feedsPart(t); feeds.Text != "" {
		all = append(all, feeds)
	}
	if d := t.running(); d != nil {
		all = append(all, brokerPart(d.Status()))
	}
	return all
}

func storePart(t *trading) console.Part {
	now, open := t.stats()
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

func feedsPart(t *trading) console.Part {
	now := t.engine.Status()
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

// day returns samples of the P&L of the day, nil while another replica trades.
func (t *trading) day() []desk.Sample {
	if d := t.running(); d != nil {
		return d.Day()
	}
	return nil
}
