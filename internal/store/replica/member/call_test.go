package member_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// pair returns two replicas that know each other, and a shard that b owns.
func pair(t *testing.T) (a, b *member.Group, conn *conn.Conn, name string) {
	t.Helper()
	prefix := replicatest.NewPrefix()
	a, _ = replicatest.Join(t, replicatest.Servers(), prefix, "a")
	b, conn = replicatest.Join(t, replicatest.Servers(), prefix, "b")
	replicatest.Agree(t, a, b)
	return a, b, conn, replicatest.OwnedShard(t, b)
}

func TestCall_ReachesTheShardOwner(t *testing.T) {
	t.Parallel()
	a, b, _, name := pair(t)
	a.Handle("who", replicatest.Answering("a "))
	b.Handle("who", replicatest.Answering("b "))
	for i, asker := range []*member.Group{a, b} {
		got, err := asker.Call(t.Context(), name, "who", []byte("x"))
		if err != nil || string(got) != "b x" {
			t.Errorf("asker %d got %q, %v", i, got, err)
		}
	}
	if got, err := b.Call(t.Context(), replicatest.OwnedShard(t, a), "who", bytes.Repeat([]byte("y"), 100_000)); err != nil || len(got) != 100_002 {
		t.Errorf("a long call got %d bytes, %v", len(got), err)
	}
	if _, err := a.Call(t.Context(), name, "who", make([]byte, 2<<20)); !errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, member.ErrOutcomeUnknown) {
		t.Errorf("a call that is too long: %v", err)
	}
}

func TestCall_ReturnsFaultsUnchanged(t *testing.T) {
	t.Parallel()
	a, b, _, name := pair(t)
	whole := &fault.Error{
		Kind: fault.Conflict, Code: "some_code", Message: "a sentence", Field: "field", Value: "value <&>", Allowed: "allowed", Suggestions: []string{"one", "two"},
		Retryable: true, RetryAfter: 1500 * time.Millisecond, Cause: errors.New("the cause"),
	}
	sameText := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Cause" }, cmp.Comparer(func(x, y error) bool {
		return x == nil && y == nil || x != nil && y != nil && x.Error() == y.Error()
	}))
	for text, want := range map[string]*fault.Error{
		"all": whole, "little": {Kind: fault.Invalid}, "no cause": fault.Missing("symbol", "one"), "internal": {Message: "m"},
	} {
		b.Handle("fail", func(context.Context, []byte) ([]byte, error) { return nil, fmt.Errorf("wrapped: %w", want) })
		_, err := a.Call(t.Context(), name, "fail", nil)
		if diff := cmp.Diff(want, fault.Of(err), sameText); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	b.Handle("fail", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("a plain error") })
	if _, err := a.Call(t.Context(), name, "fail", nil); err == nil || fault.Of(err) != nil || !strings.Contains(err.Error(), "a plain error") {
		t.Errorf("a plain error became %v", err)
	}
	b.Handle("fail", func(context.Context, []byte) ([]byte, error) { panic("oh") })
	for _, asker := range []*member.Group{a, b} {
		if _, err := asker.Call(t.Context(), name, "fail", nil); fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "oh") {
			t.Errorf("a panic became %v", err)
		}
	}
}

// ask calls "who", and again if the call ended unexecuted after the full wait for an owner: while
// servers stall, a dead replica counts as live for longer. An earlier end is an error.
func ask(t *testing.T, m *member.Group, name string) (answer []byte, err error) {
	t.Helper()
	for began := time.Now(); ; {
		asked := time.Now()
		answer, err = m.Call(t.Context(), name, "who", nil)
		if !errors.Is(err, member.ErrNotShardOwner) || time.Since(asked) < member.OwnerTime || time.Since(began) > replicatest.Patience {
			return answer, err
		}
	}
}

// An unexecuted call is retried at the next owner.
func TestCall_RetriesAtTheNextOwner(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(t *testing.T, a, b *member.Group, conn *conn.Conn){
		"one that died": func(t *testing.T, a, b *member.Group, conn *conn.Conn) {
			t.Helper()
			conn.Close()
			replicatest.Eventually(t, "the servers know that b has unsubscribed", func() bool { return a.Unheard(b.Self()) })
		},
		"one that left": func(t *testing.T, _, b *member.Group, _ *conn.Conn) {
			t.Helper()
			if err := b.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"one that closed": func(t *testing.T, a, b *member.Group, _ *conn.Conn) {
			t.Helper()
			b.Close()
			replicatest.Eventually(t, "the servers know that b has unsubscribed", func() bool { return a.Unheard(b.Self()) })
		},
		"one that cannot yet": func(_ *testing.T, _, b *member.Group, _ *conn.Conn) {
			tries := 0
			b.Handle("who", func(context.Context, []byte) ([]byte, error) {
				if tries++; tries < 5 {
					return nil, fmt.Errorf("not yet: %w", member.ErrNotShardOwner)
				}
				return []byte("a"), nil
			})
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a, b, conn, name := pair(t)
			a.Handle("who", replicatest.Answering("a"))
			b.Handle("who", replicatest.Answering("b"))
			end(t, a, b, conn)
			if got, err := ask(t, a, name); err != nil || string(got) != "a" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestCall_WaitsForAHandler(t *testing.T) {
	t.Parallel()
	a, b, _, name := pair(t)
	late := time.AfterFunc(200*time.Millisecond, func() { b.Handle("late", replicatest.Answering("b")) })
	defer late.Stop()
	if got, err := a.Call(t.Context(), name, "late", nil); err != nil || string(got) != "b" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCall_FailsUnexecutedWhenNoReplicaIsReady(t *testing.T) {
	t.Parallel()
	a, b, _, name := pair(t)
	for _, m := range []*member.Group{a, b} {
		if err := m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	replicatest.Eventually(t, "a knows that no replica is ready", func() bool { id, _ := a.ShardOwner(name); return id == "" })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := a.Call(ctx, name, "who", nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, member.ErrOutcomeUnknown) {
		t.Errorf("with little time: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := member.Alone(true, replicatest.Quiet()).Call(t.Context(), name, "who", nil)
		if f := fault.Of(err); !errors.Is(err, member.ErrNotShardOwner) || errors.Is(err, member.ErrOutcomeUnknown) || f.Kind != fault.Unavailable || !f.Retryable || !strings.Contains(f.Message, "nothing was executed") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited != member.OwnerTime {
			t.Errorf("after %s", waited)
		}
	})
}

// A call that was sent may have been executed, so it is not retried.
func TestCall_OutcomeIsUnknownWithoutAReply(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct {
		patience time.Duration
		dies     bool
	}{
		"the caller does not wait": {3 * time.Second, false},
		"the owner dies":           {replicatest.Patience, true},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a, b, conn, name := pair(t)
			a.Handle("wait", replicatest.Answering("a"))
			began, ended := make(chan struct{}), make(chan struct{})
			b.Handle("wait", func(ctx context.Context, _ []byte) ([]byte, error) {
				close(began)
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			})
			go func() {
				if <-began; c.dies {
					conn.Close()
				}
			}()
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			_, err := a.Call(ctx, name, "wait", nil)
			took := time.Since(start)
			if !errors.Is(err, member.ErrOutcomeUnknown) || errors.Is(err, member.ErrNotShardOwner) || fault.Of(err).Code != "outcome_unknown" {
				t.Fatalf("after %s: %v", took, err)
			}
			if c.dies {
				if a.Live(b.Self()) {
					t.Errorf("after %s, while the owner is live: %v", took, err)
				}
				return
			}
			if took < c.patience {
				t.Errorf("after %s: %v", took, err)
			}
			select {
			case <-ended: // with the caller's context
			case <-time.After(replicatest.Patience):
				t.Error("the handler continues without a caller")
			}
		})
	}
}

// A halt passes while the maximum of calls is in progress.
func TestPrioritize_CallsPassAFullReplica(t *testing.T) {
	t.Parallel()
	a, b, _, name := pair(t)
	began, over := make(chan struct{}), make(chan struct{})
	b.Handle("slow", func(context.Context, []byte) ([]byte, error) {
		began <- struct{}{}
		<-over
		return nil, nil
	})
	b.Handle("other", replicatest.Answering("b"))
	b.Handle("halt", replicatest.Answering("b"))
	b.Prioritize("halt")
	var calls sync.WaitGroup
	for range 256 {
		calls.Go(func() {
			if _, err := a.Call(t.Context(), name, "slow", nil); err != nil {
				t.Error(err)
			}
		})
	}
	for range 256 {
		<-began
	}
	if _, err := a.Call(t.Context(), name, "other", nil); !errors.Is(err, member.ErrNotShardOwner) {
		t.Errorf("one call too many: %v", err)
	}
	if got, err := a.Call(t.Context(), name, "halt", nil); err != nil || string(got) != "b" {
		t.Errorf("a halt: %q, %v", got, err)
	}
	close(over)
	calls.Wait()
}

// joinOver joins through a proxy.
func joinOver(t *testing.T, proxy *replicatest.Proxy, prefix, name string) *member.Group {
	t.Helper()
	m, err := member.Join(t.Context(), replicatest.ConnectAt(t, proxy.URL, prefix), member.Info{Name: name}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.Activate(t.Context())
	return m
}

// A call in progress when a connection breaks is lost without an error. The caller notices before
// replyTimeout.
func TestCall_OutcomeIsUnknownAfterAReconnect(t *testing.T) {
	t.Parallel()
	for how, whose := range map[string]int{"of the caller": 0, "of the owner": 1} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			prefix, ways := replicatest.NewPrefix(), []*replicatest.Proxy{replicatest.NewProxy(t, replicatest.Servers()), replicatest.NewProxy(t, replicatest.Servers())}
			a, b := joinOver(t, ways[0], prefix, "a"), joinOver(t, ways[1], prefix, "b")
			replicatest.Agree(t, a, b)
			name := replicatest.OwnedShard(t, b)
			b.Handle("wait", func(ctx context.Context, _ []byte) ([]byte, error) {
				ways[whose].CutAtNextReply() // the next heartbeat cuts it
				<-ctx.Done()                 // as if the call were lost
				return nil, ctx.Err()
			})
			b.Handle("who", replicatest.Answering("b"))
			start := time.Now()
			_, err := a.Call(t.Context(), name, "wait", nil)
			took := time.Since(start)
			// It noticed, and did not wait for the timeout.
			if !errors.Is(err, member.ErrOutcomeUnknown) || errors.Is(err, member.ErrNotShardOwner) || !errors.Is(err, context.Canceled) || !ways[whose].IsCut() {
				t.Errorf("after %s: %v", took, err)
			}
			t.Logf("noticed after %s", took)
			if got, err := ask(t, a, name); err != nil || string(got) != "b" {
				t.Errorf("the next call: %q, %v", got, err)
			}
		})
	}
}
