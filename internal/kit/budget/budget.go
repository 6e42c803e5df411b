// Package budget bounds the memory that pieces of work hold together, for all of them and
// for each owner, and ends a piece of work that nobody waits for.
package budget

import (
	"context"
	"errors"
	"sync"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// MemoryCode is the fault code of work that does not fit into a pool.
const MemoryCode = "script_memory"

// IsMemory reports whether work failed because it did not fit into a pool, so that it may succeed later.
func IsMemory(err error) bool {
	for {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code == MemoryCode {
			return ok
		}
		err = f.Cause
	}
}

// Pool is memory that many runs share. It is safe for concurrent use.
type Pool struct {
	all, each int64

	mu    sync.Mutex
	held  int64
	owner map[principal.Owner]int64
}

// NewPool returns a pool of so many bytes, of which one owner may hold each.
func NewPool(all, each int64) *Pool {
	return &Pool{all: all, each: each, owner: make(map[principal.Owner]int64)}
}

// Run begins a piece of work of an owner. It ends with ctx, and gives back what it holds
// with [Run.Close]. A nil pool has no bound.
func (p *Pool) Run(ctx context.Context, owner principal.Owner) *Run {
	return &Run{ctx: ctx, pool: p, owner: owner}
}

// Room returns an error if an owner cannot hold so many bytes more.
func (p *Pool) Room(owner principal.Owner, bytes int64) error {
	if err := p.hold(owner, bytes); err != nil {
		return err
	}
	return p.hold(owner, -bytes)
}

// Held returns how many bytes are held now.
func (p *Pool) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// hold changes what an owner holds.
func (p *Pool) hold(owner principal.Owner, bytes int64) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.owner[owner] + bytes
	switch {
	case bytes > 0 && now > p.each:
		return fault.New(fault.Conflict, MemoryCode,
			"the scripts of this owner hold %d MiB together, the most that one owner may hold; end an alert on a script, or ask for fewer scripts at a time", p.each>>20)
	case bytes > 0 && p.held+bytes > p.all:
		return fault.New(fault.Conflict, MemoryCode,
			"all scripts on this server hold %d MiB together, the most that they may hold; ask again later", p.all>>20)
	}
	p.held += bytes
	if now > 0 {
		p.owner[owner] = now
	} else {
		delete(p.owner, owner)
	}
	return nil
}

// Run is one piece of work. A nil one has no bound and does not end. Not safe for
// concurrent use.
type Run struct {
	ctx   context.Context //nolint:containedctx // it is the end of this piece of work, asked in the middle of it
	pool  *Pool
	owner principal.Owner
	held  int64
	spent time.Duration // processor time
}

// Part begins another piece of the same work, which gives back what it holds on its own.
func (r *Run) Part() *Run {
	if r == nil {
		return nil
	}
	return &Run{ctx: r.ctx, pool: r.pool, owner: r.owner}
}

// Hold says that the work holds so many bytes more, or less where bytes is negative. The
// error names the bound that they do not fit into; nothing is held then.
func (r *Run) Hold(bytes int64) error {
	if r == nil {
		return nil
	}
	if err := r.pool.hold(r.owner, bytes); err != nil {
		return err
	}
	r.held += bytes
	return nil
}

// In says in which context the work goes on, for work that is done in several parts.
func (r *Run) In(ctx context.Context) {
	if r != nil {
		r.ctx = ctx
	}
}

// Err says why the work must end now; nil while it may go on.
func (r *Run) Err() error {
	if r == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// Close gives back everything that the work holds.
func (r *Run) Close() {
	if r != nil {
		_ = r.Hold(-r.held) // less always fits
	}
}
