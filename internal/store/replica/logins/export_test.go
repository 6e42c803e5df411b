package logins

import (
	"context"
	"runtime"

	"candela/internal/access/oauth"
)

// Overtake has a replica, whose watcher has ended, hear of an era and, after it has
// looked which one it knows, enter the one between as EndAll does. It returns the key
// that was heard of.
func (t *Store) Overtake(ctx context.Context) oauth.SealKey {
	known := t.generation.Load()
	between := newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1, known.passphraseMatches)
	heard := between.next(oauth.NewSealKey(), reasonOwner)
	t.overtake(between, func() { t.onGeneration(ctx, heard, known.seq+2) })
	return heard.Key
}

// OvertakePassphraseCheck has a replica, whose watcher has ended, find out whether its passphrase
// counts while another era begins.
func (t *Store) OvertakePassphraseCheck(ctx context.Context) {
	known := t.generation.Load()
	t.generation.Store(newCurrentGeneration(known.loginGeneration, known.seq, false))
	t.overtake(newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1, false), func() { t.checkPassphrase(ctx) })
}

// overtake lets an era begin when act is about to enter another.
func (t *Store) overtake(between *currentGeneration, act func()) {
	t.mu.RLock()
	done := make(chan struct{})
	go func() { defer close(done); act() }()
	for t.mu.TryRLock() { // until act waits for the lock
		t.mu.RUnlock()
		runtime.Gosched()
	}
	t.generation.Store(between)
	t.mu.RUnlock()
	<-done
}

// Ahead has a replica, whose watcher has ended, know an era that the servers which
// answer it do not.
func (t *Store) Ahead() {
	known := t.generation.Load()
	t.switchTo(newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1000, known.passphraseMatches), known)
}

// FollowAgain goes on after Close, as a replica does whose connection is back.
func (t *Store) FollowAgain() {
	watching, stop := context.WithCancel(context.Background())
	t.stop, t.done = stop, make(chan struct{})
	go t.follow(watching, t.generation.Load().seq)
}
