package logins

import (
	"context"
	"runtime"

	"candela/internal/access/oauth"
)

// Overtake lets a replica with a stopped follower receive a generation and, after it has compared
// that with the known one, switch to another in between, as RevokeAll does. It returns the key of
// the received one.
func (t *Store) Overtake(ctx context.Context) oauth.SealKey {
	known := t.generation.Load()
	between := newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1, known.passphraseMatches)
	heard := between.next(oauth.NewSealKey(), reasonOwner)
	t.overtake(between, func() { t.onGeneration(ctx, heard, known.seq+2) })
	return heard.Key
}

// OvertakePassphraseCheck lets a replica with a stopped follower check its passphrase while another
// generation starts.
func (t *Store) OvertakePassphraseCheck(ctx context.Context) {
	known := t.generation.Load()
	t.generation.Store(newCurrentGeneration(known.loginGeneration, known.seq, false))
	t.overtake(newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1, false), func() { t.checkPassphrase(ctx) })
}

// overtake switches to a generation when act is about to switch to another.
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

// Ahead lets a replica with a stopped follower know a generation that the answering servers do not.
func (t *Store) Ahead() {
	known := t.generation.Load()
	t.switchTo(newCurrentGeneration(known.next(oauth.NewSealKey(), reasonOwner), known.seq+1000, known.passphraseMatches), known)
}

// FollowAgain restarts the follower after Close, like a reconnected replica.
func (t *Store) FollowAgain() {
	watching, stop := context.WithCancel(context.Background())
	t.stop, t.done = stop, make(chan struct{})
	go t.follow(watching, t.generation.Load().seq)
}
