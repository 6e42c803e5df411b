package app

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
)

// noisyScene is a program with an owner who keeps many calls open, and others.
type noisyScene struct {
	t    *testing.T
	url  string
	http *http.Client
	stop chan struct{}
	busy sync.WaitGroup

	open, refused, done atomic.Int64 // calls of the noisy owner
}

const noisyTokens = 20 // as many as an owner has

func newNoisyScene(t *testing.T, quiet int) *noisyScene {
	t.Helper()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	tokens := httpdtest.Tokens{}
	add := func(token, owner string) {
		tokens[token] = principal.Caller{Subject: owner, Key: oauth.HashOf(token).Hex(), ClientKey: token, Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	}
	for i := range noisyTokens {
		add("noisy"+strconv.Itoa(i), "noisy")
	}
	for i := range quiet {
		add("quiet"+strconv.Itoa(i), "quiet"+strconv.Itoa(i))
	}
	add("owner", accountOwner)
	flags := slices.Concat([]string{"--max-connections", "4000"}, manyFlags(t))
	home := filepath.Join(t.TempDir(), "home")
	plans := "[default]\ncalls_per_second = 500\n" // so that the number of open calls decides
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, statedir.PlansName), []byte(plans), 0o600)); err != nil {
		t.Fatal(err)
	}
	url, stop := startTradingFor(t, home, venue.URL, tokens, flags...)
	t.Cleanup(stop)
	s := &noisyScene{t: t, url: url, stop: make(chan struct{}), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}}
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// send posts a call and returns its status and body.
func (s *noisyScene) send(token, tool, arguments string) (int, string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := s.http.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// noise keeps calls of the noisy owner open until silence: charts that cost processor time and
// polls that wait. A refused call is repeated after a moment, as clients do.
func (s *noisyScene) noise(calls int) {
	for i := range calls {
		s.busy.Go(func() {
			tool, arguments := "generate_chart", fmt.Sprintf(`{"symbol":"BTCUSDT","interval":"1h","bars":%d}`, 300+i%200)
			if i%2 == 0 {
				tool, arguments = "get_notifications", `{"wait_seconds":2}`
			}
			for {
				select {
				case <-s.stop:
					return
				default:
				}
				s.open.Add(1)
				status, _ := s.send("noisy"+strconv.Itoa(i%noisyTokens), tool, arguments)
				s.open.Add(-1)
				if status != http.StatusTooManyRequests {
					s.done.Add(1)
					continue
				}
				s.refused.Add(1)
				select {
				case <-s.stop:
					return
				case <-time.After(time.Second): // what Retry-After says
				}
			}
		})
	}
}

func (s *noisyScene) silence() {
	close(s.stop)
	s.busy.Wait()
}

// quiet lets quiet owners call for a while, one call after the other, and returns how long each
// took, ascending.
func (s *noisyScene) quiet(owners, calls int) []time.Duration {
	s.t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var group sync.WaitGroup
	for i := range owners {
		group.Go(func() {
			for k := range calls {
				tool, arguments := "list_alerts", `{}`
				if k%4 == 0 {
					tool, arguments = "generate_chart", `{"symbol":"BTCUSDT","interval":"1h"}`
				}
				began := time.Now()
				status, text := s.send("quiet"+strconv.Itoa(i), tool, arguments)
				if status != http.StatusOK || strings.Contains(text, `"isError":true`) {
					s.t.Errorf("a quiet owner gets %d %.200s", status, text)
					return
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				time.Sleep(20 * time.Millisecond) // they are not in a hurry
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	return took
}

// TestNoisy_OneOwnerDelaysNobodyElse keeps many calls of one owner open over HTTP. Calls of others
// are all answered, alerts fire, and cancel and halt are carried out, also those of the noisy owner.
// The long form has 1,000 calls and compares the 99th percentile.
func TestNoisy_OneOwnerDelaysNobodyElse(t *testing.T) { //nolint:paralleltest // it measures
	if !longtest.On() {
		t.Parallel()
	}
	quiet, calls := longtest.Pick(3, 4), longtest.Pick(8, 200)
	s := newNoisyScene(t, quiet)
	s.quiet(quiet, 4) // fills caches
	before := s.quiet(quiet, calls)
	_, set := s.send("noisy0", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999}}`)
	alert := part(t, set, `alert_id\\?":\\?"([^"\\]+)`)
	s.noise(longtest.Pick(100, 1000))
	waitFor(t, func() bool { return s.refused.Load() > 0 && s.open.Load() > 50 })
	during := s.quiet(quiet, calls)
	fired := time.Now()
	if status, text := s.send("quiet0", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"fires"}`); status != http.StatusOK || strings.Contains(text, `"isError":true`) {
		t.Errorf("set_alert: %d %s", status, text)
	}
	if _, text := s.send("quiet0", "get_notifications", `{"wait_seconds":20}`); !strings.Contains(text, "fires") {
		t.Errorf("polled %s", text)
	}
	delay := time.Since(fired)
	// The noisy owner is over every limit, and may still cancel.
	if status, text := s.send("noisy0", "cancel_alert", `{"alert_id":"`+alert+`"}`); status != http.StatusOK || strings.Contains(text, `"isError":true`) {
		t.Errorf("cancel_alert: %d %s", status, text)
	}
	open, refused, done := s.open.Load(), s.refused.Load(), s.done.Load()
	s.silence()
	p99 := func(all []time.Duration) time.Duration { return all[len(all)*99/100] }
	t.Logf("%d calls open, %d refused, %d answered; quiet p50 %v, p99 %v without and p50 %v, p99 %v with the noise (%.2f times); an alert was set, fired and polled in %v",
		open, refused, done, before[len(before)/2], p99(before), during[len(during)/2], p99(during), float64(p99(during))/float64(p99(before)), delay)
	switch busy := machineLoad(); {
	case !longtest.On():
	case busy > 1:
		t.Logf("not judged: other programs keep %.0f processes waiting for each processor", busy)
	case p99(during) > 2*p99(before):
		t.Errorf("the 99th percentile of quiet owners grew from %v to %v", p99(before), p99(during))
	}
}

// machineLoad returns how many processes wait for each processor in the mean of five minutes, 0
// where that is not known.
func machineLoad() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	load, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0
	}
	return load / float64(runtime.NumCPU())
}
