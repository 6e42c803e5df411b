package cluster

import (
	"context"
	"errors"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/trading/desk"
)

// FNV-1a, 64 bits.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// seat is a member in the draw for the ownership of a name.
type seat struct {
	id       string
	hash     uint64 // of the id, to which the name is added
	draining bool   // it takes part in no draw
}

func seatOf(id string, draining bool) seat { return seat{id, fnv(fnvBasis, id), draining} }

func fnv(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// draw returns what the member has drawn for a name. The highest wins: a member that
// goes gives up its own names and moves no others (rendezvous hashing).
func (s seat) draw(name string) uint64 {
	h := fnv(s.hash, name)
	// FNV hardly moves the upper bits for the last bytes; the finaliser of
	// MurmurHash3 does.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Owner returns who owns a name, as far as is known here, and whether that is this
// replica. It is "" when every member drains.
func (m *Members) Owner(name string) (id string, mine bool) {
	id = highest(*m.seats.Load(), name)
	return id, id == m.id
}

// highest returns who draws the highest number for a name, "" when everyone drains.
func highest(seats []seat, name string) (id string) {
	var best uint64
	for _, s := range seats {
		if s.draining {
			continue
		}
		if d := s.draw(name); id == "" || d > best {
			id, best = s.id, d
		}
	}
	return id
}

// longestPause is how long work that ends early again and again waits at most, and
// how long it must last to count as steady.
const longestPause = time.Minute

// While runs work each time this replica owns a name, ends its context when it does
// no longer, and returns when ctx ends, with ctx's error, and work has returned. Work
// that returns earlier begins again after a moment, and after a longer one each time
// that it does so again: what it does at its beginning may last, such as a write.
func (m *Members) While(ctx context.Context, name string, work func(ctx context.Context) error) error {
	wait := beatEvery
	for {
		changed := m.Changed()
		if _, mine := m.Owner(name); mine {
			wait = m.term(ctx, name, wait, work)
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// term runs work until it returns, and after an early return waits, for as long as
// the name is owned. It returns how long to wait the next time.
func (m *Members) term(ctx context.Context, name string, wait time.Duration, work func(ctx context.Context) error) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		for {
			changed := m.Changed()
			if _, mine := m.Owner(name); !mine {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-watched }()
	m.log.InfoContext(ctx, "this replica becomes the owner", "name", name)
	began := time.Now()
	err := work(ctx)
	if time.Since(began) >= longestPause {
		wait = beatEvery
	}
	if ctx.Err() != nil {
		m.log.InfoContext(ctx, "this replica is the owner no longer", "name", name)
		return wait
	}
	m.log.WarnContext(ctx, "what an owner does has ended early; it begins again", "name", name, "after", wait, "error", err)
	pause(ctx, wait)
	if unserved(err) {
		return wait
	}
	return min(2*wait, longestPause)
}

// unserved reports whether work ended because the servers do not answer. It waited
// for them long enough, and nothing lasts of it; when they are back it is wanted soon.
func unserved(err error) bool {
	return fault.KindOf(err) == fault.Unavailable && !errors.Is(err, desk.ErrFenced)
}
