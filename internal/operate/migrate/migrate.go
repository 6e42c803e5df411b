// Package migrate copies the state between the state directory and the NATS servers that
// replicas share: alerts, notifications, subscriptions, orders and trading states. It copies
// while nothing runs on either side, does not change the source, and refuses to merge two
// histories.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market/provider"
	"candela/internal/store"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/trading/order"
)

const (
	inOneWrite = 500 // things
	atOnce     = 64  // writes of one thing under way
)

// Plan configures a migration.
type Plan struct {
	To      string           // nats or local
	Store   store.Descriptor // of the state directory
	Replace bool             // end alerts of the destination that the source does not have
	// Progress is called with the number of copied things of a kind; it may be nil.
	Progress func(what string, done, total int)
	Log      *slog.Logger

	inOneWrite, atOnce int // as the constants, but in tests
}

// Count counts the things of one kind in a migration.
type Count struct {
	What   string
	Found  int // at the source
	Copied int // the others were there
	Ended  int // at the destination, because the source does not have them
}

// Run copies the state to the NATS servers or back. Nothing may run on either side. An
// interrupted migration can be run again: it skips what was copied before.
func Run(ctx context.Context, cfg *config.Config, how Plan) ([]Count, error) {
	if how.To != "nats" && how.To != "local" {
		return nil, fault.Field("--to", how.To, "nats, local")
	}
	if cfg.NATS.URL == "" {
		return nil, fault.Missing("--nats-url", "the NATS servers to copy to or from")
	}
	how.inOneWrite, how.atOnce = cmp.Or(how.inOneWrite, inOneWrite), cmp.Or(how.atOnce, atOnce)
	release, err := quietHome(cfg.Home, how.To)
	if err != nil {
		return nil, err
	}
	defer release()
	conn, err := conn.ConnectWait(ctx, conn.ConfigOf(cfg), how.Log)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := quietReplicas(ctx, conn); err != nil {
		return nil, err
	}
	local, shared, err := openBoth(ctx, how.Store, cfg.Home, conn)
	if err != nil {
		return nil, err
	}
	m := &migration{Plan: how, from: local, to: shared, conn: conn, file: filepath.Join(cfg.Home, statedir.SubscriptionsName)}
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

func quietReplicas(ctx context.Context, conn *conn.Conn) error {
	names, err := member.Names(ctx, conn)
	if err != nil || len(names) == 0 {
		return err
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "replicas_run", Field: "nats-url",
		Message: fmt.Sprintf("replicas run on these NATS servers, or were killed less than half a minute ago: %s. Stop them before a migration", strings.Join(names, ", ")),
	}
}

type side interface {
	alertSide
	orderSide
	Close() error
}

// alertSide keeps alerts, notifications and the cursors of their readers.
type alertSide interface {
	Alerts(ctx context.Context) iter.Seq2[alert.Alert, error]
	PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error
	ExpireAlerts(ctx context.Context, gone []alert.Alert) error

	Entries(ctx context.Context, after uint64) iter.Seq2[notify.Entry, error]
	AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error)
	LastEntry(ctx context.Context) (uint64, error)

	Cursors(ctx context.Context) (map[string]map[string]uint64, error)
	SaveCursors(ctx context.Context, owner string, cursors map[string]uint64) error
	Marks(ctx context.Context) (map[provider.Sub]int64, error)
	SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error
}

// orderSide keeps orders, trading states and the journal of the paper account.
type orderSide interface {
	OrderOwners(ctx context.Context) ([]string, error)
	OrderEvents(ctx context.Context, owner string) iter.Seq2[order.Event, error]
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event) ([]order.Event, error)

	States(ctx context.Context) (map[string]map[string][]byte, error)
	State(ctx context.Context, owner, name string) ([]byte, error)
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte) error

	Journals(ctx context.Context) (map[string][]string, error)
	Journal(ctx context.Context, owner, name string) iter.Seq2[[]byte, error]
	AppendJournal(ctx context.Context, owner, name string, entries [][]byte) error
}

type migration struct {
	Plan
	from, to side
	done     []Count
	numbers  numbers // of the notifications here and there

	conn *conn.Conn
	file string // of subscriptions
}

// run copies everything. Alerts come last, so that none can fire after an interrupted run.
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

func (m *migration) begin(what string, found int) *Count {
	m.done = append(m.done, Count{What: what, Found: found})
	return &m.done[len(m.done)-1]
}

func (m *migration) report(d *Count, done int) {
	if m.Progress != nil {
		m.Progress(d.What, done, d.Found)
	}
}

func openBoth(ctx context.Context, kind store.Descriptor, home string, conn *conn.Conn) (local, shared side, err error) {
	l, err := kind.Open(ctx, home, time.Now)
	if err != nil {
		return nil, nil, err
	}
	alerts, err := alerts.Open(ctx, conn, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	orders, err := orders.Open(ctx, conn, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, sharedSide{alerts, orders}, nil
}

// sharedSide is the side at the NATS servers.
type sharedSide struct {
	alertSide
	orderSide
}

// Close does nothing: the caller owns the connection.
func (sharedSide) Close() error { return nil }
