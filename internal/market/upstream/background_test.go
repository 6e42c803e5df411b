package upstream_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"candela/internal/market/upstream"
)

// TestBackground_LeavesHalfOfTheLimit holds that requests that can wait use half of each
// period, and that one that becomes urgent uses the rest.
func TestBackground_LeavesHalfOfTheLimit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	minutes := map[int64]int{}
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		minutes[time.Now().Unix()/60]++
		mu.Unlock()
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Limit = upstream.Limit{Weight: 20, Per: time.Minute}
		client := h.Client(c)
		var patient upstream.Background
		var wg sync.WaitGroup
		for range 35 {
			wg.Go(func() {
				if _, err := client.Do(patient.Context(t.Context()), upstream.Request{Path: "/x", Weight: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(30 * time.Second)
		began := time.Now()
		for range 10 {
			if _, err := client.Do(t.Context(), upstream.Request{Path: "/y", Weight: 1}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("others waited %v", took)
		}
		mu.Lock()
		most := 0
		for _, n := range minutes {
			most = max(most, n)
		}
		mu.Unlock()
		if most != 20 { // ten of each
			t.Errorf("%v", minutes)
		}
		wg.Wait()
		for minute, n := range minutes {
			if n > 20 {
				t.Errorf("minute %d has %d of 20", minute, n)
			}
		}
	})
}

func TestBackground_BecomesUrgent(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Limit = upstream.Limit{Weight: 10, Per: time.Hour}
		client := h.Client(c)
		var patient upstream.Background
		done := make(chan error, 6)
		for range 6 {
			go func() {
				_, err := client.Do(patient.Context(t.Context()), upstream.Request{Path: "/x", Weight: 1})
				done <- err
			}()
		}
		for range 5 {
			<-done
		}
		began := time.Now()
		time.Sleep(time.Second) // the sixth waits for the next hour
		patient.Hurry()
		if err := <-done; err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
