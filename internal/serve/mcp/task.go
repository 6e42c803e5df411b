package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// Methods of the extension for tasks.
const (
	methodGetTask    = "tasks/get"
	methodUpdateTask = "tasks/update"
	methodCancelTask = "tasks/cancel"

	tasksExtension = metaPrefix + "tasks"
)

// taskPoll is how often clients are to ask for a task.
const taskPoll = 2 * time.Second

// maxTaskID bounds the id of a task, in bytes.
const maxTaskID = 128

// ErrNoTask is returned for a task that does not exist, that has expired, or that another token began.
var ErrNoTask = errors.New("no such task")

// errUnknownTask does not say which of the reasons holds, so that nobody learns of the tasks of others.
var errUnknownTask = invalidParams("taskId: no such task of this client, or it has expired")

// TaskStatus is how far a task is.
type TaskStatus string

// The statuses. That of a task that works and has a question for the owner is written as input_required for clients that
// can show it.
const (
	TaskWorking   TaskStatus = "working"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskCancelled TaskStatus = "cancelled"
)

// Task is a call whose result comes later. Replicas send it to each other under its field names.
type Task struct {
	ID       string
	Status   TaskStatus
	Message  string // how far it is, or what it waits for
	Created  time.Time
	Updated  time.Time
	TTL      time.Duration // since Created; 0 for no limit
	Result   *Result       // what the call returns; before it has completed, how it stands
	Failure  *rpc.Error    // of one that failed
	Question string        // what the owner is asked meanwhile, "" for nothing
	Until    time.Time     // when the question ends
}

// TaskSet is the set of tasks behind a Server. It must be safe for concurrent use. Get and Cancel return ErrNoTask for
// what is not the caller's; an error that is a fault is sent to the client, any other is logged.
type TaskSet interface {
	// Run runs a call. It returns the task of one that takes long, and else what the call returns.
	Run(ctx context.Context, caller principal.Caller, call func(context.Context) (Result, error)) (*Task, Result, error)
	Get(ctx context.Context, caller principal.Caller, id string) (*Task, error)
	// Cancel ends a task that works. One that has ended stays as it is.
	Cancel(ctx context.Context, caller principal.Caller, id string) error
}

type taskKey struct{}

// WithTask returns a context for a call that may become a task, so that it need not answer early. It reports how far it
// is by note.
func WithTask(ctx context.Context, note func(done, total int, message string)) context.Context {
	return context.WithValue(WithProgress(ctx, note), taskKey{}, true)
}

// IsTask reports whether the call may become a task.
func IsTask(ctx context.Context) bool { return ctx.Value(taskKey{}) != nil }

// declares reports whether the capabilities of a client have an object under a path.
func declares(capabilities json.RawMessage, path ...string) bool {
	for _, name := range path {
		inner, ok := member(capabilities, name, '{')
		if !ok {
			return false
		}
		capabilities = inner
	}
	return true
}

// takesTasks reports whether the request declares the extension for tasks.
func (e *envelope) takesTasks() bool { return declares(e.capabilities, "extensions", tasksExtension) }

// errNoTasks is the refusal of a request about tasks that does not declare the extension.
var errNoTasks = &rpc.Error{
	Code: rpc.CodeMissingCapability, Message: "missing required client capability: extensions." + tasksExtension,
	Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
}

// isTaskMethod reports whether a method is one of the extension.
func isTaskMethod(method string) bool {
	return method == methodGetTask || method == methodUpdateTask || method == methodCancelTask
}

// appendTaskAnswer answers a method of the extension. What a client says by tasks/update changes nothing: the owner
// decides elsewhere.
func (j *Job) appendTaskAnswer(ctx context.Context, dst []byte, m rpc.Message) ([]byte, *rpc.Error) {
	if !j.modern.takesTasks() {
		return dst, errNoTasks
	}
	id := textField(m.Params, "taskId")
	if id == "" || len(id) > maxTaskID {
		return dst, errUnknownTask
	}
	s, from := j.server.modern, j.from
	var task *Task
	failure := j.server.task(ctx, from, m.Method, func() (err error) {
		if m.Method == methodCancelTask {
			return s.tasks.Cancel(ctx, from.Caller, id)
		}
		task, err = s.tasks.Get(ctx, from.Caller, id)
		return err
	})
	if failure != nil {
		return dst, failure
	}
	dst = append(rpc.AppendResultOpen(dst, m.ID), s.as.open...)
	if m.Method != methodGetTask {
		return append(dst[:len(dst)-1], '}', '}'), nil // without a comma
	}
	return append(s.appendTask(dst, task, s.asksOwner(j.modern), true), '}', '}'), nil
}

// task runs work on tasks and converts its failure into an error for the client.
func (s *Server) task(ctx context.Context, from Origin, method string, work func() error) *rpc.Error {
	unknown := false
	failure := s.guarded(ctx, from, method, func() error {
		err := work()
		if unknown = errors.Is(err, ErrNoTask); unknown {
			return nil
		}
		return err
	})
	if unknown {
		return errUnknownTask
	}
	return failure
}

// appendTask appends the members of a task. asks says that the client can show the owner's page; detailed that the task
// is a whole one, with what its status adds.
func (m *modernServer) appendTask(dst []byte, t *Task, asks, detailed bool) []byte {
	status, asked := string(t.Status), asks && t.Status == TaskWorking && t.Question != ""
	if asked {
		status = inputRequired
	}
	dst = strictjson.AppendString(append(dst, `"taskId":`...), t.ID)
	dst = append(append(append(dst, `,"status":"`...), status...), '"')
	if t.Message != "" {
		dst = strictjson.AppendString(append(dst, `,"statusMessage":`...), t.Message)
	}
	dst = appendStamp(append(dst, `,"createdAt":`...), t.Created)
	dst = appendStamp(append(dst, `,"lastUpdatedAt":`...), t.Updated)
	dst = append(dst, `,"ttlMs":`...)
	if t.TTL > 0 {
		dst = strconv.AppendInt(dst, t.TTL.Milliseconds(), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `,"pollIntervalMs":`...), taskPoll.Milliseconds(), 10)
	switch {
	case !detailed:
	case asked:
		dst = m.appendQuestion(append(dst, ','), t)
	case t.Status == TaskCompleted && t.Result != nil:
		dst = appendResult(append(dst, `,"result":`...), t.Result, m.as)
	case t.Status == TaskFailed && t.Failure != nil:
		dst = rpc.AppendErrorObject(append(dst, `,"error":`...), t.Failure)
	}
	return dst
}

func appendStamp(dst []byte, at time.Time) []byte {
	return append(at.UTC().AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.000Z"), '"')
}

// appendLater answers a call with a task.
func (j *Job) appendLater(dst []byte, m rpc.Message, t *Task) []byte {
	s := j.server.modern
	dst = append(rpc.AppendResultOpen(dst, m.ID), s.later...)
	return append(s.appendTask(dst, t, s.asksOwner(j.modern), false), '}', '}')
}
