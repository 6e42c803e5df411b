package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/store/statedir"
	"candela/internal/testkit/longtest"
)

// noisyScene is a program with an owner who keeps many calls open, and others.
type noisyScene struct {
	t     *testing.T
	on    *manyServer
	http  *http.Client
	noisy *noisyProcess
}

const noisyTokens = 20 // as many as an owner has

func newNoisyScene(t *testing.T, quiet int) *noisyScene {
	t.Helper()
	venue := steadyVenue(t)
	tokens := httpdtest.Tokens{}
	add := func(token string, owner principal.Owner) {
		tokens[token] = principal.Caller{Subject: owner, Key: oauth.HashOf(token).Hex(), ClientKey: token, Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	}
	for i := range noisyTokens {
		add("noisy"+strconv.Itoa(i), "noisy")
	}
	for i := range quiet {
		add("quiet"+strconv.Itoa(i), principal.Owner("quiet"+strconv.Itoa(i)))
	}
	flags := slices.Concat([]string{"--max-connections", "4000"}, manyFlags(t))
	home := filepath.Join(t.TempDir(), "home")
	plans := "[default]\ncalls_per_second = 500\n" // so that the number of open calls decides
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, statedir.PlansName), []byte(plans), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := &noisyScene{t: t, on: startServer(t, home, venue, tokens, flags...), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}}
	t.Cleanup(s.on.stop)
	s.noisy = startNoisy(t, s.on.url)
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// send posts a call and returns its status and body.
func (s *noisyScene) send(token, tool, arguments string) (int, string) {
	status, text, _ := sendCall(s.t.Context(), s.http, s.on.url, token, tool, arguments)
	return status, text
}

// must posts a call that must succeed.
func (s *noisyScene) must(token, tool, arguments string) string {
	s.t.Helper()
	status, text := s.send(token, tool, arguments)
	if status != http.StatusOK || strings.Contains(text, `"isError":true`) {
		s.t.Errorf("%s of %s: %d %.300s", tool, token, status, text)
	}
	return text
}

// quiet lets quiet owners call for a while, one call after the other, and returns how long each
// took.
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
	return took
}

// TestNoisy_OneOwnerDelaysNobodyElse keeps many calls of one owner open over HTTP, from a process of
// its own that heeds Retry-After or does not, in turn with none. Calls of others are all answered, and
// alerts fire; the noisy owner is over every limit, and still cancels orders and alerts; a halt is
// carried out. The long form has 1,000 calls and compares the 99th percentile.
func TestNoisy_OneOwnerDelaysNobodyElse(t *testing.T) { //nolint:paralleltest // it measures
	if !longtest.On() {
		t.Parallel()
	}
	quiet, calls, rounds, noisy := longtest.Pick(3, 4), longtest.Pick(8, 100), longtest.Pick(1, 4), longtest.Pick(100, 1000)
	s := newNoisyScene(t, quiet)
	s.quiet(quiet, 4) // fills caches
	alert := part(t, s.must("noisy0", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":99999999}}`), `alert_id\\?":\\?"([^"\\]+)`)
	order := part(t, s.must("noisy0", "place_order", buyLow), `order_id\\?":\\?"([^"\\]+)`)
	var without, polite, rude []time.Duration
	for round := range rounds {
		without = append(without, s.quiet(quiet, calls)...)
		s.noisy.on(noisy, 0)
		polite = append(polite, s.quiet(quiet, calls)...)
		s.noisy.off()
		s.noisy.on(noisy, time.Second)
		rude = append(rude, s.quiet(quiet, calls)...)
		if round == rounds-1 {
			s.neverShed(alert, order)
		}
		s.noisy.off()
	}
	t.Logf("%d calls open, %d refused, %d answered", s.noisy.open, s.noisy.refused, s.noisy.done)
	if s.noisy.open == 0 || s.noisy.refused == 0 {
		t.Error("there was no noise")
	}
	s.compare("a client that heeds Retry-After", without, polite)
	s.compare("a client that comes back after a second", without, rude)
}

// compare judges the 99th percentile of the calls beside the noise of a client, in the long form.
func (s *noisyScene) compare(client string, without, with []time.Duration) {
	s.t.Helper()
	slices.Sort(without)
	slices.Sort(with)
	p50 := func(all []time.Duration) time.Duration { return all[len(all)/2] }
	p99 := func(all []time.Duration) time.Duration { return all[len(all)*99/100] }
	s.t.Logf("%s: quiet p50 %v, p99 %v without and p50 %v, p99 %v with the noise (%.2f times)",
		client, p50(without), p99(without), p50(with), p99(with), float64(p99(with))/float64(p99(without)))
	switch busy := machineLoad(); {
	case !longtest.On():
	case busy > 1.5:
		s.t.Logf("not judged: other programs keep %.0f processes waiting for each processor", busy)
	case p99(with) > 2*p99(without):
		s.t.Errorf("%s: the 99th percentile of quiet owners grew from %v to %v", client, p99(without), p99(with))
	}
}

// neverShed fires an alert, cancels what the noisy owner has, and halts, all in the middle of the noise.
func (s *noisyScene) neverShed(alert, order string) {
	s.t.Helper()
	began := time.Now()
	s.must("quiet0", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"fires"}`)
	if text := s.must("quiet0", "get_notifications", `{"wait_seconds":20}`); !strings.Contains(text, "fires") {
		s.t.Errorf("polled %s", text)
	}
	fired := time.Since(began)
	began = time.Now()
	s.must("noisy0", "cancel_alert", `{"alert_id":"`+alert+`"}`)
	s.must("noisy0", "cancel_order", `{"order_id":"`+order+`"}`)
	cancelled := time.Since(began)
	began = time.Now()
	state, reached, err := control.Halt(s.t.Context(), s.on.home, "in the noise")
	if err != nil || !reached || state.Level != "HALTED" {
		s.t.Errorf("halt: %+v, %v, %v", state, reached, err)
	}
	halted := time.Since(began)
	if _, text := s.send("quiet0", "place_order", buyMarket(1)); !strings.Contains(text, "in the noise") {
		s.t.Errorf("after the halt: %s", text)
	}
	if _, _, err := control.Resume(s.t.Context(), s.on.home); err != nil {
		s.t.Error(err)
	}
	s.t.Logf("in the noise an alert was set, fired and polled in %v, an alert and an order cancelled in %v, and all halted in %v", fired, cancelled, halted)
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
