package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/control"
	"candela/internal/operate/doctor"
)

// Visit is how the doctor works and tells.
type Visit struct {
	// FirstByte is how long the first event may take, Heartbeat how long the next,
	// which a server sends every fifteen seconds. Zero: five seconds, and forty.
	FirstByte, Heartbeat time.Duration

	Say     func(doctor.Finding)
	Waiting func(what string) // told before what takes long; may be nil
}

// examination is one visit of the doctor.
type examination struct {
	Runtime
	Visit
	say     func(doctor.Finding)
	running bool // a server answers on the control socket of the state directory
}

// Examine looks at everything that a configuration needs and tells each finding as
// it comes. It changes nothing, and what it makes at a server that runs, a token,
// it takes back.
func Examine(ctx context.Context, in config.Input, deps Deps, v Visit) {
	v.FirstByte, v.Heartbeat = cmp.Or(v.FirstByte, 5*time.Second), cmp.Or(v.Heartbeat, 40*time.Second)
	x := &examination{Visit: v, say: v.Say}
	x.Deps, x.Log = deps, slog.New(slog.DiscardHandler)
	in.Inspect = true // the flags of every mode are welcome
	cfg, err := config.Load(in)
	if err != nil {
		x.badConfiguration(err)
		return
	}
	x.Config = cfg
	if cfg.Mode() == config.ModeChart {
		x.say(doctor.Fine("configuration", "neither --serve nor --mcp is set, so no server is looked at: give the flags that it has"))
	} else {
		x.say(doctor.Fine("configuration", "mode %s", cfg.Mode()))
	}
	x.running = control.Answers(ctx, cfg.Home)
	x.home()
	x.store(ctx)
	x.policyFile()
	if cfg.Serve {
		x.server(ctx)
	}
	x.nats(ctx)
	x.clock(ctx)
	x.venues(ctx)
	x.account(ctx)
}

// badConfiguration tells every problem of a configuration. Nothing else can be
// looked at then.
func (x *examination) badConfiguration(err error) {
	problems := []error{err}
	if all, ok := errors.AsType[*config.Error](err); ok {
		problems = all.Problems
	}
	for _, p := range problems {
		fix := "correct the flag, variable or line of " + config.FileName + " that is named; docs/configuration.md lists them"
		if f := fault.Of(p); f != nil && (f.Field == "owner-password-file" || strings.Contains(f.Message, "passphrase")) {
			fix = "make the passphrase's file: candela auth hash-password > FILE, chmod 600 FILE, --owner-password-file FILE"
		}
		x.say(doctor.Wrong("configuration", fix, "%s", p))
	}
	x.say(doctor.Doubtful("everything else", "correct the configuration and run candela doctor again", "not checked: it depends on the configuration"))
}

// server looks at what --serve needs, and at the server from outside if it runs.
func (x *examination) server(ctx context.Context) {
	cfg := x.Config
	x.passphrase()
	if err := enoughFiles(cfg.HTTP.MaxConnections); err != nil {
		x.say(doctor.Wrong("file limit", "LimitNOFILE=65536 in the systemd unit, ulimit -n 65536 in a shell, or a smaller --max-connections", "%s", err))
	} else {
		x.say(doctor.Fine("file limit", "enough for %d connections", cfg.HTTP.MaxConnections))
	}
	x.port(ctx, "port", cfg.HTTP.Address(), "--port")
	if admin := cfg.HTTP.AdminListen; admin.IsValid() {
		x.port(ctx, "admin port", admin, "--admin-listen")
	}
	if !x.running {
		for _, check := range []string{"base URL", "OAuth", "events"} {
			x.say(doctor.Doubtful(check, "start the server and run candela doctor again beside it, with the same settings", "not checked: no server runs in %s", cfg.Home))
		}
		return
	}
	x.fromOutside(ctx)
}

// fromOutside looks at a server that runs as its clients do.
func (x *examination) fromOutside(ctx context.Context) {
	s := doctor.NewServer(x.Config.HTTP.BaseURL, "http://"+dialable(x.Config.HTTP.Address()).String(), x.FirstByte, x.Heartbeat)
	defer s.Close()
	found, reached := s.Address(ctx, time.Now())
	x.say(found)
	if !reached {
		for _, check := range []string{"OAuth", "events"} {
			x.say(doctor.Doubtful(check, "correct the base URL first", "not checked: clients do not reach the server"))
		}
		return
	}
	pass, err := control.NewPass(ctx, x.Config.Home)
	if err != nil {
		x.say(doctor.Doubtful("OAuth", "restart the server: it is of another version than this program", "not checked: %s", err))
		x.say(doctor.Doubtful("events", "restart the server", "not checked: nobody is let in"))
		return
	}
	before := x.tokens(ctx)
	defer func() { x.revoke(ctx, before) }()
	found, token := s.RoundTrip(ctx, pass)
	x.say(found)
	if token == "" {
		x.say(doctor.Doubtful("events", "correct OAuth first", "not checked: nobody is let in"))
		return
	}
	x.wait("listening for a heartbeat, which comes every 15 s")
	x.say(s.Stream(ctx, token))
}

// wait says that something takes a while.
func (x *examination) wait(what string) {
	if x.Waiting != nil {
		x.Waiting(what)
	}
}

// tokens returns the ids of the tokens that there are.
func (x *examination) tokens(ctx context.Context) map[string]bool {
	all := make(map[string]bool)
	clients, _ := control.Clients(ctx, x.Config.Home) // without a list nothing is revoked that is not ours
	for _, c := range clients {
		all[c.ID] = true
	}
	return all
}

// revoke takes back what the visit was given.
func (x *examination) revoke(ctx context.Context, before map[string]bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	clients, _ := control.Clients(ctx, x.Config.Home) // a server that stopped has forgotten it
	for _, c := range clients {
		if c.Name == doctor.ClientName && !before[c.ID] {
			_ = control.Revoke(ctx, x.Config.Home, c.ID) // as above
		}
	}
}
