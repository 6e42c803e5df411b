package desk

import (
	"context"
	"slices"
	"time"
)

// lane runs what the venue is asked, a few at a time, in the order in which it was
// asked for. The writer owns it.
type lane struct {
	w       *writer
	most    int // at a time
	limit   time.Duration
	running int
	queue   []turn
}

// turn is a task that waits for room.
type turn struct {
	task   task
	wanted func() bool // asked when its turn has come; nil for always
}

// task asks the venue and returns what the writer does with the answer.
type task func(ctx context.Context) (apply func())

// add runs a task as soon as there is room for it.
func (l *lane) add(t task) { l.addWanted(t, nil) }

// addWanted is add for a task that may no longer be wanted by then.
func (l *lane) addWanted(t task, wanted func() bool) {
	l.queue = append(l.queue, turn{t, wanted})
	l.pump()
}

func (l *lane) pump() {
	for l.running < l.most && len(l.queue) > 0 && !l.w.stopping {
		next := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		if next.wanted != nil && !next.wanted() {
			continue
		}
		l.running++
		l.w.beside(func(ctx context.Context) func() {
			apply := l.run(ctx, next.task)
			return func() {
				l.running--
				apply()
				l.pump()
			}
		})
	}
}

func (l *lane) run(ctx context.Context, t task) (apply func()) {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	return t(ctx)
}

// beside runs work in a goroutine of its own, and what it returns in the writer.
// Its context is not the one that ends when the desk stops: what is on its way
// then may still be answered.
func (w *writer) beside(work func(ctx context.Context) (apply func())) {
	w.running.Go(func() {
		apply := work(w.hard)
		select {
		case w.results <- apply:
		case <-w.over:
		}
	})
}
