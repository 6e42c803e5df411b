package fake

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Fault is one way in which a venue misbehaves at a request.
type Fault struct {
	Status     int                 // of the answer; 0 keeps the right one
	RetryAfter time.Duration       // sent when it is not 0
	Body       string              // in place of the right one, when Status is set or it is not empty
	Change     func([]byte) []byte // what becomes of the right body
	Cut        bool                // the body ends in the middle of what was promised
	Hang       bool                // nothing comes until the client leaves
}

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
}

// Always applies f to every request from now on; nil ends that.
func (f *Faults) Always(fault *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always = fault
}

// Next applies the faults to the next requests, one to each.
func (f *Faults) Next(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, faults...)
}

// Asked returns how many requests there were.
func (f *Faults) Asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *Faults) take() *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if len(f.next) > 0 {
		one := f.next[0]
		f.next = f.next[1:]
		return &one
	}
	return f.always
}

// Wrap returns a handler that answers as h does, unless a fault says otherwise.
func (f *Faults) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := f.take()
		if fault == nil {
			h.ServeHTTP(w, r)
			return
		}
		if fault.Hang {
			<-r.Context().Done()
			return
		}
		right := httptest.NewRecorder()
		h.ServeHTTP(right, r)
		fault.write(w, right)
	})
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
