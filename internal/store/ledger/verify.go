package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/lib/fault"
)

// Audit reads the audit log of a store, beside a server that runs or without one.
// It writes nothing.
type Audit struct {
	db *sql.DB
}

// OpenAudit opens the store in a state directory for reading.
func OpenAudit(ctx context.Context, dir string) (*Audit, error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, noStore(dir)
	}
	db, err := dial(path, "ro", "query_only(1)")
	if err != nil {
		return nil, err
	}
	a := &Audit{db}
	err = a.check(ctx, path, dir)
	if f := fault.Of(err); f != nil && (f.Code == "store_read_only" || f.Code == "store_full") {
		return openFixed(ctx, path, dir, errors.Join(err, a.Close()))
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// check reads the schema of the store.
func (a *Audit) check(ctx context.Context, path, dir string) error {
	found, err := schemaVersion(ctx, a.db, path)
	if err == nil && found == 0 {
		err = noStore(dir) // its creator died before filling it
	}
	return err
}

// openFixed opens a store beside which nothing can be written, as on a read-only mount or a full disk. SQLite then reads no
// files beside it, so none may have anything: what a killed server wrote last is in the file -wal. reason is why the store did
// not open otherwise.
func openFixed(ctx context.Context, path, dir string, reason error) (*Audit, error) {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Unavailable, "store_read_only", "the store in %s cannot be read where it is: what was written last is in the file %s-wal, and nothing can be written beside it. Copy the directory to where that is possible, and name the copy with --home", dir, FileName).
			About("home", dir, "").Because(reason)
	}
	db, err := dialWith(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}, "query_only(1)")
	if err != nil {
		return nil, err
	}
	a := &Audit{db}
	if err := a.check(ctx, path, dir); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Alerts lists the alerts of a store that this version has written, as [Ledger.Alerts] does.
func (a *Audit) Alerts(ctx context.Context) iter.Seq2[alert.Alert, error] {
	return (&Ledger{read: a.db}).Alerts(ctx)
}

func noStore(dir string) error {
	return &fault.Error{
		Kind: fault.NotFound, Code: "no_store", Field: "home", Value: dir,
		Message: fmt.Sprintf("no store in state directory %s: the first start with --trade makes it", dir),
	}
}

// Close closes the store.
func (a *Audit) Close() error { return a.db.Close() }

// Report is what Verify found.
type Report struct {
	Events uint64 // read
	Last   uint64 // the number of the last one
	Hash   Hash   // of the last one
	Breaks []Break

	Checkpoints uint64 // signed ones, in these events
	Key         string // ID of the key that signs; "" for none

	// Erased counts the events whose content is gone with their owners.
	Erased uint64

	unconfirmed map[principal.Owner]uint64 // the first erased event of owners for whom no event says so yet
	chains      map[principal.Owner]Chain  // of the events that were read
	keys        map[string]chain.SignedChange
	schema      int
}

// Break is a place where the log is not what was written.
type Break struct {
	Seq  uint64 `json:"seq"` // the event, 0 for the store as a whole
	What string `json:"what"`
}

// String returns the break as a sentence.
func (b Break) String() string {
	if b.Seq == 0 {
		return b.What
	}
	return fmt.Sprintf("event %d: %s", b.Seq, b.What)
}

// maxBreaks bounds a report: one break shows that the log cannot be trusted.
const maxBreaks = 20

// Verify reads the whole store and checks that the log is a chain from the first
// event to the head. Its error says that it could not read; what it read and found
// wrong is in the report.
//
// It finds a changed, removed, added or moved event, at the end of the log too,
// where head then differs. It cannot detect that someone with write access computed
// every hash and the head again, or put an older copy in its place: for that, compare
// the last number and hash with those noted down elsewhere earlier (see Contains).
func (a *Audit) Verify(ctx context.Context) (Report, error) {
	tx, err := snapshot(ctx, a.db)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo
	r := Report{chains: make(map[principal.Owner]Chain)}
	if r.schema, err = schemaVersion(ctx, tx, FileName); err != nil {
		return r, err
	}
	if err := r.checkFile(ctx, tx); err != nil {
		return r, err
	}
	if err := r.checkChain(ctx, tx); err != nil {
		return r, err
	}
	if err := r.checkChains(ctx, tx); err != nil {
		return r, err
	}
	r.checkErased()
	return r, r.checkHead(ctx, tx)
}

func (r *Report) found(seq uint64, format string, args ...any) {
	if len(r.Breaks) < maxBreaks {
		r.Breaks = append(r.Breaks, Break{seq, fmt.Sprintf(format, args...)})
	}
}

// missing notes that the events from first to last are not there.
func (r *Report) missing(first, last uint64, why string) {
	if first == last {
		r.found(first, "is missing%s", why)
	} else {
		r.found(first, "is missing, and all up to %d%s", last, why)
	}
}

// checkFile lets SQLite check its own structure and looks for the triggers that
// forbid changes.
func (r *Report) checkFile(ctx context.Context, tx *sql.Tx) error {
	for line, err := range rows(ctx, tx, "check the file", column[string], fmt.Sprintf("PRAGMA integrity_check(%d)", maxBreaks)) {
		switch {
		case r.damaged(0, err):
			return nil
		case err != nil:
			return err
		case line != "ok":
			r.found(0, "the file is damaged: %s", strings.TrimSpace(line))
		}
	}
	for _, name := range []string{"events_no_update", "events_no_delete", "events_no_replace"} {
		var n int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name = ?", name).Scan(&n)
		if err != nil {
			return failure("check the file", err)
		}
		if n == 0 {
			r.found(0, "the trigger %s, which keeps events as they are, is gone", name)
		}
	}
	return nil
}

// damaged notes an error that says that the file is broken after event seq, and
// reports whether it is one.
func (r *Report) damaged(seq uint64, err error) bool {
	if e := fault.Of(failure("read", err)); e == nil || e.Code != "store_damaged" {
		return false
	}
	if seq == 0 {
		r.found(0, "the file is damaged: %v", err)
	} else {
		r.found(seq+1, "the file is damaged here: %v", err)
	}
	return true
}

const selectEvents = "SELECT seq, at, owner, kind, subject, actor, client, body, prev, hash FROM events "

// checkChain reads every event in order.
func (r *Report) checkChain(ctx context.Context, tx *sql.Tx) error {
	for e, err := range rows(ctx, tx, "read the events", scanEvent, selectEvents+"ORDER BY seq") {
		if r.damaged(r.Last, err) {
			return nil
		}
		if err != nil {
			return err
		}
		r.follow(&e)
		c := r.chains[e.Owner]
		if !e.Erased {
			r.prove(&e, c)
		}
		c.Add(e.Hash)
		r.chains[e.Owner] = c
	}
	return nil
}

// follow checks one event against the one before.
func (r *Report) follow(e *Event) {
	switch {
	case e.Seq != r.Last+1:
		r.missing(r.Last+1, e.Seq-1, "")
	case e.Prev != r.Hash:
		r.found(e.Seq, "does not follow the event before it: one of the two was changed, added or moved")
	}
	switch {
	case e.Erased:
		r.Erased++
		if _, known := r.unconfirmed[e.Owner]; !known {
			if r.unconfirmed == nil {
				r.unconfirmed = make(map[principal.Owner]uint64)
			}
			r.unconfirmed[e.Owner] = e.Seq
		}
	case e.Sum() == e.Hash:
		if e.Kind == ownerErased {
			delete(r.unconfirmed, principal.Owner(e.Subject))
		}
	default:
		r.found(e.Seq, "is not what was written: it was changed or moved here")
	}
	r.Events++
	r.Last, r.Hash = e.Seq, e.Hash
}

// checkErased looks for events that were erased without the event that must follow.
func (r *Report) checkErased() {
	for _, owner := range slices.Sorted(maps.Keys(r.unconfirmed)) {
		r.found(r.unconfirmed[owner], "was erased, but no event says that its owner was")
	}
}

// checkHead compares the end of the log with what the last write noted.
func (r *Report) checkHead(ctx context.Context, tx *sql.Tx) error {
	h, err := readHead(ctx, tx)
	switch {
	case noRow(err):
		r.found(0, "the head, which says where the log ends, is gone")
	case r.damaged(r.Last, err):
	case err != nil:
		return failure("read the head", err)
	default:
		r.compare(h)
	}
	return nil
}

func (r *Report) compare(h head) {
	switch {
	case h.event > r.Last:
		r.missing(r.Last+1, h.event, ", where the head says that the log ends")
	case h.event < r.Last:
		r.found(h.event+1, "and all after it were added: the head says that the log ends before it")
	case h.hash != r.Hash:
		r.found(r.Last, "is not the event that the head says the log ends with")
	}
}

func readHead(ctx context.Context, db querier) (head, error) {
	var event, entry int64
	var hash []byte
	err := db.QueryRowContext(ctx, selectHead).Scan(&event, &hash, &entry)
	h := head{event: uint64(max(event, 0)), entry: uint64(max(entry, 0))}
	copy(h.hash[:], hash)
	return h, err
}

// Contains reports whether the log has an event of that number and hash: one that
// was noted down earlier and must still be there.
func (a *Audit) Contains(ctx context.Context, seq uint64, hash Hash) (bool, error) {
	var found []byte
	err := a.db.QueryRowContext(ctx, "SELECT hash FROM events WHERE seq = ?", seq).Scan(&found)
	if noRow(err) {
		return false, nil
	}
	return string(found) == string(hash[:]), failure("read the events", err)
}

// Recent returns the newest events, oldest first, at most limit.
func (a *Audit) Recent(ctx context.Context, limit int) ([]Event, error) {
	return recent(ctx, a.db, limit)
}

func recent(ctx context.Context, db rowQuerier, limit int) ([]Event, error) {
	return collect(rows(ctx, db, "read the events", scanEvent, "SELECT * FROM ("+selectEvents+"ORDER BY seq DESC LIMIT ?) ORDER BY seq", limit))
}

func scanEvent(scan scanner) (Event, error) {
	var e Event
	var seq, at int64
	var prev, hash []byte
	if err := scan(&seq, &at, &e.Owner, &e.Kind, &e.Subject, &e.Actor, &e.Client, &e.Body, &prev, &hash); err != nil {
		return Event{}, err
	}
	if seq < 1 {
		return Event{}, damaged(fmt.Sprintf("an event numbered %d", seq), errors.New("numbers begin at 1"))
	}
	e.Erased = len(e.Body) == 0
	e.Seq, e.At = uint64(seq), time.UnixMicro(at).UTC()
	copy(e.Prev[:], prev)
	copy(e.Hash[:], hash)
	return e, nil
}

// tailEvents is how many events are checked when a store is opened. All of them
// would take seconds; candela audit verify does that.
const tailEvents = 100

// checkTail refuses a store whose log does not end as its head says: writing on
// would bury the evidence.
func checkTail(ctx context.Context, db *sql.DB) error {
	tx, err := snapshot(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to undo
	events, err := recent(ctx, tx, tailEvents)
	if err != nil {
		return err
	}
	var r Report
	if len(events) > 0 {
		r.Last, r.Hash = events[0].Seq-1, events[0].Prev
	}
	for i := range events {
		r.follow(&events[i])
	}
	r.checkErased()
	if err := r.checkHead(ctx, tx); err != nil {
		return err
	}
	if len(r.Breaks) > 0 {
		return &fault.Error{
			Kind: fault.Conflict, Code: "store_tampered",
			Message: fmt.Sprintf("the audit log is not what was written: %s. Run candela audit verify for details; restore the store from a backup, or move it away to start a new one", r.Breaks[0]),
		}
	}
	return nil
}
