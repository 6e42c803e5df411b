// Package ledger keeps on disk what must survive: alerts, notifications, orders
// and an audit log that shows whether it was tampered with. It is one SQLite file
// in the state directory. A write that returned nil is on the disk, whatever
// happens to the process or the power.
//
// It decides nothing: what may be set, fired or ordered is the business of the
// engine and the desk, which declare the parts of it that they use as their ports.
// It starts no goroutine and takes the time from its caller.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"candela/internal/alerting/notify"
	"candela/internal/kit/disk"
	"candela/internal/kit/meter"
	"candela/internal/store"
	"candela/internal/store/chain"
	"candela/lib/fault"
)

// FileName is the name of the store in the state directory.
const FileName = "candela.db"

// readers is how many reads run beside each other. Each connection has a page
// cache of its own.
const readers = 4

// Ledger is an open store. It is safe for concurrent use by one process; the
// caller holds the lock that keeps a second engine off the state directory.
type Ledger struct {
	now  func() time.Time
	file *sql.DB   // of the one connection that writes
	conn *sql.Conn // its transactions are begun by hand: see commit
	read *sql.DB

	turn    chan struct{} // holds one token while somebody writes
	queue   sync.Mutex    // guards pending
	pending []*job
	broken  error                // set by a commit whose outcome is unknown; guarded by turn
	closed  bool                 // guarded by turn
	stmts   statements           // of conn; guarded by turn
	publish func([]notify.Entry) // gets what a commit stored; nil for none; guarded by turn
	key     chain.Key            // signs checkpoints; zero for none; guarded by turn
	sealed  func(chain.Signed)   // gets the checkpoints that a commit stored; nil for none; guarded by turn
	path    string
	tally   tally
}

// Descriptor describes the ledger.
func Descriptor() store.Descriptor {
	return store.Descriptor{Name: "ledger", File: FileName, Open: func(ctx context.Context, home string, now func() time.Time) (store.Store, error) {
		l, err := Open(ctx, home, now)
		if err != nil {
			return nil, err
		}
		return l, nil
	}}
}

// Open opens the store in a state directory and makes it when it is not there.
// It brings an older schema up to date, and refuses a newer one, a file that is
// something else, and one whose audit log does not end as its head says. now
// returns the time of events.
func Open(ctx context.Context, dir string, now func() time.Time) (*Ledger, error) {
	path := filepath.Join(dir, FileName)
	if err := create(path); err != nil {
		return nil, failure("open", err)
	}
	l := &Ledger{now: now, turn: make(chan struct{}, 1), stmts: make(statements), path: path}
	l.tally.room = func() bool { return hasRoom(path) }
	l.tally.errors = meter.NewCounters("store_full", "store_read_only", "store_damaged", "store_busy", "store_failed")
	if err := l.open(ctx, path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context, path string) error {
	var err error
	// FULL syncs the log at every commit. fullfsync is for macOS, where a plain
	// sync stops at the drive's own cache. WAL also gives its memory back: a
	// reader that held it up once would leave the file large for ever.
	if l.file, err = dial(path, "rw", "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "journal_size_limit(67108864)"); err != nil {
		return err
	}
	l.file.SetMaxOpenConns(1)
	if l.conn, err = l.file.Conn(ctx); err != nil {
		return failure("open", err)
	}
	if err := migrate(ctx, l.conn, path); err != nil {
		return err
	}
	if err := l.overwriteForOwners(ctx); err != nil {
		return err
	}
	if l.read, err = dial(path, "rw", "query_only(1)"); err != nil {
		return err
	}
	l.read.SetMaxOpenConns(readers)
	l.read.SetMaxIdleConns(readers)
	return checkTail(ctx, l.read)
}

// dial returns a pool over the file. busy_timeout is for the moments in which
// another process, such as candela audit, holds a lock.
func dial(path, mode string, pragmas ...string) (*sql.DB, error) {
	return dialWith(path, url.Values{"mode": {mode}}, pragmas...)
}

// dialWith is dial with more of SQLite's parameters.
func dialWith(path string, query url.Values, pragmas ...string) (*sql.DB, error) {
	// In an address the first part of a relative path would be taken for a host.
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failure("open", err)
	}
	maps.Copy(query, url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}, "_defensive": {"1"}, "_error_rc": {"1"}, "_busy_timeout": {"5000"}, "_pragma": pragmas})
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	if runtime.GOOS == "windows" {
		name.Path = "/" + name.Path // file:///C:/...
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, failure("open", err)
	}
	return db, nil
}

// create makes an empty file that its owner alone can read, which SQLite then
// fills; the files beside it take its permissions. The directory is synced
// because SQLite does that for its logs alone. An existing file is not opened:
// closing it would drop the locks that this process holds on it.
func create(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		return refuseOpen(path, info)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := disk.Create(path, func(*os.File) error { return nil }); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// refuseOpen refuses a file that other users can read or write.
func refuseOpen(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return &fault.Error{
			Kind: fault.Conflict, Code: "store_open", Field: "home", Value: path, Allowed: "permissions 0600",
			Message: fmt.Sprintf("the store %s is open to other users (%v): chmod 600 it", path, mode),
		}
	}
	return nil
}

// Close waits for a write that runs, and folds the log into the file. Later writes
// and reads fail; later calls do nothing.
func (l *Ledger) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	if l.read != nil {
		errs = append(errs, l.read.Close())
	}
	errs = append(errs, l.stmts.close())
	if l.conn != nil {
		errs = append(errs, l.conn.Close())
	}
	if l.file != nil {
		errs = append(errs, l.file.Close())
	}
	return errors.Join(errs...)
}
