package broker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"candela/internal/trading/broker"
)

func TestFate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ err, want error }{
		"no error has no fate":            {nil, nil},
		"a fate is found behind a cause":  {fmt.Errorf("binance: %w: %w", broker.ErrNotSent, context.Canceled), broker.ErrNotSent},
		"a refusal is one":                {fmt.Errorf("%w", broker.ErrRejected), broker.ErrRejected},
		"so is not found":                 {broker.ErrNotFound, broker.ErrNotFound},
		"an error without one is unknown": {errors.New("odd"), broker.ErrUnknown},
		"two fates are none":              {errors.Join(broker.ErrNotSent, broker.ErrRejected), broker.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := broker.Outcome(tc.err); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
