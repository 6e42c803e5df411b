package marketdata

import (
	"context"
	"sync"
)

// ReadAll sends the requests to read at the same time and returns their results in order,
// or the error of the first request that failed. It returns when all of them have ended;
// a failure cancels the others. The caller bounds their number.
func ReadAll(ctx context.Context, requests []Request, read func(context.Context, Request) (BarSet, error)) ([]BarSet, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sets := make([]BarSet, len(requests))
	var reads sync.WaitGroup
	for i, r := range requests {
		reads.Go(func() {
			set, err := read(ctx, r)
			if err != nil {
				cancel(err) // the first cause is kept
				return
			}
			sets[i] = set
		})
	}
	reads.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return sets, nil
}

// ReadEach sends the requests to read, at most inFlight at the same time, and passes each
// result to done as it arrives; done is called by one goroutine at a time. After ctx has
// ended no request is sent, and those that were sent are waited for. It returns the number
// of requests that were sent: those are the first ones.
func ReadEach(ctx context.Context, requests []Request, inFlight int, read func(context.Context, Request) (BarSet, error), done func(i int, set *BarSet, err error)) int {
	var mu sync.Mutex
	var reads sync.WaitGroup
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(requests) || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(inFlight, len(requests)) {
		reads.Go(func() {
			for i, more := take(); more; i, more = take() {
				set, err := read(ctx, requests[i])
				mu.Lock()
				done(i, &set, err)
				mu.Unlock()
			}
		})
	}
	reads.Wait()
	return next
}
