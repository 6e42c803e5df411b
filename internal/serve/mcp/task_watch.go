package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// MaxTasksListened is how many tasks a subscription may name.
const MaxTasksListened = 16

// wantedTasks returns the tasks that the filter of subscriptions/listen names, without repetitions.
func (m *modernServer) wantedTasks(e *envelope, params json.RawMessage) (ids []string, _ *rpc.Error) {
	filter, _ := member(params, "notifications", '{')
	list, ok := member(filter, "taskIds", '[')
	switch {
	case list == nil || m.tasks == nil:
		return nil, nil
	case !e.takesTasks():
		return nil, errNoTasks
	case !ok:
		return nil, invalidParams("notifications.taskIds must be an array of ids")
	}
	seen := make(map[string]bool)
	for item := range strictjson.Items(list) {
		id, isText := strictjson.Text(item)
		switch {
		case !isText:
			return nil, invalidParams("notifications.taskIds must be an array of ids")
		case seen[id] || len(id) > maxTaskID:
			continue
		case len(ids) == MaxTasksListened:
			return nil, invalidParams(fmt.Sprintf("notifications.taskIds may have at most %d ids", MaxTasksListened))
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids, nil
}

// known returns those of the tasks that exist.
func (s *Subscription) known(method string, ids []string) (found []string, failure *rpc.Error) {
	j := s.job
	for _, id := range ids {
		failure := j.server.task(s.ctx, j.from, method, func() error {
			_, err := j.server.modern.tasks.Get(s.ctx, j.from.Caller, id)
			return err
		})
		switch failure {
		case nil:
			found = append(found, id)
		case errUnknownTask:
		default:
			return nil, failure
		}
	}
	return found, nil
}

// taskWatch asks for tasks from time to time and has a message for each that has changed. One message is kept until the
// transport takes it, so that a client that reads slowly costs one.
type taskWatch struct {
	ready chan struct{} // receives when there is a message
	slot  chan []byte
	stop  context.CancelFunc
	over  sync.WaitGroup
}

// follow watches tasks, beside the resource of the subscription, until close.
func (s *Subscription) follow(id json.RawMessage, ids []string) *taskWatch {
	ctx, stop := context.WithCancel(s.ctx)
	w := &taskWatch{ready: make(chan struct{}, 1), slot: make(chan []byte, 1), stop: stop}
	w.over.Go(func() {
		last := make(map[string]string, len(ids))
		for ctx.Err() == nil {
			for _, one := range ids {
				s.report(ctx, w, subscriptionTag(id), one, last)
			}
			s.pause(ctx, w)
		}
	})
	return w
}

// report sends how a task is if it has changed. One that has ended, or is gone, is asked for no more.
func (s *Subscription) report(ctx context.Context, w *taskWatch, tag, id string, last map[string]string) {
	const gone = "gone"
	if last[id] == gone {
		return
	}
	j, m := s.job, s.job.server.modern
	var task *Task
	failure := j.server.task(ctx, j.from, methodListen, func() (err error) {
		task, err = m.tasks.Get(ctx, j.from.Caller, id)
		return err
	})
	if failure != nil {
		if failure == errUnknownTask {
			last[id] = gone
		}
		return
	}
	now := string(task.Status) + " " + task.Message
	if last[id] == now {
		return
	}
	message := append([]byte(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{`), tag...)
	message = append(m.appendTask(append(message, ','), task, m.asksOwner(j.modern), true), '}', '}')
	if last[id] = now; task.Status != TaskWorking {
		last[id] = gone
	}
	w.put(ctx, message)
}

// pause waits until the tasks are asked for again, and passes on changes of the resource meanwhile.
func (s *Subscription) pause(ctx context.Context, w *taskWatch) {
	timer := time.NewTimer(taskPoll)
	defer timer.Stop()
	var changed <-chan struct{}
	if s.watch != nil {
		changed = s.watch.Ready()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-changed:
			w.put(ctx, s.update)
		}
	}
}

// put waits until the transport has taken the message before.
func (w *taskWatch) put(ctx context.Context, message []byte) {
	select {
	case <-ctx.Done():
	case w.slot <- message:
		w.ready <- struct{}{} // never blocks: the message before was taken after its signal
	}
}

// next returns the message that there is.
func (w *taskWatch) next() []byte {
	select {
	case message := <-w.slot:
		return message
	default:
		return nil
	}
}

func (w *taskWatch) close() {
	w.stop()
	w.over.Wait()
}
