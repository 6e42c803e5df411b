package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"candela/internal/access/upstream"
	"candela/internal/alerting/alert"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/internal/operate/control"
	"candela/internal/operate/demo"
	"candela/internal/operate/doctor"
	"candela/internal/operate/status"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/policy"
	"candela/lib/fault"
)

// RunDoctor examines the installation that flags, variables and file describe.
func RunDoctor(ctx context.Context, in config.Input, deps Deps, o doctor.Options) {
	in.Inspect, in.Parts = true, partsOf(deps.Venues, deps.Brokers, deps.Sinks) // flags of every mode are accepted
	o.Load = func() (*config.Config, error) { return config.Load(in) }
	o.Venues, o.Brokers, o.Sinks = deps.Venues, deps.Brokers, deps.Sinks
	o.Policy, o.Alerts = checkPolicy, countStored
	o.ConnectNATS = func(ctx context.Context, cfg *config.Config) error {
		conn, err := conn.Connect(ctx, conn.ConfigOf(cfg), slog.New(slog.DiscardHandler))
		if err == nil {
			conn.Close()
		}
		return err
	}
	o.Provider = func(cfg *config.Config) (*upstream.Provider, error) {
		return newProvider(cfg, slog.New(slog.DiscardHandler))
	}
	if o.Documents == nil {
		o.Documents = newDocuments
	}
	doctor.Run(ctx, o)
}

// countStored counts the alerts of a store that no program uses. It changes nothing.
func countStored(ctx context.Context, cfg *config.Config) (s control.Status, err error) {
	stored, err := ledger.OpenAudit(ctx, cfg.Home)
	if fault.KindOf(err) == fault.NotFound {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	err = status.CountAlerts(stored.Alerts(ctx), storedIndex(cfg.Home), &s)
	return s, errors.Join(err, stored.Close())
}

// checkPolicy reads the order policy, under --trade with the locks before trading with
// real money.
func checkPolicy(cfg *config.Config) (found bool, problems []error) {
	_, found, err := policy.Read(cfg.Trading.Policy, alert.ReadClaim)
	if err == nil && cfg.Trade {
		_, err = policySource(cfg).Read()
	}
	if bad, ok := errors.AsType[*policy.Error](err); ok {
		return found, bad.Problems()
	}
	return found, nil
}

// Demo runs candela as a local client would start it, with paper trading and live sample
// prices, and takes the tour of its tools over MCP. It needs no network and keeps its
// state in a folder that it removes.
func Demo(ctx context.Context, deps Deps, tour demo.Tour) (err error) {
	room, err := os.MkdirTemp("", "candela-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	home := filepath.Join(room, "state")
	// No variable and no file of the user's decides anything here.
	cfg, err := LoadConfig(config.Input{Args: []string{"--mcp", "--trade", "--toolsets", "account,scripts,research", "--home", home, "--shutdown-timeout", "30s"}})
	if err != nil {
		return err
	}
	// The only source is sample bars that move with the clock.
	deps.Venues, deps.Halts = []provider.Descriptor{sample.Descriptor(sample.Config{Seed: 7, Now: time.Now})}, nil
	tour.Console = func(ctx context.Context) (string, error) { return reachConsole(ctx, home) }
	return tour.Run(ctx, func(ctx context.Context, in io.Reader, out, log io.Writer) error {
		deps.Stdin, deps.Stdout, deps.Stderr = in, out, log
		return Run(ctx, cfg, deps)
	})
}

// reachConsole opens the console of the program in a state directory and asks it for its first page.
func reachConsole(ctx context.Context, home string) (string, error) {
	c, err := control.OpenConsole(ctx, home)
	if err != nil {
		return "", errors.New("nothing answers on its local socket")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	page, err := client.Do(ask)
	if err != nil {
		return "", err
	}
	if err := page.Body.Close(); err != nil || page.StatusCode != http.StatusOK {
		return "", errors.Join(err, fmt.Errorf("%s answers %s", c.URL, page.Status))
	}
	return c.URL, nil
}
