package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/alerting/notify/transfer"
	"candela/internal/alerting/sink"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/inbox"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

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

// alertOf returns the ID of a notification's alert, with the number of the firing if the
// alert repeats, and with all of a report that nothing evaluates it.
func alertOf(e *notify.Entry) (string, error) {
	var record struct {
		ID    string `json:"alert_id"`
		Fire  int    `json:"fire"`
		State string `json:"state"` // of an alert that stays and is not evaluated
	}
	if err := json.Unmarshal(e.Data, &record); err != nil || record.ID == "" {
		return "", fmt.Errorf("notification %d names no alert: %w", e.Seq, err)
	}
	if record.State != "" {
		return record.ID + " " + string(e.Data), nil
	}
	if record.Fire > 0 {
		return fmt.Sprintf("%s-%d", record.ID, record.Fire), nil
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
	for step := range slices.Chunk(missing, m.inOneWrite) {
		added, err := m.to.AddEntries(ctx, step)
		if err != nil {
			return err
		}
		for i := range added {
			id, _ := alertOf(&added[i])
			there[id] = added[i].Seq
		}
		d.Copied += len(added)
		m.report(d, d.Found-len(missing)+d.Copied)
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

// Cursor translates up to where a reader has come. It implements transfer.SeqMapper.
func (n *numbers) Cursor(old uint64) uint64 {
	switch i := sort.Search(len(n.old), func(i int) bool { return n.old[i] > old }); {
	case i == len(n.old):
		return n.last
	case i == 0:
		return n.new[0] - 1
	default:
		return n.new[i-1]
	}
}

// Seq translates the number of a notification. It implements transfer.SeqMapper.
func (n *numbers) Seq(old uint64) (uint64, bool) {
	i, there := slices.BinarySearch(n.old, old)
	if !there {
		return 0, false
	}
	return n.new[i], true
}

// copySubscriptions copies the subscriptions and their cursors. A client with a new token
// takes over those of its old one.
func (m *migration) copySubscriptions(ctx context.Context) error {
	d := m.begin("subscriptions and polling queues", 0)
	shared, err := inbox.Open(ctx, m.conn, m.Log)
	if err != nil {
		return err
	}
	defer shared.Close()
	if m.To == "local" {
		var mu sync.Mutex
		last := make(map[string]records.Record)
		if err := shared.Watch(ctx, func(r records.Record) {
			mu.Lock()
			defer mu.Unlock()
			last[string(r.Kind)+" "+r.Name] = r
		}); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		d.Copied, err = transfer.ToFile(m.file, slices.Collect(maps.Values(last)), &m.numbers)
		d.Found = d.Copied
		return err
	}
	list, err := transfer.FromFile(m.file, &m.numbers)
	if err != nil {
		return err
	}
	for step := range slices.Chunk(list, records.MaxRecords) {
		if _, err := shared.Write(ctx, step); err != nil {
			return fmt.Errorf("write the subscriptions: %w", err)
		}
	}
	for _, r := range list {
		if r.Kind != records.AttachmentKind { // which belongs to a subscription
			d.Found++
		}
	}
	d.Copied = d.Found
	return nil
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
			if !sink.CountsCalls(reader) {
				cursors[reader] = m.numbers.next(seq)
			}
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

// copyOrders copies the events of orders and positions.
func (m *migration) copyOrders(ctx context.Context) error {
	owners, err := m.from.OrderOwners(ctx)
	if err != nil {
		return err
	}
	d := m.begin("events of orders", 0)
	for _, owner := range owners {
		add := func(step []order.Event) error {
			_, err := m.to.AppendEvents(ctx, principal.Caller{Subject: owner}, step)
			return err
		}
		if err := copyHistory(m, d, "the orders of "+string(owner), m.from.OrderEvents(ctx, owner), m.to.OrderEvents(ctx, owner), sameEvent, add); err != nil {
			return err
		}
	}
	return nil
}

func (m *migration) copyJournals(ctx context.Context) error {
	journals, err := m.from.Journals(ctx)
	if err != nil {
		return err
	}
	d := m.begin("entries of paper accounts", 0)
	for owner, names := range journals {
		for _, name := range names {
			add := func(step [][]byte) error { return m.to.AppendJournal(ctx, owner, name, step) }
			what := "the entries of the paper account of " + string(owner)
			if err := copyHistory(m, d, what, m.from.Journal(ctx, owner, name), m.to.Journal(ctx, owner, name), bytes.Equal, add); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyHistory adds what the destination lacks of a history. What it has must be the beginning of
// the source's: two histories cannot be merged.
func copyHistory[T any](m *migration, d *Count, what string, from, to iter.Seq2[T, error], same func(a, b T) bool, add func([]T) error) error {
	found, err := collect(from)
	if err != nil {
		return err
	}
	there, err := collect(to)
	if err != nil {
		return err
	}
	if len(there) > len(found) || !slices.EqualFunc(there, found[:len(there)], same) {
		return &fault.Error{
			Kind: fault.Conflict, Code: "destination_differs", Field: "--to", Value: m.To,
			Message: fmt.Sprintf("%s at the destination are not the beginning of those at the source: both were used on their own, and two histories cannot be made one. "+
				"Choose another --nats-prefix or --home as destination", what),
		}
	}
	d.Found += len(found)
	for step := range slices.Chunk(found[len(there):], m.inOneWrite) {
		if err := add(step); err != nil {
			return err
		}
		d.Copied += len(step)
		m.report(d, d.Copied)
	}
	return nil
}

func sameEvent(a, b order.Event) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && bytes.Equal(x, y)
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
			if err := m.to.SaveState(ctx, principal.Caller{Subject: owner}, name, value); err != nil {
				return err
			}
			d.Copied++
		}
	}
	return nil
}

// copyKept copies what owners keep that no account depends on. What the other side has stays only where this one has none
// of that name.
func (m *migration) copyKept(ctx context.Context) error {
	all, err := m.from.AllKept(ctx)
	if err != nil {
		return err
	}
	d := m.begin("records", 0)
	for owner, kept := range all {
		for name, value := range kept {
			d.Found++
			copied := false
			err := m.to.Keep(ctx, owner, name, func(there []byte) ([]byte, error) {
				copied = !bytes.Equal(there, value)
				return value, nil
			})
			if err != nil {
				return err
			}
			if copied {
				d.Copied++
			}
		}
	}
	return nil
}

// readAlerts reads the alerts of a side, with those whose condition this version cannot read.
func readAlerts(ctx context.Context, s side) (all []alert.Alert, err error) {
	for a, err := range s.Alerts(ctx) {
		if err != nil && !a.IsBroken() {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// copyAlerts copies the active alerts, as they are: one that is set aside stays so. An alert that only
// the destination has either ended at the source or is foreign; the owner decides.
func (m *migration) copyAlerts(ctx context.Context) error {
	found, err := readAlerts(ctx, m.from)
	if err != nil {
		return err
	}
	known, err := readAlerts(ctx, m.to)
	if err != nil {
		return err
	}
	active, there := make(map[string]bool, len(found)), make(map[string]bool)
	for i := range found {
		active[found[i].ID] = true
	}
	var gone []alert.Alert
	for _, a := range known {
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
	missing := slices.DeleteFunc(found, func(a alert.Alert) bool {
		damaged := !there[a.ID] && !a.Storable()
		if damaged {
			d.Unreadable++
			m.Log.WarnContext(ctx, "alert not copied: it cannot be read", "alert", a.ID, "owner", a.Owner, "reason", a.Idle.Reason)
		}
		return there[a.ID] || damaged
	})
	for step := range slices.Chunk(missing, m.atOnce) {
		errs := make([]error, len(step))
		var wg sync.WaitGroup
		for i := range step {
			wg.Go(func() { errs[i] = m.to.PutAlert(ctx, principal.Caller{Subject: step[i].Owner}, step[i]) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		d.Copied += len(step)
		m.report(d, d.Found-len(missing)+d.Copied)
	}
	return nil
}
