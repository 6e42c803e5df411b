package orders

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// newScene returns a cell of a matrix. One that fails says at its end why: the logs of the
// program come before, and are longer than what a reader may get to see.
func newScene(t *testing.T, v *venue, home string) *scene {
	t.Helper()
	s := &scene{T: t, venue: v, home: home, reply: make(chan error, 1)}
	t.Cleanup(func() {
		for _, why := range s.failures {
			t.Logf("failed: %s", why)
		}
	})
	return s
}

func (s *scene) keep(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, why)
}

// Error is that of testing.T and keeps the text, as Errorf, Fatal and Fatalf do.
func (s *scene) Error(args ...any) {
	s.Helper()
	s.keep(fmt.Sprint(args...))
	s.T.Error(args...)
}

func (s *scene) Errorf(format string, args ...any) {
	s.Helper()
	s.keep(fmt.Sprintf(format, args...))
	s.T.Errorf(format, args...)
}

func (s *scene) Fatal(args ...any) {
	s.Helper()
	s.keep(fmt.Sprint(args...))
	s.T.Fatal(args...)
}

func (s *scene) Fatalf(format string, args ...any) {
	s.Helper()
	s.keep(fmt.Sprintf(format, args...))
	s.T.Fatalf(format, args...)
}

// logOf returns a log of the program. Of consecutive requests, which tests make again and
// again until something is so, it has the last and the number of the others.
func logOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	last, requests := "", 0
	end := func() {
		if requests > 1 {
			fmt.Fprintf(&b, "%d more requests\n", requests-1)
		}
		b.WriteString(last)
		last, requests = "", 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "msg=request ") {
			last = line
			requests++
			continue
		}
		end()
		b.WriteString(line)
	}
	end()
	return b.String()
}
