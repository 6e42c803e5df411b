package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/upstream"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/operate/control"
	"candela/internal/trading/broker"
	"candela/lib/fault"
)

// Options says what Run examines and how it reports.
type Options struct {
	Load    func() (*config.Config, error) // for inspection
	Venues  []provider.Descriptor
	Brokers []broker.Descriptor
	Sinks   []sink.Descriptor
	// Policy reads the order policy and reports whether there is a file.
	Policy func(*config.Config) (found bool, problems []error)
	// Alerts counts the alerts of the store, and those that are broken or set aside, while no server runs.
	Alerts func(context.Context, *config.Config) (control.Status, error)
	// ConnectNATS connects to the servers that replicas share, and disconnects.
	ConnectNATS func(context.Context, *config.Config) error

	// Provider returns the identity provider of many owners.
	Provider func(*config.Config) (*upstream.Provider, error)

	// Documents returns what reads client documents for a server; nil for the server's own.
	Documents func(*config.Config) oauth.Documents

	// FirstByte bounds the wait for the first event, Heartbeat the wait for the next,
	// which a server sends every 15 seconds. Zero means 5 and 40 seconds.
	FirstByte, Heartbeat time.Duration

	Report  func(Finding)
	Waiting func(what string) // called before a slow check; may be nil
}

type examination struct {
	Options
	cfg     *config.Config
	running bool // a server answers on the control socket of the state directory
}

// Run checks everything that a configuration needs and reports each finding as it is
// made. It changes nothing and revokes the token that it obtains from a running server.
func Run(ctx context.Context, o Options) {
	o.FirstByte, o.Heartbeat = cmp.Or(o.FirstByte, 5*time.Second), cmp.Or(o.Heartbeat, 40*time.Second)
	x := &examination{Options: o}
	var err error
	if x.cfg, err = o.Load(); err != nil {
		x.badConfiguration(err)
		return
	}
	if x.cfg.Mode() == config.ModeChart {
		x.Report(NewOK("configuration", "neither --serve nor --mcp is set, so no server is checked: pass the flags of the server"))
	} else {
		x.Report(NewOK("configuration", "mode %s", x.cfg.Mode()))
	}
	x.running = control.Answers(ctx, x.cfg.Home)
	x.home()
	x.Report(x.store(ctx))
	x.policy()
	x.held(ctx)
	if x.cfg.Serve {
		x.server(ctx)
		x.nats(ctx)
	}
	x.clock(ctx)
	x.venues(ctx)
	x.account(ctx)
	x.sinks(ctx)
}

// badConfiguration reports every problem of a configuration. Nothing else can be
// checked then.
func (x *examination) badConfiguration(err error) {
	problems := []error{err}
	if all, ok := errors.AsType[*config.Error](err); ok {
		problems = all.Problems
	}
	for _, p := range problems {
		fix := "correct the flag, variable or line of " + config.FileName + " that is named; docs/configuration.md lists them"
		if f := fault.Of(p); f != nil && (f.Field == "owner-password-file" || strings.Contains(f.Message, "passphrase")) {
			fix = "create the passphrase file: candela auth hash-password > FILE, chmod 600 FILE, --owner-password-file FILE"
		}
		x.Report(newProblem("configuration", fix, "%s", p))
	}
	x.Report(newWarning("everything else", "correct the configuration and run candela doctor again", "not checked: it depends on the configuration"))
}

func (x *examination) policy() {
	const check = "policy"
	path := x.cfg.Trading.Policy
	found, problems := x.Policy(x.cfg)
	for _, p := range problems {
		x.Report(newProblem(check, "correct the line that is named; candela policy check explains every rule", "%s", p))
	}
	switch {
	case len(problems) > 0:
	case !found:
		x.Report(NewOK(check, "%s does not exist: the defaults are in force", path))
	default:
		x.Report(NewOK(check, "%s is valid", path))
	}
}

// held reports the stops that only the running server watches, and the alerts that it does not.
func (x *examination) held(ctx context.Context) {
	if !x.running {
		x.storedAlerts(ctx)
		return
	}
	s, reached, err := control.ReadStatus(ctx, x.cfg.Home)
	if !reached || err != nil {
		return // the other checks say why
	}
	for _, a := range s.Accounts {
		if a.Held > 0 {
			x.Report(heldStops(a))
		}
	}
	if s.NotEvaluated > 0 {
		x.Report(notEvaluated(s.NotEvaluated, s.Alerts))
	}
	x.idle(s)
}

// storedAlerts reports the alerts of the store that a server would not evaluate.
func (x *examination) storedAlerts(ctx context.Context) {
	if x.Alerts == nil || x.cfg.Shared() {
		return // replicas share their alerts at the NATS servers
	}
	s, err := x.Alerts(ctx, x.cfg)
	if err != nil {
		x.Report(newWarning("alerts", "start candela once with --trade, which brings the store to this version", "they cannot be read: %s", err))
		return
	}
	x.idle(s)
}

// idle reports the alerts that nothing evaluates because of themselves.
func (x *examination) idle(s control.Status) {
	if s.Broken > 0 {
		x.Report(brokenAlerts(s.Broken, s.Alerts))
	}
	if s.Starved > 0 {
		x.Report(starvedAlerts(s.Starved, s.Alerts))
	}
	if s.SetAside > 0 {
		x.Report(setAsideAlerts(s.SetAside, s.Alerts))
	}
}

// brokenAlerts is the finding of alerts that this version cannot evaluate.
func brokenAlerts(n, all int) Finding {
	return newWarning("alerts", "candela alerts list says why: restore the script under scripts/pinned, start the version of candela that set them, or cancel them with candela alerts cancel ID",
		"%d of %d cannot be evaluated by this version", n, all)
}

// notEvaluated is the finding of alerts on venues that are not set up.
func notEvaluated(n, all int) Finding {
	return newWarning("alerts", "start candela with the venue, such as --csv-dir or --replay-from, or cancel them; list_alerts and the console say which they are",
		"nothing evaluates %d of %d: their venue is not set up in this run", n, all)
}

// setAsideAlerts is the finding of alerts that were evaluated when the program ended.
func setAsideAlerts(n, all int) Finding {
	return newWarning("alerts", "look at their script, then run candela alerts resume ID or candela alerts cancel ID; candela alerts list shows them",
		"%d of %d are set aside: candela ended while it evaluated them", n, all)
}

// starvedAlerts is the finding of alerts whose scripts find no memory.
func starvedAlerts(n, all int) Finding {
	return newWarning("alerts", "cancel alerts on scripts, or let scripts hold less; list_alerts and candela alerts list say which wait, and for which limit",
		"%d of %d wait for memory: the scripts of their owner, or of all, hold as much as they may", n, all)
}

// heldStops is the finding of an account with stops that candela holds.
func heldStops(a control.AccountStatus) Finding {
	what := "candela holds 1 stop; it protects only while candela runs"
	if a.Held > 1 {
		what = fmt.Sprintf("candela holds %d stops; they protect only while candela runs", a.Held)
	}
	return newWarning("stops", `keep candela running; with held_stops = "refuse" in the policy only stops at the venue are placed`, "%s: %s", a.Account, what)
}

// nats connects to the servers that replicas share.
func (x *examination) nats(ctx context.Context) {
	const check = "NATS"
	address := x.cfg.NATS.URL
	if address == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := x.ConnectNATS(ctx, x.cfg)
	if err == nil {
		x.Report(NewOK(check, "%s answers and is suitable", address))
		return
	}
	fix := "start the servers, let this machine reach them, or correct --nats-url and the credential files"
	if f := fault.Of(err); f != nil {
		switch f.Code {
		case "nats_too_old":
			fix = "update every NATS server of the cluster to 2.12 or later, one after the other"
		case "nats_single":
			fix = "connect to a cluster of three servers, or add --nats-allow-single where losing shared data is acceptable"
		}
	}
	x.Report(newProblem(check, fix, "%s", err))
}

// wait announces a slow check.
func (x *examination) wait(what string) {
	if x.Waiting != nil {
		x.Waiting(what)
	}
}
