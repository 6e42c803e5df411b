package upstream_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"candela/internal/data/upstream"
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

// TestBackground_AnswersComeApart holds that requests in the background do not come all at once.
func TestBackground_AnswersComeApart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var came []time.Time
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		came = append(came, time.Now())
		mu.Unlock()
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		h.Apart = func(work func() error) error { return work() }
		client := h.Client(config())
		var patient upstream.Background
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := client.Do(patient.Context(t.Context()), upstream.Request{Path: "/x"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range came[1:] {
			if gap := came[i+1].Sub(came[i]); gap < 7*time.Millisecond {
				t.Errorf("requests %d and %d are %v apart", i, i+1, gap)
			}
		}
		began := time.Now()
		for range 8 {
			if _, err := client.Do(t.Context(), upstream.Request{Path: "/y"}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took >= 7*time.Millisecond {
			t.Errorf("urgent requests took %v", took)
		}
	})
}

// TestBackground_IsParsedApart holds that only answers in the background are parsed where others
// go first, and that one that becomes urgent does not wait for that.
func TestBackground_IsParsedApart(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		begun, goOn := make(chan struct{}, 1), make(chan struct{}, 1)
		h.Apart = func(work func() error) error {
			begun <- struct{}{}
			<-goOn
			return work()
		}
		client := h.Client(config())
		parsed := 0
		get := func(ctx context.Context) error {
			_, _, err := upstream.Get(ctx, client, upstream.Request{Path: "/x"}, func([]byte) (int, error) {
				parsed++ // one at a time: the others wait for goOn or have ended
				return parsed, nil
			})
			return err
		}
		if err := get(t.Context()); err != nil || len(begun) > 0 {
			t.Errorf("an urgent answer: %v, %d parsed apart", err, len(begun))
		}
		var patient upstream.Background
		goOn <- struct{}{}
		if err := get(patient.Context(t.Context())); err != nil || len(begun) != 1 || parsed != 2 {
			t.Errorf("an answer in the background: %v, %d parsed apart, %d in all", err, len(begun), parsed)
		}
		<-begun
		done := make(chan error)
		go func() { done <- get(patient.Context(t.Context())) }()
		<-begun // and waits
		patient.Hurry()
		patient.Hurry() // a second time changes nothing
		if err := <-done; err != nil || parsed != 3 {
			t.Errorf("an answer that became urgent: %v, %d parsed", err, parsed)
		}
		goOn <- struct{}{}
		if err := h.Close(); err != nil || parsed != 4 {
			t.Errorf("closed with %v, %d parsed", err, parsed)
		}
	})
}
