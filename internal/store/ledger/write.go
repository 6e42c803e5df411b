package ledger

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/lib/fault"
)

// job is one write that waits for a commit.
type job struct {
	run  func(*tx) error
	err  error         // valid once done is closed
	done chan struct{} // closed when the outcome is known
}

// tx is a transaction as the writes see it. It is used by one goroutine, and a
// write keeps nothing of it.
type tx struct {
	l    *Ledger
	head head

	entries []notify.Entry           // stored so far
	chains  map[principal.Owner]link // of the owners of events so far
	sealed  []chain.Signed           // stored so far

	ctx context.Context //nolint:containedctx // lives exactly as long as the transaction
}

// write runs a change and returns when it is on the disk. Writers that come while
// another one's commit is under way share the next: the first to get the turn
// commits for all that wait, so a sync serves many. A change that fails is undone
// alone. The queue is as long as the number of callers, each of whom waits here.
//
// ctx ends the wait for a turn and nothing else: a commit that was interrupted
// would have an unknown outcome.
func (l *Ledger) write(ctx context.Context, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{run: run, done: make(chan struct{})}
	l.queue.Lock()
	l.pending = append(l.pending, j)
	l.queue.Unlock()
	select {
	case <-j.done:
		return j.err
	case l.turn <- struct{}{}:
		l.commitPending(context.WithoutCancel(ctx))
		<-l.turn
	case <-ctx.Done():
		if l.withdraw(j) {
			return ctx.Err()
		}
	}
	<-j.done
	return j.err
}

// withdraw takes a job out of the queue. It returns false when a commit has it.
func (l *Ledger) withdraw(j *job) bool {
	l.queue.Lock()
	defer l.queue.Unlock()
	i := slices.Index(l.pending, j)
	if i < 0 {
		return false
	}
	l.pending = slices.Delete(l.pending, i, i+1)
	return true
}

// commitPending commits everything that waits. The caller holds the turn.
func (l *Ledger) commitPending(ctx context.Context) {
	l.queue.Lock()
	batch := l.pending
	l.pending = nil
	l.queue.Unlock()
	if len(batch) == 0 {
		return // the previous holder of the turn did it
	}
	began := time.Now()
	err := l.commit(ctx, batch)
	l.tally.add(len(batch), time.Since(began), err)
	for _, j := range batch {
		if err != nil && j.err == nil {
			j.err = err
		}
		close(j.done)
	}
}

// commit runs the jobs in one transaction. A job's own failure is in the job; the
// error is of the transaction and concerns all.
//
// Transactions are begun by hand because those of database/sql watch a context
// from a goroutine of their own.
func (l *Ledger) commit(ctx context.Context, batch []*job) error {
	if l.closed {
		return errClosed
	}
	if l.broken != nil {
		return l.broken
	}
	t := &tx{l: l, ctx: ctx}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return failure("begin", err)
	}
	err := t.runAll(batch)
	if err == nil {
		if _, err = t.exec("COMMIT"); err == nil {
			if l.publish != nil && len(t.entries) > 0 {
				l.publish(t.entries)
			}
			for _, s := range t.sealed {
				if l.sealed != nil {
					l.sealed(s)
				}
			}
			return nil
		}
		// The frames may or may not have reached the disk, and a later crash may
		// bring them back. Nothing is written on top of that; a restart reads what
		// there is. A full disk is no such case: it is met before the last frame.
		if err = failure("commit", err); fault.Of(err).Code != "store_full" {
			l.broken = err
		}
	}
	if _, undo := t.exec("ROLLBACK"); undo != nil && l.broken == nil && !undone(undo) {
		l.broken = failure("roll back", undo)
	}
	return err
}

// undone reports whether SQLite had already rolled back by itself, as it does
// when the disk fails it.
func undone(err error) bool { return resultCode(err) == 1 }

// runAll runs the jobs and moves the head. A single job needs no savepoint: its
// failure is that of the transaction.
func (t *tx) runAll(batch []*job) error {
	if err := t.loadHead(); err != nil {
		return failure("read the head", err)
	}
	before, run := t.head, t.runOne
	if len(batch) == 1 {
		run = func(j *job) error { return j.run(t) }
	}
	for _, j := range batch {
		if err := run(j); err != nil {
			return failure("write", err)
		}
	}
	if err := t.saveChains(); err != nil {
		return failure("write the chains", err)
	}
	return failure("write the head", t.saveHead(before))
}

// runOne runs a job so that its failure leaves no trace. A failure of the store
// is not the job's alone and ends the transaction.
func (t *tx) runOne(j *job) error {
	before, entries, sealed, chains := t.head, len(t.entries), len(t.sealed), maps.Clone(t.chains)
	if _, err := t.exec("SAVEPOINT job"); err != nil {
		return err
	}
	err := failure("write", j.run(t))
	if err != nil {
		if fault.KindOf(err) == fault.Unavailable {
			return err
		}
		t.head, t.entries, t.sealed, t.chains, j.err = before, t.entries[:entries], t.sealed[:sealed], chains, err
		if _, err := t.exec("ROLLBACK TO job"); err != nil {
			return err
		}
	}
	_, err = t.exec("RELEASE job")
	return err
}

// statements holds what was prepared on the connection that writes. Its keys are
// constants of this package, which bounds it.
type statements map[string]*sql.Stmt

func (s statements) close() error {
	errs := make([]error, 0, len(s))
	for _, stmt := range s {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// prepared returns the statement of a query that this package holds as a constant.
func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if stmt, ok := t.l.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := t.l.conn.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	t.l.stmts[query] = stmt
	return stmt, nil
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	stmt, err := t.prepared(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) row(query string, args []any, dest ...any) error {
	stmt, err := t.prepared(query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(t.ctx, args...).Scan(dest...)
}
