package logins_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
)

// Guesses of the passphrase count together, at whichever replica they are made.
func TestGuesses_CountOverAllReplicas(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	replicas := []*logins.Store{replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)}
	one, all := oauth.Rate{Burst: 5, Every: time.Hour}, oauth.Rate{Burst: 30, Every: time.Hour}
	take := func(i int, from string) (left int, wait time.Duration) {
		t.Helper()
		left, wait, err := replicas[i%len(replicas)].TakeGuess(t.Context(), from, one, all)
		if err != nil {
			t.Fatal(err)
		}
		return left, wait
	}
	for i := range 5 {
		if left, wait := take(i, "10.0.0.1"); wait > 0 || left != 4-i {
			t.Errorf("guess %d: %d left, wait %v", i, left, wait)
		}
	}
	for i := range replicas {
		if _, wait := take(i, "10.0.0.1"); wait < 50*time.Minute || wait > time.Hour {
			t.Errorf("one more at replica %d: wait %v", i, wait)
		}
	}
	if err := replicas[0].ForgetGuesses(t.Context(), "10.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if left, wait := take(1, "10.0.0.1"); wait > 0 || left != 4 {
		t.Errorf("after a right one: %d left, wait %v", left, wait)
	}
	var passed atomic.Int32 // of many at the same time
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			_, wait, err := replicas[i%len(replicas)].TakeGuess(t.Context(), "10.0.1."+strconv.Itoa(i), one, all)
			if err != nil {
				t.Error(err)
			}
			if wait == 0 {
				passed.Add(1)
			}
		})
	}
	group.Wait()
	if n := passed.Load(); n != 24 { // 6 were taken before
		t.Errorf("%d guesses passed from everywhere, want 24", n)
	}
}
