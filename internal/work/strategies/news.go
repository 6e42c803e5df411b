package strategies

import (
	"fmt"
	"strings"

	"candela/internal/trading/deploy"
	"candela/lib/fault"
)

// mostNews bounds what a message says of a pause.
const mostNews = 500

// News says in a message to the owner where a strategy stands now. With detail it says of a pause what happened, which
// may name orders.
func News(d *deploy.Deployment, detail bool) (title, text string) {
	where := fmt.Sprintf("%q on %s %s", fault.Clean(d.Name, MostName), d.Terms.Symbol, d.Terms.Interval)
	if d.Stage != "" {
		where += ", " + string(d.Stage)
	}
	switch d.State {
	case deploy.Proposed:
		return "Strategy proposed", where + ". Nothing runs until you start it: candela strategies show " + d.ID
	case deploy.Paused:
		text = fmt.Sprintf("%s. Cause: %s. ", where, strings.ReplaceAll(string(d.Cause), "_", " "))
		if detail && d.Detail != "" {
			text += fault.Clean(d.Detail, mostNews) + ". "
		}
		return "Strategy paused", text + "Its stops stay. Only you resume it: candela strategies resume " + d.ID
	default:
		text = where + "."
		if d.Detail != "" {
			text += " What it held could not be closed: candela strategies show " + d.ID
		}
		return "Strategy " + string(d.State), text
	}
}

// Event is what the audit log says of a strategy.
type Event struct {
	Name   string  `json:"name"`
	By     string  `json:"by,omitempty"` // none for the strategy itself
	State  string  `json:"state"`
	Stage  string  `json:"stage,omitempty"`
	Terms  string  `json:"terms_sha256"`
	Limits *Limits `json:"limits,omitempty"` // of a start or a resume
	Cause  string  `json:"cause,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// EventOf returns what the audit log says of a change.
func EventOf(d *deploy.Deployment, by deploy.Change) Event {
	e := Event{Name: d.Name, By: by.By, State: string(d.State), Stage: string(d.Stage), Terms: d.TermsHash, Cause: string(d.Cause), Detail: d.Detail}
	if d.State == deploy.Running {
		e.Limits = &d.Limits
	}
	return e
}
