package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/internal/serve/tool/tooltest"
	"candela/lib/fault"
)

// A retryable error with a key says that the key can be reused.
func TestPlaceOrder_SaysThatAKeyIsStillGood(t *testing.T) {
	t.Parallel()
	const good = "safe to retry with the same idempotency_key"
	away := fault.Unreachable(errors.New("because"), time.Second, "nobody trades; nothing was done")
	unknown := &fault.Error{Kind: fault.Unavailable, Code: "outcome_unknown", Retryable: true, Message: "ask again with the same idempotency_key"}
	for name, c := range map[string]struct {
		err  error
		key  string
		want bool
	}{
		"with a key":                 {fmt.Errorf("place: %w", away), `"k"`, true},
		"without one":                {away, `""`, false},
		"an outcome that is unknown": {unknown, `"k"`, false},
		"what waiting does not help": {&fault.Error{Kind: fault.Unavailable, Code: "store_failed"}, `"k"`, false},
		"a defect":                   {errors.New("oh"), `"k"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := tooltest.Registry(t, &tooltest.Trading{Away: c.err})
			result := call(t, registry, "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":`+c.key+`}`)
			if text := string(result.Content[0].Text); !result.IsError || strings.Contains(text, good) != c.want || c.want && !strings.Contains(text, `"retry_after_s":1`) {
				t.Error(text)
			}
		})
	}
}
