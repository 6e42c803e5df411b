package task_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/task"
)

// group is the replicas of a test.
type group map[string]*task.Tasks

// peers are the others of one.
type peers struct {
	group
	self  string
	asked *[]string // names that were asked
}

func (p peers) Self() string { return p.self }

func (p peers) Ask(ctx context.Context, replica string, call []byte) ([]byte, error) {
	*p.asked = append(*p.asked, replica)
	if p.group[replica] == nil {
		return nil, mcp.ErrNoTask
	}
	return p.group[replica].Answer(ctx, call)
}

func replicas(t *testing.T, names ...string) (group, *[]string) {
	t.Helper()
	all, asked := group{}, &[]string{}
	for _, name := range names {
		all[name] = task.New(task.Config{Wait: time.Nanosecond, Peers: peers{all, name, asked}})
		t.Cleanup(all[name].Close)
	}
	return all, asked
}

// large is a result of several parts.
func large() mcp.Result {
	return mcp.Result{Content: []mcp.Content{{Image: bytes.Repeat([]byte{7, 8, 9}, 300_000), MIME: "image/png", Meta: []byte(`{"a":1}`)}, {Text: []byte(`{"b":"<&>\u2028"}`)}}, Structured: []byte(`{"b":"<&>"}`)}
}

// begin starts a call at a replica that ends when it is let go.
func (g group) begin(t *testing.T, at string, by principal.Caller, result mcp.Result) (id string, release func()) {
	t.Helper()
	free := make(chan struct{})
	going, _, err := g[at].Run(t.Context(), by, func(ctx context.Context) (mcp.Result, error) {
		select {
		case <-free:
			return result, nil
		case <-ctx.Done():
			return mcp.Result{IsError: true}, nil
		}
	})
	if err != nil || going == nil {
		t.Fatal(going, err)
	}
	return going.ID, func() { close(free) }
}

// ended asks a replica for a task until it has ended.
func (g group) ended(t *testing.T, at string, by principal.Caller, id string) *mcp.Task {
	t.Helper()
	for range 6000 {
		found, err := g[at].Get(t.Context(), by, id)
		if err != nil {
			t.Fatal(err)
		}
		if found.Status != mcp.TaskWorking {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the task works for a minute")
	return nil
}

func TestReplicas_AnyAnswersForAny(t *testing.T) {
	t.Parallel()
	all, _ := replicas(t, "R1", "R2")
	ann := caller("ann", "a")
	id, release := all.begin(t, "R1", ann, large())
	release()
	here, there := all.ended(t, "R1", ann, id), all.ended(t, "R2", ann, id)
	if there.Status != mcp.TaskCompleted || !here.Updated.Equal(there.Updated) || there.ID != id || there.TTL != here.TTL {
		t.Errorf("here %+v, there %+v", here, there)
	}
	if !bytes.Equal(there.Result.Content[0].Image, large().Content[0].Image) || !bytes.Equal(there.Result.Content[1].Text, large().Content[1].Text) ||
		!bytes.Equal(there.Result.Content[0].Meta, large().Content[0].Meta) || !bytes.Equal(there.Result.Structured, large().Structured) {
		t.Error("the other replica has another result")
	}
	again, _ := all.begin(t, "R1", ann, large())
	for range 2 {
		if err := all["R2"].Cancel(t.Context(), ann, again); err != nil {
			t.Fatal(err)
		}
	}
	if got := all.ended(t, "R2", ann, again); got.Status != mcp.TaskCancelled {
		t.Errorf("after the cancel it is %+v", got)
	}
}

func TestReplicas_KeepTheTasksOfOthersApart(t *testing.T) {
	t.Parallel()
	all, asked := replicas(t, "R1", "R2")
	ann := caller("ann", "a")
	id, release := all.begin(t, "R1", ann, large())
	for name, by := range map[string]principal.Caller{"the owner's other token": caller("ann", "b"), "another owner": caller("bob", "a")} {
		for _, at := range []string{"R1", "R2"} {
			if got, err := all[at].Get(t.Context(), by, id); !errors.Is(err, mcp.ErrNoTask) {
				t.Errorf("%s at %s gets %+v, %v", name, at, got, err)
			}
			if err := all[at].Cancel(t.Context(), by, id); !errors.Is(err, mcp.ErrNoTask) {
				t.Errorf("%s at %s cancels: %v", name, at, err)
			}
		}
	}
	*asked = nil
	for _, forged := range []string{"run-*-x", "run->-x", "run-r1-x", "run-R1.member-x", "run--x", "run- -x", "run-", "run-R1", "order", ""} {
		if got, err := all["R2"].Get(t.Context(), ann, forged); !errors.Is(err, mcp.ErrNoTask) {
			t.Errorf("%q is %+v, %v", forged, got, err)
		}
	}
	if len(*asked) > 0 {
		t.Errorf("asked %q", *asked)
	}
	for _, gone := range []string{"run-R9-x", "run-R1-x", "run-R2-x", "run-R1-R2-x"} {
		if got, err := all["R2"].Get(t.Context(), ann, gone); !errors.Is(err, mcp.ErrNoTask) {
			t.Errorf("%q is %+v, %v", gone, got, err)
		}
	}
	release()
	if got := all.ended(t, "R2", ann, id); got.Status != mcp.TaskCompleted {
		t.Errorf("the task is %+v", got)
	}
}
