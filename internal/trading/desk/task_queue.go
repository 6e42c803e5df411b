package desk

import (
	"context"
	"slices"
	"time"
)

// taskQueue runs venue calls in order, with limited concurrency. The loop owns it.
type taskQueue struct {
	loop       *loop
	maxRunning int
	timeout    time.Duration
	running    int
	queue      []queuedTask
}

type queuedTask struct {
	task        task
	stillWanted func() bool // checked before it starts; nil for always
}

// task calls the venue and returns a function that applies the result on the loop.
type task func(ctx context.Context) (apply func())

// add queues a task.
func (q *taskQueue) add(t task) { q.addIf(t, nil) }

// addIf queues a task that is dropped if stillWanted returns false when its turn comes.
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

// async runs work in a new goroutine and applies its result on the loop. Its context
// outlives a stop, so work in flight can finish.
func (l *loop) async(work func(ctx context.Context) (apply func())) {
	l.running.Go(func() {
		apply := work(l.drainCtx)
		select {
		case l.results <- apply:
		case <-l.loopDone:
		}
	})
}
