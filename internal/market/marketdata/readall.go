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
