package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"candela/internal/alert"
	"candela/internal/cluster"
	"candela/internal/config"
	"candela/internal/fault"
	"candela/internal/ledger"
	"candela/internal/mcp"
	"candela/internal/notify"
	"candela/internal/order"
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
	m := &migration{Migration: how, from: local, to: shared}
	if how.To == "local" {
		m.from, m.to = shared, local
	}
	err = m.run(ctx)
	return m.done, errors.Join(err, local.Close())
}

// quietHome makes sure that nothing runs in the state directory, and keeps it so.
func quietHome(home, to string) (release func(), err error) {
	if to == "local" {
		if err := openHome(home); err != nil {
			return nil, err
		}
	}
	var locks []io.Closer
	release = func() {
		for _, l := range locks {
			_ = l.Close() // closing drops the lock whatever it returns
		}
	}
	for _, name := range []string{lockName, serverLock} {
		lock, err := openLocked(filepath.Join(home, name))
		if err == nil {
			locks = append(locks, lock)
			continue
		}
		release()
		if errors.Is(err, errLocked) {
			return nil, &fault.Error{
				Kind: fault.Conflict, Code: lockedCode, Field: "home", Value: home,
				Message: fmt.Sprintf("candela runs in state directory %s: stop it before a migration", home),
			}
		}
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return release, nil
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
}

// run copies everything. Alerts come last: whoever starts on what an interrupted run
// has left finds none that could fire.
func (m *migration) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		m.copyEntries, m.copyCursors, m.copyMarks, m.copyOrders, m.copyJournals, m.copyStates, m.copyAlerts,
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

// collect reads all of a sequence.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for one, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// alertOf returns the id of the alert that a notification tells of.
func alertOf(e *notify.Entry) (string, error) {
	var record struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(e.Data, &record); err != nil || record.ID == "" {
		return "", fmt.Errorf("notification %d names no alert: %w", e.Seq, err)
	}
	return record.ID, nil
}

// copyEntries copies the notifications that can still be fetched, and notes under
// which number each is known at either side.
func (m *migration) copyEntries(ctx context.Context) error {
	found, err := collect(m.from.Entries(ctx, 0))
	if err != nil {
		return err
	}
	there := make(map[string]uint64)
	for e, err := range m.to.Entries(ctx, 0) {
		if err != nil {
			return err
		}
		id, err := alertOf(&e)
		if err != nil {
			return err
		}
		there[id] = e.Seq
	}
	d, ids := m.begin("notifications", len(found)), make([]string, len(found))
	for i := range found {
		if ids[i], err = alertOf(&found[i]); err != nil {
			return err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(found), func(e notify.Entry) bool {
		id, _ := alertOf(&e)
		return there[id] != 0
	})
	for step := range slices.Chunk(missing, migrateStep) {
		added, err := m.to.AddEntries(ctx, step)
		if err != nil {
			return err
		}
		for i := range added {
			id, _ := alertOf(&added[i])
			there[id] = added[i].Seq
		}
		d.Copied += len(added)
		m.tell(d, d.Found-len(missing)+d.Copied)
	}
	for i := range found {
		m.numbers.old = append(m.numbers.old, found[i].Seq)
		m.numbers.new = append(m.numbers.new, there[ids[i]])
	}
	m.numbers.last, err = m.to.LastEntry(ctx)
	return err
}

// numbers translates the numbers of notifications, which each side gives out itself.
type numbers struct {
	old, new []uint64
	last     uint64 // not below any at the destination
}

// next translates the number of the first notification that a reader has not had.
func (n *numbers) next(old uint64) uint64 {
	i := sort.Search(len(n.old), func(i int) bool { return n.old[i] >= old })
	if i == len(n.old) {
		return n.last + 1
	}
	return n.new[i]
}

func (m *migration) copyCursors(ctx context.Context) error {
	all, err := m.from.Cursors(ctx)
	if err != nil {
		return err
	}
	d := m.begin("places of sinks", 0)
	for owner, cursors := range all {
		d.Found += len(cursors)
		for reader, seq := range cursors {
			cursors[reader] = m.numbers.next(seq)
		}
		if err := m.to.SaveCursors(ctx, owner, cursors); err != nil {
			return err
		}
		d.Copied += len(cursors)
	}
	return nil
}

func (m *migration) copyMarks(ctx context.Context) error {
	marks, err := m.from.Marks(ctx)
	if err != nil {
		return err
	}
	d := m.begin("marks of series", len(marks))
	d.Copied = len(marks)
	return m.to.SaveMarks(ctx, marks)
}

// copyOrders copies what happened to orders and positions. What the destination has
// must be the beginning of it: two histories cannot be made one.
func (m *migration) copyOrders(ctx context.Context) error {
	owners, err := m.from.OrderOwners(ctx)
	if err != nil {
		return err
	}
	d := m.begin("events of orders", 0)
	for _, owner := range owners {
		found, err := collect(m.from.OrderEvents(ctx, owner))
		if err != nil {
			return err
		}
		there, err := collect(m.to.OrderEvents(ctx, owner))
		if err != nil {
			return err
		}
		if !begins(found, there, sameEvent) {
			return diverged("the orders of "+owner, m.To)
		}
		d.Found += len(found)
		for step := range slices.Chunk(found[len(there):], migrateStep) {
			if _, err := m.to.AppendEvents(ctx, mcp.Caller{Subject: owner}, step); err != nil {
				return err
			}
			d.Copied += len(step)
			m.tell(d, d.Copied)
		}
	}
	return nil
}

// begins reports whether all begins with part.
func begins[T any](all, part []T, same func(a, b T) bool) bool {
	return len(part) <= len(all) && slices.EqualFunc(part, all[:len(part)], same)
}

func sameEvent(a, b order.Event) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

func diverged(what, to string) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "destination_differs", Field: "--to", Value: to,
		Message: fmt.Sprintf("%s at the destination are not the beginning of those at the source: both were used on their own, and two histories cannot be made one. "+
			"Choose another --nats-prefix or --home as destination", what),
	}
}

func (m *migration) copyJournals(ctx context.Context) error {
	journals, err := m.from.Journals(ctx)
	if err != nil {
		return err
	}
	d := m.begin("entries of paper accounts", 0)
	for owner, names := range journals {
		for _, name := range names {
			found, err := collect(m.from.Journal(ctx, owner, name))
			if err != nil {
				return err
			}
			there, err := collect(m.to.Journal(ctx, owner, name))
			if err != nil {
				return err
			}
			if !begins(found, there, bytes.Equal) {
				return diverged("the entries of the paper account of "+owner, m.To)
			}
			d.Found += len(found)
			for step := range slices.Chunk(found[len(there):], migrateStep) {
				if err := m.to.AppendJournal(ctx, owner, name, step); err != nil {
					return err
				}
				d.Copied += len(step)
				m.tell(d, d.Copied)
			}
		}
	}
	return nil
}

func (m *migration) copyStates(ctx context.Context) error {
	all, err := m.from.States(ctx)
	if err != nil {
		return err
	}
	d := m.begin("states of accounts", 0)
	for owner, states := range all {
		for name, value := range states {
			d.Found++
			there, err := m.to.State(ctx, owner, name)
			if err != nil {
				return err
			}
			if bytes.Equal(there, value) {
				continue
			}
			if err := m.to.SaveState(ctx, mcp.Caller{Subject: owner}, name, value); err != nil {
				return err
			}
			d.Copied++
		}
	}
	return nil
}

// copyAlerts copies the active alerts. One that the destination alone has ended at
// the source meanwhile, or is somebody else's: that the owner must say.
func (m *migration) copyAlerts(ctx context.Context) error {
	found, err := collect(m.from.Alerts(ctx))
	if err != nil {
		return err
	}
	active, there := make(map[string]bool, len(found)), make(map[string]bool)
	for i := range found {
		active[found[i].ID] = true
	}
	var gone []alert.Alert
	for a, err := range m.to.Alerts(ctx) {
		if err != nil {
			return err
		}
		there[a.ID] = true
		if !active[a.ID] {
			gone = append(gone, a)
		}
	}
	d := m.begin("alerts", len(found))
	if len(gone) > 0 && !m.Replace {
		return &fault.Error{
			Kind: fault.Conflict, Code: "destination_differs", Field: "--to", Value: m.To,
			Message: fmt.Sprintf("the destination has %d active alerts that the source does not have: they ended at the source, or were never there. "+
				"Run it again with --replace to end them, or choose another destination", len(gone)),
		}
	}
	if err := m.to.ExpireAlerts(ctx, gone); err != nil {
		return err
	}
	d.Ended = len(gone)
	missing := slices.DeleteFunc(found, func(a alert.Alert) bool { return there[a.ID] })
	for step := range slices.Chunk(missing, migrateAtOnce) {
		errs := make([]error, len(step))
		var wg sync.WaitGroup
		for i := range step {
			wg.Go(func() { errs[i] = m.to.PutAlert(ctx, mcp.Caller{Subject: step[i].Owner}, step[i]) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		d.Copied += len(step)
		m.tell(d, d.Found-len(missing)+d.Copied)
	}
	return nil
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
