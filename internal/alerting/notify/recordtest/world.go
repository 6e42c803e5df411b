package recordtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/principal"
	"candela/internal/market"
)

// Opener opens the log of a replica over a place. Replicas of one place share what
// they remember. lose ends it as a crash does: from then on it remembers nothing
// more.
type Opener func(t *testing.T, place string, r *Replica) (log notify.Inbox, lose func())

// Replica is one process of a World.
type Replica struct {
	notify.Inbox
	Member *Member

	world *World
	lose  func()
	stop  context.CancelFunc
	done  chan struct{}

	mu   sync.Mutex
	came int  // how many of the world's entries have come here
	lags bool // entries do not come by themselves
}

// World is an installation: what was committed, who takes part, and which tokens are
// good.
type World struct {
	t       *testing.T
	stalls  time.Duration // for how long who keeps what replicas remember may not answer
	place   string
	open    Opener
	members *Members

	mu       sync.Mutex
	entries  []notify.Entry
	replicas []*Replica
	ended    map[string]bool // tokens, by their keys
	started  int
}

func newWorld(t *testing.T, stalls time.Duration, open Opener) *World {
	t.Helper()
	return &World{t: t, stalls: stalls, place: t.Name(), open: open, members: NewMembers(), ended: map[string]bool{}}
}

// Config returns the configuration of the replica's inbox over a store.
func (r *Replica) Config(store records.Store) replicated.Config {
	return replicated.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: store, Replicas: r.Member,
		FilterTimeout: time.Minute, // the machine of a test may stall
		CatchUp:       func(context.Context) error { r.catchUp(); return nil },
		TokenEnded: func(_ context.Context, key string) (bool, error) {
			r.world.mu.Lock()
			defer r.world.mu.Unlock()
			return r.world.ended[key], nil
		},
	}
}

// start begins a replica.
func (w *World) start() *Replica {
	w.t.Helper()
	w.mu.Lock()
	w.started++
	id := "r" + strconv.Itoa(w.started)
	w.mu.Unlock()
	r := &Replica{world: w, Member: w.members.Join(id), done: make(chan struct{})}
	r.Inbox, r.lose = w.open(w.t, w.place, r)
	w.mu.Lock()
	last := uint64(len(w.entries))
	entries := slices.Clone(w.entries)
	w.replicas = append(w.replicas, r)
	w.mu.Unlock()
	r.Restore(last, entries)
	r.mu.Lock()
	r.came = len(entries)
	r.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	r.stop = stop
	go func() {
		defer close(r.done)
		_ = r.Run(ctx)
	}()
	w.t.Cleanup(r.kill)
	return r
}

// leave takes a replica out of the world.
func (w *World) leave(r *Replica) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.replicas, r)
	if i < 0 {
		return false
	}
	w.replicas = slices.Delete(w.replicas, i, i+1)
	return true
}

// halt ends a replica in order.
func (r *Replica) halt() {
	if r.world.leave(r) {
		r.stop()
		<-r.done
		r.Member.Die()
		r.lose()
	}
}

// kill ends a replica as a crash does.
func (r *Replica) kill() {
	if r.world.leave(r) {
		r.lose()
		r.stop()
		<-r.done
		r.Member.Die()
	}
}

// lag holds entries back until something asks for them.
func (r *Replica) lag(lags bool) {
	r.mu.Lock()
	r.lags = lags
	r.mu.Unlock()
	if !lags {
		r.catchUp()
	}
}

// catchUp appends what was committed.
func (r *Replica) catchUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.world.mu.Lock()
	fresh := slices.Clone(r.world.entries[r.came:])
	r.world.mu.Unlock()
	r.Append(fresh)
	r.came += len(fresh)
}

// fire commits an entry for each symbol.
func (w *World) fire(symbols ...string) {
	w.mu.Lock()
	for _, symbol := range symbols {
		seq := uint64(len(w.entries) + 1)
		w.entries = append(w.entries, notify.Entry{
			Seq: seq, Owner: "owner", Symbol: market.Symbol{Name: symbol}, Type: "price_above", At: time.Now(),
			Data: fmt.Appendf(nil, `{"alert_id":"a-%d"}`, seq),
		})
	}
	all := slices.Clone(w.replicas)
	w.mu.Unlock()
	for _, r := range all {
		r.mu.Lock()
		lags := r.lags
		r.mu.Unlock()
		if !lags {
			r.catchUp()
		}
	}
}

// end ends a token.
func (w *World) end(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[key] = true
}

func caller(key string) principal.Caller {
	return principal.Caller{Subject: "owner", Key: key, ClientKey: "client", Expires: time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second)}
}

func filter(symbols ...string) notify.Filter {
	var f notify.Filter
	for _, s := range symbols {
		f.Symbols = append(f.Symbols, market.Symbol{Name: s})
	}
	return f
}

func (r *Replica) subscribe(key string, symbols ...string) {
	r.world.t.Helper()
	insist(r.world.t, r.world.stalls, func() (none struct{}, err error) {
		return none, r.Subscribe(r.world.t.Context(), caller(key), filter(symbols...))
	})
}

func (r *Replica) stream(key, last string) notify.Stream {
	r.world.t.Helper()
	return insist(r.world.t, r.world.stalls, func() (notify.Stream, error) { return r.Open(r.world.t.Context(), caller(key), last) })
}

func (r *Replica) subscription(key string) notify.Subscription {
	r.world.t.Helper()
	return insist(r.world.t, r.world.stalls, func() (notify.Subscription, error) {
		return r.Subscription(r.world.t.Context(), caller(key))
	})
}

func (r *Replica) poll() (*notify.Batch, []uint64) {
	r.world.t.Helper()
	b := insist(r.world.t, r.world.stalls, func() (*notify.Batch, error) {
		return r.Poll(r.world.t.Context(), caller("poller"), 0, notify.Bound{})
	})
	return b, seqs(b)
}

func seqs(b *notify.Batch) []uint64 {
	all := make([]uint64, 0, len(b.Entries))
	for _, e := range b.Entries {
		all = append(all, e.Seq)
	}
	return all
}

// taken is what a stream gives now.
func taken(s notify.Stream) []uint64 {
	var all []uint64
	for events := s.Take(nil); len(events) > 0; events = s.Take(nil) {
		for _, e := range events {
			text := strings.TrimSuffix(strings.TrimPrefix(string(e.Params()), `{"alert_id":"a-`), `"}`)
			seq, _ := strconv.ParseUint(text, 10, 64)
			all = append(all, seq)
		}
	}
	return all
}

// wants demands what a stream gives now.
func wants(t *testing.T, s notify.Stream, want ...uint64) {
	t.Helper()
	if got := taken(s); !slices.Equal(got, want) {
		t.Fatalf("the stream gave %v, want %v", got, want)
	}
}

// ended waits until a stream is over.
func ended(t *testing.T, s notify.Stream) {
	t.Helper()
	Eventually(t, func() error {
		select {
		case _, more := <-s.Ready():
			if !more {
				return nil
			}
		default:
		}
		return errors.New("the stream is not over")
	})
}
