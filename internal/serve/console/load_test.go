package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
)

// hearing is a response that notes when its stream says that the state has changed.
type hearing struct {
	sinkWriter
	once  sync.Once
	heard func()
}

func (w *hearing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "data: state") {
		w.once.Do(w.heard)
	}
	return len(p), nil
}

// TestLoad_HaltReachesEveryConsole presses halt while many pages are open.
func TestLoad_HaltReachesEveryConsole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	count := longtest.Pick(40, 100) // four a login, of which 30 are allowed at once
	ctx, cancel := context.WithCancel(t.Context())
	var open, waiting sync.WaitGroup
	waiting.Add(count)
	var b *browser
	for i := range count {
		if i%4 == 0 {
			b = s.browser().login()
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/console/events", nil)
		r.Header.Set("User-Agent", userAgent)
		for name, value := range b.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		w := &hearing{sinkWriter: sinkWriter{http.Header{}}, heard: waiting.Done}
		open.Go(func() { s.handler.ServeHTTP(w, r) })
	}
	for s.handler.Streams() < count {
		runtime.Gosched()
	}
	owner := s.browser().login()
	began := time.Now()
	if r := owner.post("/console/halt"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	halted := time.Since(began)
	waiting.Wait()
	t.Logf("%d consoles: halted %v after the press, all know after %v", count, halted, time.Since(began))
	cancel()
	open.Wait()
}
