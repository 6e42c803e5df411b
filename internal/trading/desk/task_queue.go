package desk

import (
	"context"
	"slices"
	"time"
)

// taskQueue runs what the venue is asked, a few at a time, in the order in which it was
// asked for. The writer owns it.
type taskQueue struct {
	loop       *loop
	maxRunning int // at a time
	timeout    time.Duration
	running    int
	queue      []queuedTask
}

// queuedTask is a task that waits for room.
type queuedTask struct {
	task        task
	stillWanted func() bool // asked when its turn has come; nil for always
}

// task asks the venue and returns what the writer does with the answer.
type task func(ctx context.Context) (apply func())

// add runs a task as soon as there is room for it.
func (q *taskQueue) add(t task) { q.addIf(t, nil) }

// addIf is add for a task that may no longer be wanted by then.
func (q *taskQueue) addIf(t task, wanted func() bool) {
	q.queue = append(q.queue, queuedTask{t, wanted})
	q.dispatch()
}

func (q *taskQueue) dispatch() {
	for q.running < q.maxRunning && len(q.queue) > 0 && !q.loop.stopping {
		next := q.queue[0]
		q.queue = slices.Delete(q.queue, 0, 1)
		if next.stillWanted != nil && !next.stillWanted() {
			continue
		}
		q.running++
		q.loop.async(func(ctx context.Context) func() {
			apply := q.run(ctx, next.task)
			return func() {
				q.running--
				apply()
				q.dispatch()
			}
		})
	}
}

func (q *taskQueue) run(ctx context.Context, t task) (apply func()) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	return t(ctx)
}

// async runs work in a goroutine of its own, and what it returns in the writer.
// Its context is not the one that ends when the desk stops: what is on its way
// then may still be answered.
func (l *loop) async(work func(ctx context.Context) (apply func())) {
	l.running.Go(func() {
		apply := work(l.drainCtx)
		select {
		case l.results <- apply:
		case <-l.loopDone:
		}
	})
}
