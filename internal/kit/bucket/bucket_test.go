package bucket_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"candela/internal/kit/bucket"
)

func TestSet_KeysHaveBucketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	set := bucket.NewSet[string](bucket.Rate{Burst: 2, Every: time.Second}, 100)
	for i, want := range []time.Duration{0, 0, time.Second, time.Second} {
		if got := set.Take("a", now); got != want {
			t.Errorf("take %d: wait %v, want %v", i, got, want)
		}
	}
	if got := set.Take("b", now); got != 0 {
		t.Errorf("another key waits %v", got)
	}
	if got := set.Take("a", now.Add(time.Second)); got != 0 {
		t.Errorf("after the wait: %v more", got)
	}
	set.GiveBack("a", now.Add(time.Second))
	if got := set.Take("a", now.Add(time.Second)); got != 0 {
		t.Errorf("after one was given back: %v", got)
	}
	set.Forget("a")
	if got := set.Take("a", now.Add(time.Second)); got != 0 {
		t.Errorf("after it was forgotten: %v", got)
	}
}

// Reserve hands out places in a queue, up to a longest wait.
func TestSet_ReserveQueues(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	set := bucket.NewSet[string](bucket.Rate{Burst: 2, Every: time.Second}, 100)
	for i, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second} {
		if got := set.Reserve("a", now, 2*time.Second); got != want {
			t.Errorf("place %d: wait %v, want %v", i, got, want)
		}
	}
	if got := set.Reserve("a", now.Add(5*time.Second), 2*time.Second); got != 0 {
		t.Errorf("later: wait %v", got)
	}
}

// A key in use keeps its bucket however many others come by.
func TestSet_RemembersKeysInUse(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	set := bucket.NewSet[string](bucket.Rate{Burst: 1, Every: time.Hour}, 10)
	set.Take("a", now)
	for i := range 1000 {
		set.Take(strconv.Itoa(i), now)
		if i%3 == 0 && set.Take("a", now) == 0 {
			t.Fatalf("forgotten after %d others", i)
		}
	}
}

func TestNetwork_IsOfOneHousehold(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "fe80::1%eth0": "fe80::",
	} {
		if got := bucket.Network(netip.MustParseAddr(address)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, want %s", address, got, want)
		}
	}
}
