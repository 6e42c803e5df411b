package member_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/desk"
	"candela/lib/fault"
)

func TestGroup_EachShardHasOneOwner(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Servers(), prefix, "b")
	c, _ := replicatest.Join(t, replicatest.Servers(), prefix, "c")
	replicatest.Agree(t, a, b, c)
	before, held := make(map[string]string), make(map[string]int)
	for i := range 3000 {
		name := "alert/binance:S" + strconv.Itoa(i)
		id, mine := a.ShardOwner(name)
		for _, m := range []*member.Group{b, c} {
			if other, _ := m.ShardOwner(name); other != id {
				t.Fatalf("%s belongs to %s and to %s", name, id, other)
			}
		}
		if mine != (id == a.Self()) {
			t.Fatalf("%s belongs to %s, and mine is %v at %s", name, id, mine, a.Self())
		}
		before[name] = id
		held[id]++
	}
	for id, n := range held {
		if n < 850 || n > 1150 { // six standard deviations
			t.Errorf("%s owns %d of 3000 names", id, n)
		}
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	replicatest.Eventually(t, "the others see that b leaves", func() bool {
		id, _ := a.ShardOwner(firstOf(before, b.Self()))
		other, _ := c.ShardOwner(firstOf(before, b.Self()))
		return id != b.Self() && other == id
	})
	for name, was := range before {
		if id, _ := a.ShardOwner(name); was != b.Self() && id != was || id == b.Self() {
			t.Fatalf("%s of %s went to %s when %s left", name, was, id, b.Self())
		}
	}
	if !a.Live(b.Self()) {
		t.Error("one that drains is not live")
	}
	b.Close()
	replicatest.Agree(t, a, c)
}

func firstOf(owners map[string]string, id string) string {
	for name, owner := range owners {
		if owner == id {
			return name
		}
	}
	return ""
}

func TestGroup_OwnsNothingBeforeActivate(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, err := member.Join(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), member.Info{Name: "b"}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	replicatest.Agree(t, a, b)
	for i := range 100 {
		name := "name/" + strconv.Itoa(i)
		here, _ := a.ShardOwner(name)
		there, mine := b.ShardOwner(name)
		if here != a.Self() || there != a.Self() || mine {
			t.Fatalf("%s belongs to %s at a, and to %s at b", name, here, there)
		}
	}
	b.Activate(t.Context())
	name := replicatest.OwnedShard(t, b)
	replicatest.Eventually(t, "the other sees it", func() bool { id, _ := a.ShardOwner(name); return id == b.Self() })
}

func TestGroup_ReplacesAKilledReplica(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, conn := replicatest.Join(t, replicatest.Servers(), prefix, "b")
	replicatest.Agree(t, a, b)
	name := replicatest.OwnedShard(t, b)
	changed := a.Changed()
	conn.Close()
	took := replicatest.Eventually(t, "the name has a new owner", func() bool { _, mine := a.ShardOwner(name); return mine })
	<-changed
	t.Logf("a killed replica was replaced after %s", took.Round(time.Millisecond))
}

// TestGroup_DeclaresDeadByMissedHeartbeats counts the own heartbeats after another replica's last
// one until that is declared dead, with and without others in between.
func TestGroup_DeclaresDeadByMissedHeartbeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beats string // as LiveAfter reads them
		live  bool   // whether b is live
	}{
		"one that is late":               {"baaa", true},
		"one that is silent":             {"baaaa", false},
		"one that was late":              {"baaabaaa", true},
		"one that is silent since":       {"baaabaaaa", false},
		"one that comes back":            {"baaaaaab", true},
		"while another is heard":         {"bacacaca", false},
		"while only others are heard":    {"bccccccccaaa", true},
		"while none arrive":              {"b", true},
		"one that left":                  {"bB", false},
		"one that left and joined again": {"bBb", true},
	} {
		if live := member.LiveAfter(c.beats); live != c.live {
			t.Errorf("%s (%s): it is live: %v", name, c.beats, live)
		}
	}
}

func TestGroup_TakesBackAPausedReplica(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Servers(), prefix, "b")
	replicatest.Agree(t, a, b)
	name := replicatest.OwnedShard(t, b)
	release := replicatest.HoldHeartbeats(b)
	replicatest.Eventually(t, "the name has a new owner", func() bool { _, mine := a.ShardOwner(name); return mine })
	release()
	replicatest.Eventually(t, "the name is back", func() bool { id, _ := a.ShardOwner(name); return id == b.Self() })
	replicatest.Agree(t, a, b)
}

func TestGroup_DeclaresNobodyDeadWhenALeaderStops(t *testing.T) {
	t.Parallel()
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	a, _ := replicatest.Join(t, three, prefix, "a")
	b, _ := replicatest.Join(t, three, prefix, "b")
	replicatest.Agree(t, a, b)
	leader := replicatest.LeaderOf(t, three, prefix+"_MEMBERS")
	changes := [...]<-chan struct{}{a.Changed(), b.Changed()}
	three.Kill(leader)
	replicatest.Eventually(t, "another server leads", func() bool { l := three.Leader(prefix + "_MEMBERS"); return l >= 0 && l != leader })
	replicatest.Restart(t, three, leader)
	// Long enough to declare a replica dead once heartbeats arrive again.
	beats := a.Beats()
	replicatest.Eventually(t, "heartbeats arrive again", func() bool { return a.Beats() > beats+6 })
	for i, changed := range changes {
		select {
		case <-changed:
			t.Errorf("replica %d has seen a change of the group", i)
		default:
		}
	}
	c, _ := replicatest.Join(t, three, prefix, "c")
	replicatest.Agree(t, a, b, c)
}

func TestGroup_ContinuesAfterAllServersRestart(t *testing.T) {
	t.Parallel()
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	a, _ := replicatest.Join(t, three, prefix, "a")
	b, conn := replicatest.Join(t, three, prefix, "b")
	replicatest.Agree(t, a, b)
	for i := range 3 {
		three.Kill(i)
	}
	replicatest.Restart(t, three, 0, 1, 2)
	c, _ := replicatest.Join(t, three, prefix, "c")
	replicatest.Agree(t, a, b, c)
	conn.Close()
	replicatest.Agree(t, a, c)
}

func TestRunWhileOwner_RunsOnlyAtTheOwner(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	a, _ := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, _ := replicatest.Join(t, replicatest.Servers(), prefix, "b")
	replicatest.Agree(t, a, b)
	name := replicatest.OwnedShard(t, b)
	release := replicatest.HoldHeartbeats(a) // so that it declares nobody dead
	defer release()
	short, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := a.RunWhileOwner(short, name, func(context.Context) error { t.Error("a runs what b owns"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	terms, ends := make(chan string, 10), make(chan error, 2)
	run := func(m *member.Group, id string) {
		ends <- m.RunWhileOwner(ctx, name, func(ctx context.Context) error {
			terms <- id + " begins"
			<-ctx.Done()
			terms <- id + " ends"
			return ctx.Err()
		})
	}
	go run(a, "a")
	go run(b, "b")
	expect := func(want ...string) { // in any order
		t.Helper()
		for len(want) > 0 {
			select {
			case got := <-terms:
				i := slices.Index(want, got)
				if i < 0 {
					t.Fatalf("%s, want %v", got, want)
				}
				want = slices.Delete(want, i, i+1)
			case <-time.After(replicatest.Patience):
				t.Fatalf("no %v", want)
			}
		}
	}
	expect("b begins")
	select {
	case got := <-terms:
		t.Fatalf("%s before b leaves", got)
	default:
	}
	if err := b.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("b ends", "a begins") // both may briefly claim it
	cancel()
	expect("a ends")
	for range 2 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestRunWhileOwner_RestartsFailedWork lets work fail repeatedly: the delays grow, except for work
// that waited for the servers.
func TestRunWhileOwner_RestartsFailedWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		pauses string // as logged
		took   time.Duration
	}{
		"by itself": {errors.New("no"), "1s 2s 4s", 7 * time.Second},
		"fenced":    {fmt.Errorf("%w: moved", desk.ErrFenced), "1s 2s 4s", 7 * time.Second},
		"servers unavailable": {
			fault.Unreachable(errors.New("no"), 0, "the servers do not answer"), "1s 1s 1s", 3 * time.Second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			m := member.Alone(false, slog.New(slog.NewTextHandler(&log, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			runs, began := 0, time.Now()
			err := m.RunWhileOwner(ctx, "name", func(context.Context) error {
				if runs++; runs == 4 {
					cancel()
				}
				return c.err
			})
			took := time.Since(began)
			if runs != 4 || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %d runs and %v", name, runs, err)
			}
			var pauses []string
			for _, found := range regexp.MustCompile(`restarting" shard=name after=(\S+)`).FindAllStringSubmatch(log.String(), -1) {
				pauses = append(pauses, found[1])
			}
			if strings.Join(pauses, " ") != c.pauses || took != c.took {
				t.Errorf("%s: after %s with pauses of %v", name, took, pauses)
			}
		})
	}
}
