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

	"candela/internal/access/owners"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/statedir"
	"candela/internal/trading/order"
	"candela/lib/fault"
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
	// Unreadable ones stay at the source alone: they are damaged.
	Unreadable int
}

// Run copies the state to the NATS servers or back. Nothing may run on either side. An
// interrupted migration can be run again: it skips what was copied before.
func Run(ctx context.Context, cfg *config.Config, how Plan) ([]Count, error) {
	if how.To != "nats" && how.To != "local" {
		return nil, fault.Field("--to", how.To, "nats, local")
	}
	if !cfg.Shared() {
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
	if conn.ManyOwners() {
		err = m.setOwners(ctx, local)
	}
	if err == nil {
		err = m.run(ctx)
	}
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

	Cursors(ctx context.Context) (map[principal.Owner]map[string]uint64, error)
	SaveCursors(ctx context.Context, owner principal.Owner, cursors map[string]uint64) error
	Marks(ctx context.Context) (map[provider.Sub]int64, error)
	SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error

	AllKept(ctx context.Context) (map[principal.Owner]map[string][]byte, error)
	Keep(ctx context.Context, owner principal.Owner, name string, change func([]byte) ([]byte, error)) error
}

// orderSide keeps orders, trading states and the journal of the paper account.
type orderSide interface {
	OrderOwners(ctx context.Context) ([]principal.Owner, error)
	OrderEvents(ctx context.Context, owner principal.Owner) iter.Seq2[order.Event, error]
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error)

	States(ctx context.Context) (map[principal.Owner]map[string][]byte, error)
	State(ctx context.Context, owner principal.Owner, name string) ([]byte, error)
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error

	Journals(ctx context.Context) (map[principal.Owner][]string, error)
	Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error]
	AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error
}

type migration struct {
	Plan
	from, to side
	done     []Count
	numbers  numbers // of the notifications here and there

	conn *conn.Conn
	file string // of subscriptions

	ownersFrom, ownersTo owners.Records // nil for one owner
}

// setOwners finds the records of owners at both sides.
func (m *migration) setOwners(ctx context.Context, local side) error {
	kept, ok := local.(owners.Records)
	if !ok {
		return nil
	}
	shared, err := ownerstore.Open(ctx, m.conn, time.Now)
	if err != nil {
		return err
	}
	m.ownersFrom, m.ownersTo = kept, shared
	if m.To == "local" {
		m.ownersFrom, m.ownersTo = shared, kept
	}
	return nil
}

// copyOwners copies the records of owners, first of all: who is suspended stays so.
func (m *migration) copyOwners(ctx context.Context) error {
	if m.ownersFrom == nil {
		return nil
	}
	found, err := collect(m.ownersFrom.Owners(ctx, ""))
	if err != nil {
		return err
	}
	d := m.begin("owners", len(found))
	for i, o := range found {
		linked, err := m.ownersFrom.Identities(ctx, o.ID)
		if err != nil {
			return err
		}
		added, err := m.ownersTo.ImportOwner(ctx, o, linked)
		if err != nil {
			return err
		}
		if added {
			d.Copied++
		}
		m.report(d, i+1)
	}
	return nil
}

// run copies everything. Alerts come last, so that none can fire after an interrupted run.
func (m *migration) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		m.copyOwners, m.copyEntries, m.copyCursors, m.copySubscriptions, m.copyMarks, m.copyOrders, m.copyJournals, m.copyStates, m.copyKept, m.copyAlerts,
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
	if err := checkOwners(ctx, l, conn); err != nil {
		return nil, nil, errors.Join(err, l.Close())
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

// checkOwners refuses to copy the state of many owners as that of one.
func checkOwners(ctx context.Context, l store.Store, conn *conn.Conn) error {
	kept, ok := l.(owners.Records)
	if !ok || conn.ManyOwners() {
		return nil
	}
	many, _, err := kept.MadeFor(ctx, "")
	if err == nil && many {
		err = &fault.Error{
			Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: "single",
			Message: "The state directory has the records of many owners. Migrate with the same --owners oidc settings that the server has.",
		}
	}
	return err
}

// sharedSide is the side at the NATS servers.
type sharedSide struct {
	alertSide
	orderSide
}

// Close does nothing: the caller owns the connection.
func (sharedSide) Close() error { return nil }
