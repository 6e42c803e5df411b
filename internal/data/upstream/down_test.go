package upstream_test

import (
	"net/http"
	"strings"
	"testing"

	"candela/internal/data/upstream"
	"candela/lib/fault"
)

// TestDo_AHostThatIsDownIsNotRateLimited asks a host that has a fault of its own until
// it is left alone, and wants the same code then as before.
func TestDo_AHostThatIsDownIsNotRateLimited(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		client := h.Client(config())
		for range 20 {
			_, err := ask(t, client)
			f := fault.Of(err)
			if f == nil || f.Code != "unavailable" || !f.Retryable {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(f.Message, "did not answer several times") {
				return
			}
		}
		t.Error("the host is still asked")
	})
}
