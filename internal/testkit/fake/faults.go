package fake

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Fault is one way in which a venue misbehaves at a request. Unless it says
// otherwise, the request is carried out and only its answer is wrong.
type Fault struct {
	On         func(*http.Request) bool // which requests it is for; nil means all
	Status     int                      // of the answer; 0 keeps the right one
	RetryAfter time.Duration            // sent when it is not 0
	Body       string                   // in place of the right one, when Status is set or it is not empty
	Change     func([]byte) []byte      // what becomes of the right body
	Cut        bool                     // the body ends in the middle of what was promised
	Hang       bool                     // it is not carried out, and nothing comes until the client leaves
	Stall      bool                     // it is carried out, and nothing comes until the client leaves
	Reset      bool                     // the connection is cut without an answer
	Skip       bool                     // it is not carried out
}

func (f *Fault) isFor(r *http.Request) bool { return f.On == nil || f.On(r) }

// Page is what walls and proxies send: HTML with status 200.
func Page() Fault {
	return Fault{Status: http.StatusOK, Body: "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"}
}

// Truncated cuts the connection in the middle of the answer.
func Truncated() Fault { return Fault{Cut: true} }

// HalfJSON ends the document in the middle, with a length that fits it.
func HalfJSON() Fault { return Fault{Change: func(b []byte) []byte { return b[:len(b)/2] }} }

// Mistyped puts null where the first number or text stands.
func Mistyped() Fault {
	return Fault{Change: func(b []byte) []byte {
		i := bytes.IndexAny(b, "0123456789")
		if i < 0 {
			return b
		}
		end := i
		for end < len(b) && b[end] != ',' && b[end] != ']' && b[end] != '}' {
			end++
		}
		if i > 0 && b[i-1] == '"' {
			i--
		}
		return append(append(append([]byte{}, b[:i]...), "null"...), b[end:]...)
	}}
}

// Faults decides which requests fail and how. It is safe for concurrent use; the
// zero value lets everything through.
type Faults struct {
	mu     sync.Mutex
	always *Fault
	next   []Fault
	asked  int
	delay  time.Duration
}

// Delay makes the answer to every request take a time from now on, half of it before the
// request is carried out. Streams are not delayed.
func (f *Faults) Delay(answer time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = answer
}

// Always applies f to every request from now on; nil ends that.
func (f *Faults) Always(fault *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always = fault
}

// Next applies the faults to the next requests that they are for, one to each.
func (f *Faults) Next(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, faults...)
}

// Clear forgets every fault.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always, f.next = nil, nil
}

// Asked returns how many requests there were.
func (f *Faults) Asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// take returns what becomes of a request, nil for nothing unusual, and how long its answer takes.
func (f *Faults) take(r *http.Request) (*Fault, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	delay := f.delay
	if r.Header.Get("Upgrade") != "" || r.Header.Get("Accept") == "text/event-stream" {
		delay = 0
	}
	if i := slices.IndexFunc(f.next, func(one Fault) bool { return one.isFor(r) }); i >= 0 {
		one := f.next[i]
		f.next = slices.Delete(f.next, i, i+1)
		return &one, delay
	}
	switch {
	case f.always != nil && f.always.isFor(r):
		return f.always, delay
	case delay > 0:
		return &Fault{}, delay
	default:
		return nil, 0
	}
}

// Wrap returns a handler that answers as h does, unless a fault says otherwise.
func (f *Faults) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault, delay := f.take(r)
		if fault == nil {
			h.ServeHTTP(w, r)
			return
		}
		pass(r.Context(), delay/2)
		right := httptest.NewRecorder()
		if !fault.Hang && !fault.Skip {
			h.ServeHTTP(right, r)
		}
		// The server sees the client leave only when it has read what was sent.
		_, _ = io.Copy(io.Discard, r.Body)
		pass(r.Context(), delay-delay/2)
		switch {
		case fault.Hang || fault.Stall:
			<-r.Context().Done()
		case fault.Reset:
			panic(http.ErrAbortHandler)
		default:
			fault.write(w, right)
		}
	})
}

// pass waits for a time. When the client leaves, the rest is done at once.
func pass(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (f *Fault) write(w http.ResponseWriter, right *httptest.ResponseRecorder) {
	status, body := right.Code, right.Body.Bytes()
	maps.Copy(w.Header(), right.Header())
	if f.Status != 0 || f.Body != "" {
		body = []byte(f.Body)
		w.Header().Set("Content-Type", http.DetectContentType(body))
	}
	if f.Status != 0 {
		status = f.Status
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	if f.Change != nil {
		body = f.Change(body)
	}
	if f.Cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
