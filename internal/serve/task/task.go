// Package task keeps the tasks of clients: calls that go on after they were answered, and orders that wait for the owner.
// A task belongs to the token that began it. Calls end with the process; orders are those of the ledger, so that their tasks
// survive it.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/run"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/trading/order"
)

const (
	usualWait = 2 * time.Second
	runTTL    = time.Hour
	runPrefix = "run-"
)

// Config configures Tasks. Every field is optional.
type Config struct {
	Wait   time.Duration // after which a call becomes a task; 0 for 2 s
	Limit  *run.Limit    // of calls that go on, with those of others
	Peers  Peers         // nil on a single node
	Orders Orders        // nil without trading
	// Render returns an order, and the error that placing it ended with, as the tool that places orders does. It is required with Orders.
	Render func(ctx context.Context, placed order.Placed, failed error) (mcp.Result, error)
}

// Peers are the other replicas.
type Peers interface {
	// Self names this replica in ids, in capital letters and digits.
	Self() string
	// Ask passes a call to Answer of another replica. It returns mcp.ErrNoTask if that one is gone.
	Ask(ctx context.Context, replica string, call []byte) ([]byte, error)
}

// Tasks implements mcp.TaskSet. It is safe for concurrent use. Close it after use.
type Tasks struct {
	cfg  Config
	runs run.Runs[mcp.Result]
}

// New returns tasks without any.
func New(cfg Config) *Tasks {
	if cfg.Wait == 0 {
		cfg.Wait = usualWait
	}
	return &Tasks{cfg: cfg, runs: run.Runs[mcp.Result]{Limit: cfg.Limit}}
}

// Close cancels the calls that go on, and waits for them.
func (t *Tasks) Close() { t.runs.Close() }

// Run runs a call, which becomes a task if it takes long.
func (t *Tasks) Run(ctx context.Context, caller principal.Caller, call func(context.Context) (mcp.Result, error)) (*mcp.Task, mcp.Result, error) {
	going, result, err := t.runs.Do(ctx, caller, t.cfg.Wait, mcp.Progress(ctx), func(ctx context.Context, note func(done, total int, message string)) (mcp.Result, error) {
		return call(mcp.WithTask(ctx, note))
	})
	if going == nil {
		return nil, result, err
	}
	return t.ofRun(going), mcp.Result{}, nil
}

// Get returns a task of the caller's.
func (t *Tasks) Get(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error) {
	replica, local, isRun := parse(id)
	switch {
	case !isRun:
		return t.ofOrder(ctx, caller, id)
	case replica != t.self():
		return t.ask(ctx, replica, peerCall{Caller: caller, ID: local})
	}
	return t.local(caller, local)
}

// Cancel ends a task of the caller's that has not ended.
func (t *Tasks) Cancel(ctx context.Context, caller principal.Caller, id string) error {
	replica, local, isRun := parse(id)
	switch {
	case !isRun:
		return t.withdraw(ctx, caller, id)
	case replica != t.self():
		_, err := t.ask(ctx, replica, peerCall{Caller: caller, ID: local, Cancel: true})
		return err
	}
	return t.stop(caller, local)
}

// self is the name of this replica, "" on a single node.
func (t *Tasks) self() string {
	if t.cfg.Peers == nil {
		return ""
	}
	return t.cfg.Peers.Self()
}

// parse reads the id of a run: its replica, "" for a single node, and its id there.
func parse(id string) (replica, local string, isRun bool) {
	rest, isRun := strings.CutPrefix(id, runPrefix)
	if replica, local, ok := strings.Cut(rest, "-"); ok {
		return replica, local, isRun
	}
	return "", rest, isRun
}

// find returns a run of the caller's here.
func (t *Tasks) find(caller principal.Caller, id string) (*run.Run[mcp.Result], error) {
	found, ok := t.runs.Get(caller.Subject, id)
	if !ok || found.By().Key != caller.Key {
		return nil, mcp.ErrNoTask
	}
	return found, nil
}

func (t *Tasks) local(caller principal.Caller, id string) (*mcp.Task, error) {
	found, err := t.find(caller, id)
	if err != nil {
		return nil, err
	}
	return t.ofRun(found), nil
}

func (t *Tasks) stop(caller principal.Caller, id string) error {
	found, err := t.find(caller, id)
	if err == nil {
		found.Cancel()
	}
	return err
}

// ofRun describes a run.
func (t *Tasks) ofRun(r *run.Run[mcp.Result]) *mcp.Task {
	id := r.ID
	if self := t.self(); self != "" {
		id = self + "-" + id
	}
	task := &mcp.Task{ID: runPrefix + id, Status: mcp.TaskWorking, Created: r.Began, TTL: runTTL}
	if !r.Done() {
		task.Message, _ = r.Progress()
		task.Updated = r.Changed()
		return task
	}
	task.Updated = r.Changed()
	result, err := r.Result()
	switch {
	case r.Cancelled() && (err != nil || result.IsError):
		task.Status = mcp.TaskCancelled
	case err != nil:
		task.Status = mcp.TaskFailed
		if failure, ok := errors.AsType[*rpc.Error](err); ok {
			task.Failure = failure
		} else {
			task.Failure = &rpc.Error{Code: rpc.CodeInternal, Message: "internal error"}
		}
	default:
		task.Status, task.Result = mcp.TaskCompleted, &result
	}
	return task
}

// peerCall asks another replica about a run of its own.
type peerCall struct {
	Caller principal.Caller
	ID     string
	Cancel bool
	From   int // where the part of the answer begins
}

// An answer is sent in parts, each after a byte that says whether it is the last.
const (
	partSize = 256 << 10
	maxParts = 64
	morePart = '+'
	lastPart = '.'
)

// ask asks the replica that runs a call.
func (t *Tasks) ask(ctx context.Context, replica string, call peerCall) (*mcp.Task, error) {
	if t.cfg.Peers == nil || !isName(replica) {
		return nil, mcp.ErrNoTask
	}
	var answer []byte
	for range maxParts {
		call.From = len(answer)
		body, err := json.Marshal(call)
		if err != nil {
			return nil, fmt.Errorf("write the call: %w", err)
		}
		part, err := t.cfg.Peers.Ask(ctx, replica, body)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			break
		}
		answer = append(answer, part[1:]...)
		if part[0] == lastPart {
			return readAnswer(answer)
		}
	}
	return nil, errors.New("the answer of a replica about a task is incomplete")
}

func readAnswer(answer []byte) (*mcp.Task, error) {
	var task *mcp.Task
	if err := json.Unmarshal(answer, &task); err != nil {
		return nil, fmt.Errorf("read the answer of a replica about a task: %w", err)
	}
	if task == nil {
		return nil, mcp.ErrNoTask
	}
	return task, nil
}

// isName reports whether a text may be the name of a replica. Others must not become part of a subject.
func isName(text string) bool {
	return text != "" && len(text) <= 64 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// Answer answers the call of another replica.
func (t *Tasks) Answer(_ context.Context, body []byte) ([]byte, error) {
	var call peerCall
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, fmt.Errorf("read a call about a task: %w", err)
	}
	if call.Cancel {
		_ = t.stop(call.Caller, call.ID) // the answer says whether there is one
	}
	task, err := t.local(call.Caller, call.ID)
	if err != nil {
		task = nil
	}
	answer, err := strictjson.Marshal(task) // the bytes of results stay
	if err != nil {
		return nil, fmt.Errorf("write a task: %w", err)
	}
	rest := answer[min(max(call.From, 0), len(answer)):]
	if len(rest) > partSize {
		return append([]byte{morePart}, rest[:partSize]...), nil
	}
	return append([]byte{lastPart}, rest...), nil
}
