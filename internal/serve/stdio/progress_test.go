package stdio_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/serve/mcp/mcptest"
)

// TestSession_ReportsProgress holds that progress comes before the answer, and that a cancelled
// call gets none.
func TestSession_ReportsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := mcptest.Worker{Ended: make(chan error, 1)}
		s := startOver(t, w, nil)
		s.send(t, mcptest.WorkCall)
		for _, want := range []string{mcptest.WorkBegun, mcptest.WorkFinished, mcptest.WorkAnswer} {
			if got := strings.TrimSpace(s.read(t)); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
		s.send(t, mcptest.WorkCall)
		if got := strings.TrimSpace(s.read(t)); got != mcptest.WorkBegun {
			t.Fatalf("got %s", got)
		}
		s.send(t, mcptest.WorkCancelled)
		if cause := <-w.Ended; cause == nil || cause.Error() != "cancelled by the client" {
			t.Errorf("ended by %v", cause)
		}
		s.send(t, `{"jsonrpc":"2.0","id":6,"method":"ping"}`)
		if got := s.read(t); !strings.Contains(got, `"id":6`) {
			t.Errorf("a cancelled call is answered: %s", got)
		}
		_ = s.in.Close()
		<-s.done
	})
}
