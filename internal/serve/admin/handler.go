// Package admin serves health, readiness, metrics and profiles to an operator. It reads
// the state of components only on request, and it is the only package that knows the
// Prometheus format. It changes nothing, shows no secrets, and has no label whose values
// a client, a symbol or an order could multiply.
package admin

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"candela/internal/kit/loopback"
)

// Timeouts of a request. A profile is sent after it was taken, so a response may be slow.
const (
	ReadTimeout  = 10 * time.Second
	WriteTimeout = 3 * time.Minute
)

// maxReadings is the number of concurrent readers of the metrics.
const maxReadings = 4

// Handler returns every path of the admin listener.
func Handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	began, turns := cfg.Now(), make(chan struct{}, maxReadings)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			write(w, http.StatusServiceUnavailable, map[string]string{"error": "too many concurrent readers of the metrics"})
			return
		}
		w.Header().Set("Content-Type", textType)
		_, _ = w.Write(cfg.collect(began)) // the client may have disconnected
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok", "version": cfg.Version})
	})
	mux.HandleFunc("GET /readyz", cfg.ready)
	// Not pprof.Index: it would also show the command line, which may contain a webhook
	// address with a key.
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		mux.Handle("GET /debug/pprof/"+name, pprof.Handler(name))
	}
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	if cfg.LocalOnly {
		return local(mux)
	}
	return mux
}

// ready responds with 200 if every part is ready and with 503 otherwise.
func (c *Config) ready(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Ready bool            `json:"ready"`
		Parts map[string]Part `json:"parts"`
	}{true, c.parts()}
	for _, p := range answer.Parts {
		answer.Ready = answer.Ready && p.Ready
	}
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// local refuses requests whose Host is not loopback: otherwise a web page could read the
// listener by DNS rebinding.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback.Host(host) {
			write(w, http.StatusForbidden, map[string]string{"error": "forbidden"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
