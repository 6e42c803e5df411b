package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"candela/internal/cluster"
	"candela/internal/config"
	"candela/internal/fault"
	"candela/internal/ledger"
	"candela/internal/notify"
	"candela/internal/statedir"
)

const (
	migrateStep   = 500 // things in one write
	migrateAtOnce = 64  // writes of one thing under way
)

// Migration says what to copy where.
type Migration struct {
	To      string // nats or local
	Replace bool   // end alerts of the destination that the source does not have
	// Progress is told how many of a kind of thing are copied; nil for nobody.
	Progress func(what string, done, total int)
	Log      io.Writer
}

// Migrated is a kind of thing with what a migration found and did.
type Migrated struct {
	What   string
	Found  int // at the source
	Copied int // the others were there
	Ended  int // at the destination, because the source does not have them
}

// Migrate copies what the state directory keeps to the NATS servers, or back. Nothing
// may run on either side. The source stays as it is. What was copied before is not
// copied again, so that a migration that was interrupted is run again.
func Migrate(ctx context.Context, cfg *config.Config, how Migration) ([]Migrated, error) {
	if how.To != "nats" && how.To != "local" {
		return nil, fault.Field("--to", how.To, "nats, local")
	}
	if cfg.NATS.URL == "" {
		return nil, fault.Missing("--nats-url", "the NATS servers to copy to or from")
	}
	release, err := quietHome(cfg.Home, how.To)
	if err != nil {
		return nil, err
	}
	defer release()
	rt := Runtime{Config: cfg, Log: commandLogger(cfg.Log, how.Log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := quietReplicas(ctx, conn); err != nil {
		return nil, err
	}
	local, shared, err := openBoth(ctx, cfg.Home, conn)
	if err != nil {
		return nil, err
	}
	m := &migration{Migration: how, from: local, to: shared, conn: conn, file: filepath.Join(cfg.Home, statedir.SubscriptionsName), log: rt.Log}
	if how.To == "local" {
		m.from, m.to = shared, local
	}
	err = m.run(ctx)
	return m.done, errors.Join(err, local.Close())
}

// quietHome makes sure that nothing runs in the state directory, and keeps it so.
func quietHome(home, to string) (release func(), err error) {
	if to == "local" {
		if err := statedir.Open(home); err != nil {
			return nil, err
		}
	}
	return statedir.LockAll(home, "a migration")
}

func quietReplicas(ctx context.Context, conn *cluster.Conn) error {
	names, err := conn.Replicas(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "replicas_run", Field: "nats-url",
		Message: fmt.Sprintf("replicas run on these NATS servers, or were killed less than half a minute ago: %s. Stop them before a migration", strings.Join(names, ", ")),
	}
}

// side is one end of a migration.
type side interface {
	alertSide
	orderStore
	OrderOwners(ctx context.Context) ([]string, error)
	States(ctx context.Context) (map[string]map[string][]byte, error)
	Journals(ctx context.Context) (map[string][]string, error)

	Close() error
}

// migration is one run.
type migration struct {
	Migration
	from, to side
	done     []Migrated
	numbers  numbers // of the notifications here and there

	conn *cluster.Conn
	file string // of subscriptions
	log  *slog.Logger
}

// run copies everything. Alerts come last: whoever starts on what an interrupted run
// has left finds none that could fire.
func (m *migration) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		m.copyEntries, m.copyCursors, m.copySubscriptions, m.copyMarks, m.copyOrders, m.copyJournals, m.copyStates, m.copyAlerts,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin begins to count a kind of thing.
func (m *migration) begin(what string, found int) *Migrated {
	m.done = append(m.done, Migrated{What: what, Found: found})
	return &m.done[len(m.done)-1]
}

func (m *migration) tell(d *Migrated, done int) {
	if m.Progress != nil {
		m.Progress(d.What, done, d.Found)
	}
}

// openBoth opens what is kept at either end.
func openBoth(ctx context.Context, home string, conn *cluster.Conn) (local, shared side, err error) {
	l, err := ledger.Open(ctx, home, time.Now)
	if err != nil {
		return nil, nil, err
	}
	alerts, err := conn.OpenStore(ctx, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	orders, err := conn.OpenOrders(ctx, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, sharedSide{alertSide: alerts, Orders: orders}, nil
}

// alertSide is what keeps alerts at one end.
type alertSide interface {
	alertStore
	AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error)
}

// sharedSide is the end at the NATS servers.
type sharedSide struct {
	alertSide
	*cluster.Orders
}

// Close does nothing: the connection belongs to who opened it.
func (sharedSide) Close() error { return nil }
