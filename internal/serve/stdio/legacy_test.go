package stdio_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"candela/internal/serve/mcp/mcptest"
	"candela/internal/testkit/longtest"
)

// TestSession_NoCodeOfANewerRevision is TestMessage_NoCodeOfANewerRevision of package httpd
// over stdio. A ping after each line proves that the line was read.
func TestSession_NoCodeOfANewerRevision(t *testing.T) {
	t.Parallel()
	random, s := rand.New(rand.NewPCG(longtest.Seed(), 33)), start(t, nil)
	lines := make(chan string) // written while the answers are read
	go func() {
		for line := range lines {
			_, _ = io.WriteString(s.in, line)
		}
	}()
	defer close(lines)
	for i := range longtest.Pick(5_000, 500_000) {
		line := strings.ReplaceAll(mcptest.Hostile(random), "\n", " ")
		id := fmt.Sprintf("ping-%d", i)
		lines <- line + "\n" + `{"jsonrpc":"2.0","id":"` + id + `","method":"ping"}` + "\n"
		for answer := ""; !strings.Contains(answer, id); {
			answer = s.read(t)
			if code := mcptest.NewerCode([]byte(answer)); code != "" {
				t.Fatalf("%s in the answer to %s", code, line)
			}
		}
	}
	if rest, err := s.end(t); err != nil || mcptest.NewerCode([]byte(rest)) != "" {
		t.Errorf("%v after %s", err, rest)
	}
}
