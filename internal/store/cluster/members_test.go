package cluster_test

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

	"candela/internal/kit/fault"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
	"candela/internal/trading/desk"
)

// patience bounds what waits for servers on a loaded machine.
const patience = 2 * time.Minute

// usual is the patience of a connection to which no test gives another. A replica that
// others ask has less than they have with its answer.
const usual = 20 * time.Second

// join makes a member of a prefix on a connection of its own.
func join(tb testing.TB, to *natstest.Cluster, prefix, name string) (*cluster.Members, *cluster.Conn) {
	tb.Helper()
	conn := connect(tb, to, prefix)
	m, err := conn.Join(tb.Context(), cluster.Who{Name: name}, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Close)
	m.Enter(tb.Context())
	return m, conn
}

// eventually waits until ok reports true.
func eventually(tb testing.TB, what string, ok func() bool) time.Duration {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for ; time.Since(began) < patience; <-tick.C {
		if ok() {
			return time.Since(began)
		}
	}
	tb.Fatalf("after %s still not: %s", patience, what)
	return 0
}

// agree waits until the members know each other and nobody else, and who owns.
func agree(tb testing.TB, members ...*cluster.Members) {
	tb.Helper()
	eventually(tb, "the members agree on who they are", func() bool {
		for _, m := range members {
			if m.Count() != len(members) {
				return false
			}
			for _, other := range members {
				if !m.Live(other.Self()) || !m.Agrees(other) {
					return false
				}
			}
		}
		return true
	})
}

// nameOf returns a name that a member owns.
func nameOf(tb testing.TB, m *cluster.Members) string {
	tb.Helper()
	for i := range 1000 {
		name := "name/" + strconv.Itoa(i)
		if _, mine := m.Owner(name); mine {
			return name
		}
	}
	tb.Fatal("the member owns nothing")
	return ""
}

func TestMembers_EachNameHasOneOwner(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	a, _ := join(t, servers, prefix, "a")
	b, _ := join(t, servers, prefix, "b")
	c, _ := join(t, servers, prefix, "c")
	agree(t, a, b, c)
	before, held := make(map[string]string), make(map[string]int)
	for i := range 3000 {
		name := "alert/binance:S" + strconv.Itoa(i)
		id, mine := a.Owner(name)
		for _, m := range []*cluster.Members{b, c} {
			if other, _ := m.Owner(name); other != id {
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
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the others see that b leaves", func() bool {
		id, _ := a.Owner(firstOf(before, b.Self()))
		other, _ := c.Owner(firstOf(before, b.Self()))
		return id != b.Self() && other == id
	})
	for name, was := range before {
		if id, _ := a.Owner(name); was != b.Self() && id != was || id == b.Self() {
			t.Fatalf("%s of %s went to %s when %s left", name, was, id, b.Self())
		}
	}
	if !a.Live(b.Self()) {
		t.Error("one that drains is not live")
	}
	b.Close()
	agree(t, a, c)
}

func firstOf(owners map[string]string, id string) string {
	for name, owner := range owners {
		if owner == id {
			return name
		}
	}
	return ""
}

func TestMembers_OneThatJoinsOwnsNothingBeforeItEnters(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	a, _ := join(t, servers, prefix, "a")
	b, err := connect(t, servers, prefix).Join(t.Context(), cluster.Who{Name: "b"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	agree(t, a, b)
	for i := range 100 {
		name := "name/" + strconv.Itoa(i)
		here, _ := a.Owner(name)
		there, mine := b.Owner(name)
		if here != a.Self() || there != a.Self() || mine {
			t.Fatalf("%s belongs to %s at a, and to %s at b", name, here, there)
		}
	}
	b.Enter(t.Context())
	name := nameOf(t, b)
	eventually(t, "the other sees it", func() bool { id, _ := a.Owner(name); return id == b.Self() })
}

func TestMembers_OneThatIsKilledIsReplaced(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	a, _ := join(t, servers, prefix, "a")
	b, conn := join(t, servers, prefix, "b")
	agree(t, a, b)
	name := nameOf(t, b)
	changed := a.Changed()
	conn.Close()
	took := eventually(t, "the name has a new owner", func() bool { _, mine := a.Owner(name); return mine })
	<-changed
	t.Logf("a killed member was replaced after %s", took.Round(time.Millisecond))
}

// TestMembers_DieByHeartbeatsOfOthers counts how many of its own heartbeats a member
// sees after the last of another one before it gives that one up, with and without
// others between them.
func TestMembers_DieByHeartbeatsOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beats string // in the order in which a sees them
		live  bool   // b, in the end
	}{
		"one that is late":             {"baaa", true},
		"one that is silent":           {"baaaa", false},
		"one that was late":            {"baaabaaa", true},
		"one that is silent since":     {"baaabaaaa", false},
		"one that comes back":          {"baaaaaab", true},
		"while another is heard":       {"bacacaca", false},
		"while only others are heard":  {"bccccccccaaa", true},
		"while nobody's are taken":     {"b", true},
		"one that has said good-bye":   {"bB", false},
		"one that came after good-bye": {"bBb", true},
	} {
		if live := cluster.LiveAfter(c.beats); live != c.live {
			t.Errorf("%s (%s): it is live: %v", name, c.beats, live)
		}
	}
}

func TestMembers_OneThatWasPausedComesBack(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	a, _ := join(t, servers, prefix, "a")
	b, _ := join(t, servers, prefix, "b")
	agree(t, a, b)
	name := nameOf(t, b)
	release := b.HoldBeats()
	eventually(t, "the name has a new owner", func() bool { _, mine := a.Owner(name); return mine })
	release()
	eventually(t, "the name is back", func() bool { id, _ := a.Owner(name); return id == b.Self() })
	agree(t, a, b)
}

func TestMembers_NobodyDiesWithALeader(t *testing.T) {
	t.Parallel()
	three, prefix := start(t, 3), newPrefix()
	a, _ := join(t, three, prefix, "a")
	b, _ := join(t, three, prefix, "b")
	agree(t, a, b)
	leader := leaderOf(t, three, prefix+"_MEMBERS")
	changes := [...]<-chan struct{}{a.Changed(), b.Changed()}
	three.Kill(leader)
	eventually(t, "another server leads", func() bool { l := three.Leader(prefix + "_MEMBERS"); return l >= 0 && l != leader })
	restart(t, three, leader)
	// Long enough for a member to die by heartbeats that come again.
	beats := a.Beats()
	eventually(t, "heartbeats come again", func() bool { return a.Beats() > beats+6 })
	for i, changed := range changes {
		select {
		case <-changed:
			t.Errorf("member %d has seen someone come or go", i)
		default:
		}
	}
	c, _ := join(t, three, prefix, "c")
	agree(t, a, b, c)
}

func TestMembers_GoOnWhenAllServersBeginAnew(t *testing.T) {
	t.Parallel()
	three, prefix := start(t, 3), newPrefix()
	a, _ := join(t, three, prefix, "a")
	b, conn := join(t, three, prefix, "b")
	agree(t, a, b)
	for i := range 3 {
		three.Kill(i)
	}
	restart(t, three, 0, 1, 2)
	c, _ := join(t, three, prefix, "c")
	agree(t, a, b, c)
	conn.Close()
	agree(t, a, c)
}

func TestMembers_WhileRunsAtTheOwnerAlone(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	a, _ := join(t, servers, prefix, "a")
	b, _ := join(t, servers, prefix, "b")
	agree(t, a, b)
	name := nameOf(t, b)
	release := a.HoldBeats() // so that it counts nobody as dead
	defer release()
	short, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := a.While(short, name, func(context.Context) error { t.Error("a runs what b owns"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	terms, ends := make(chan string, 10), make(chan error, 2)
	run := func(m *cluster.Members, id string) {
		ends <- m.While(ctx, name, func(ctx context.Context) error {
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
			case <-time.After(patience):
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
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("b ends", "a begins") // for a moment both may think that it is theirs
	cancel()
	expect("a ends")
	for range 2 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestMembers_WhileBeginsAgainWhatFails lets work fail again and again: the pauses
// grow, but for work that waited for the servers.
func TestMembers_WhileBeginsAgainWhatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		pauses string // as they are logged
		took   time.Duration
	}{
		"by itself":         {errors.New("no"), "1s 2s 4s", 7 * time.Second},
		"for want of place": {fmt.Errorf("%w: moved", desk.ErrFenced), "1s 2s 4s", 7 * time.Second},
		"for want of servers": {
			fault.Unreachable(errors.New("no"), 0, "the servers do not answer"), "1s 1s 1s", 3 * time.Second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			m := cluster.Alone(false, slog.New(slog.NewTextHandler(&log, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			runs, began := 0, time.Now()
			err := m.While(ctx, "name", func(context.Context) error {
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
			for _, found := range regexp.MustCompile(`begins again" name=name after=(\S+)`).FindAllStringSubmatch(log.String(), -1) {
				pauses = append(pauses, found[1])
			}
			if strings.Join(pauses, " ") != c.pauses || took != c.took {
				t.Errorf("%s: after %s with pauses of %v", name, took, pauses)
			}
		})
	}
}
