package logins

import (
	"context"
	"runtime"

	"candela/internal/access/oauth"
)

// Overtake has a replica, whose watcher has ended, hear of an era and, after it has
// looked which one it knows, enter the one between as EndAll does. It returns the key
// that was heard of.
func (t *Tokens) Overtake(ctx context.Context) oauth.SealKey {
	known := t.era.Load()
	between := newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1, known.ours)
	heard := between.next(oauth.NewSealKey(), byOwner)
	t.overtake(between, func() { t.hear(ctx, heard, known.seq+2) })
	return heard.Key
}

// OvertakeJudge has a replica, whose watcher has ended, find out whether its passphrase
// counts while another era begins.
func (t *Tokens) OvertakeJudge(ctx context.Context) {
	known := t.era.Load()
	t.era.Store(newPresent(known.era, known.seq, false))
	t.overtake(newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1, false), func() { t.judge(ctx) })
}

// overtake lets an era begin when act is about to enter another.
func (t *Tokens) overtake(between *present, act func()) {
	t.mu.RLock()
	done := make(chan struct{})
	go func() { defer close(done); act() }()
	for t.mu.TryRLock() { // until act waits for the lock
		t.mu.RUnlock()
		runtime.Gosched()
	}
	t.era.Store(between)
	t.mu.RUnlock()
	<-done
}

// Ahead has a replica, whose watcher has ended, know an era that the servers which
// answer it do not.
func (t *Tokens) Ahead() {
	known := t.era.Load()
	t.enter(newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1000, known.ours), known)
}

// WatchAgain goes on after Close, as a replica does whose connection is back.
func (t *Tokens) WatchAgain() {
	watching, stop := context.WithCancel(context.Background())
	t.stop, t.done = stop, make(chan struct{})
	go t.watch(watching, t.era.Load().seq)
}
