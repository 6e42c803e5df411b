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
	"candela/lib/market"
)

// Opener opens the inbox of a replica. Replicas of one store share their records. crash ends
// it: nothing is stored afterwards.
type Opener func(t *testing.T, store string, r *Replica) (inbox notify.Inbox, crash func())

// A Replica is one process of an Installation.
type Replica struct {
	notify.Inbox
	Member *Member

	installation *Installation
	crash        func()
	stop         context.CancelFunc
	done         chan struct{}

	mu       sync.Mutex
	appended int  // entries of the installation that are appended here
	lags     bool // entries are appended on CatchUp only
}

// An Installation holds the committed entries, the replicas and the ended tokens.
type Installation struct {
	t         *testing.T
	maxOutage time.Duration // how long the store may be unavailable
	place     string
	open      Opener
	members   *Members

	mu       sync.Mutex
	entries  []notify.Entry
	replicas []*Replica
	ended    map[string]bool // tokens, by their keys
	started  int
}

func newInstallation(t *testing.T, maxOutage time.Duration, open Opener) *Installation {
	t.Helper()
	return &Installation{t: t, maxOutage: maxOutage, place: t.Name(), open: open, members: NewMembers(), ended: map[string]bool{}}
}

// Config returns the configuration of the replica's inbox over a store.
func (r *Replica) Config(store records.Store) replicated.Config {
	return replicated.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Store: store, Replicas: r.Member,
		FilterTimeout: time.Minute, // the machine of a test may stall
		CatchUp:       func(context.Context) error { r.catchUp(); return nil },
		TokenEnded: func(_ context.Context, key string) (bool, error) {
			r.installation.mu.Lock()
			defer r.installation.mu.Unlock()
			return r.installation.ended[key], nil
		},
	}
}

// start starts a replica.
func (w *Installation) start() *Replica {
	w.t.Helper()
	w.mu.Lock()
	w.started++
	id := "r" + strconv.Itoa(w.started)
	w.mu.Unlock()
	r := &Replica{installation: w, Member: w.members.Join(id), done: make(chan struct{})}
	r.Inbox, r.crash = w.open(w.t, w.place, r)
	w.mu.Lock()
	last := uint64(len(w.entries))
	entries := slices.Clone(w.entries)
	w.replicas = append(w.replicas, r)
	w.mu.Unlock()
	r.Restore(last, entries)
	r.mu.Lock()
	r.appended = len(entries)
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

// leave removes a replica.
func (w *Installation) leave(r *Replica) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.replicas, r)
	if i < 0 {
		return false
	}
	w.replicas = slices.Delete(w.replicas, i, i+1)
	return true
}

// shutdown stops a replica gracefully.
func (r *Replica) shutdown() {
	if r.installation.leave(r) {
		r.stop()
		<-r.done
		r.Member.Die()
		r.crash()
	}
}

// kill ends a replica by a crash.
func (r *Replica) kill() {
	if r.installation.leave(r) {
		r.crash()
		r.stop()
		<-r.done
		r.Member.Die()
	}
}

// lag delays entries until CatchUp.
func (r *Replica) lag(lags bool) {
	r.mu.Lock()
	r.lags = lags
	r.mu.Unlock()
	if !lags {
		r.catchUp()
	}
}

// catchUp appends the committed entries.
func (r *Replica) catchUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.installation.mu.Lock()
	fresh := slices.Clone(r.installation.entries[r.appended:])
	r.installation.mu.Unlock()
	r.Append(fresh)
	r.appended += len(fresh)
}

// fire commits an entry for each symbol.
func (w *Installation) fire(symbols ...string) {
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
func (w *Installation) end(key string) {
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
	r.installation.t.Helper()
	retryUnavailable(r.installation.t, r.installation.maxOutage, func() (none struct{}, err error) {
		return none, r.Subscribe(r.installation.t.Context(), caller(key), filter(symbols...))
	})
}

func (r *Replica) stream(key, last string) notify.Stream {
	r.installation.t.Helper()
	return retryUnavailable(r.installation.t, r.installation.maxOutage, func() (notify.Stream, error) { return r.Open(r.installation.t.Context(), caller(key), last) })
}

func (r *Replica) subscription(key string) notify.Subscription {
	r.installation.t.Helper()
	return retryUnavailable(r.installation.t, r.installation.maxOutage, func() (notify.Subscription, error) {
		return r.Subscription(r.installation.t.Context(), caller(key))
	})
}

func (r *Replica) poll() (*notify.Batch, []uint64) {
	r.installation.t.Helper()
	b := retryUnavailable(r.installation.t, r.installation.maxOutage, func() (*notify.Batch, error) {
		return r.Poll(r.installation.t.Context(), caller("poller"), 0, notify.Bound{})
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

// taken returns what a stream delivers now.
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

// wantEvents checks what a stream delivers now.
func wantEvents(t *testing.T, s notify.Stream, want ...uint64) {
	t.Helper()
	if got := taken(s); !slices.Equal(got, want) {
		t.Fatalf("stream delivered %v, want %v", got, want)
	}
}

// waitClosed waits until a stream has ended.
func waitClosed(t *testing.T, s notify.Stream) {
	t.Helper()
	Eventually(t, func() error {
		select {
		case _, more := <-s.Ready():
			if !more {
				return nil
			}
		default:
		}
		return errors.New("stream still open")
	})
}
