package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/statedir"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
)

// session is the program with --mcp --trade, and its one client.
type session struct {
	t     *testing.T
	home  string
	halts chan os.Signal
	stop  func()

	mu      sync.Mutex
	in      io.Writer
	id      int
	answers map[int]chan string
}

// talk starts the program with more flags.
func talk(t *testing.T, home string, environ []string, args ...string) *session {
	t.Helper()
	cfg, err := LoadConfig(config.Input{Args: append([]string{"--mcp", "--trade", "--home", home, "--shutdown-timeout", "5m"}, args...), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	s := &session{t: t, home: home, halts: make(chan os.Signal, 1), in: in, answers: make(map[int]chan string)}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done, read := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		done <- Run(ctx, cfg, Deps{Version: "test", Stdin: stdin, Stdout: stdout, Stderr: &signalOn{text: `msg=ready of=trading`, found: ready}, Halts: s.halts, Services: Wired()})
		_ = stdout.Close()
	}()
	go func() {
		defer close(read)
		s.read(out)
	}()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	s.stop = func() {
		t.Helper()
		cancel()
		_ = in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		<-read
		s.stop = func() {}
	}
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *session) read(out io.Reader) {
	d := json.NewDecoder(out)
	for {
		var frame struct {
			ID     int
			Result struct {
				Content []struct{ Text string }
			}
		}
		if err := d.Decode(&frame); err != nil {
			return
		}
		s.mu.Lock()
		answer := s.answers[frame.ID]
		s.mu.Unlock()
		if answer != nil && len(frame.Result.Content) > 0 {
			answer <- frame.Result.Content[0].Text
		}
	}
}

// call calls a tool and returns the text of its answer.
func (s *session) call(name, arguments string) string {
	s.t.Helper()
	select {
	case text := <-s.send(name, arguments):
		return text
	case <-time.After(patience):
		s.t.Fatalf("%s does not answer", name)
		return ""
	}
}

// send calls a tool without waiting for the answer.
func (s *session) send(name, arguments string) <-chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id++
	answer := make(chan string, 1)
	s.answers[s.id] = answer
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", s.id, name, arguments)
	return answer
}

// record is an order as a client reads it.
type record struct {
	ID     string `json:"order_id"`
	Status string
	Mode   string
	Broker string
	Code   string
}

func (s *session) order(name, arguments string) record {
	s.t.Helper()
	var r record
	text := s.call(name, arguments)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return r
}

// await calls until the answer has a part.
func (s *session) await(name, arguments, part string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		text := s.call(name, arguments)
		if strings.Contains(text, part) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no %s in %s", part, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestDesk_AtBinance trades at a fake Binance, through configuration, wiring and
// broker, over stdio and across a restart.
func TestDesk_AtBinance(t *testing.T) {
	t.Parallel()
	venue := fakebinance.New(fakebinance.Config{Seed: 1})
	web := httptest.NewServer(venue)
	t.Cleanup(web.Close)
	home := filepath.Join(shortDir(t), "home")
	keys := []string{"CANDELA_BINANCE_API_KEY=" + fakebinance.Key, "CANDELA_BINANCE_API_SECRET=" + fakebinance.Secret}
	flags := []string{"--broker=binance", "--binance-url=" + web.URL, "--binance-trade-url=" + web.URL}
	s := talk(t, home, keys, flags...)
	bought := s.order("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.02}`)
	if bought.Status != "filled" || bought.Mode != "paper" || bought.Broker != "binance" {
		t.Errorf("bought is %+v", bought)
	}
	limit := venue.Price("BTCUSDT").Mul(decimal.RequireFromString("0.97")).Round(2)
	rests := s.order("place_order", fmt.Sprintf(`{"symbol":"binance:BTCUSDT","side":"buy","type":"limit","quantity":0.01,"price":%s,"idempotency_key":"k"}`, limit))
	if rests.Status != "accepted" {
		t.Errorf("resting is %+v", rests)
	}
	if text := s.call("place_order", `{"symbol":"kraken:BTC/USD","side":"buy","type":"market","quantity":1}`); !strings.Contains(text, "symbols of binance, where orders go") {
		t.Error(text)
	}
	s.stop()
	venue.Trade(rests.ID, decimal.RequireFromString("0.0025"))
	s = talk(t, home, keys, flags...)
	s.await("get_orders", `{"filter":"open"}`, `"filled_quantity":"0.0025"`)
	if again := s.order("place_order", fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":0.01,"price":%s,"idempotency_key":"k"}`, limit)); again.ID != rests.ID {
		t.Errorf("the same key gave %+v", again)
	}
	if gone := s.order("cancel_order", `{"order_id":"`+rests.ID+`"}`); gone.Status != "canceled" || gone.Mode != "paper" {
		t.Errorf("cancelled is %+v", gone)
	}
	s.await("get_positions", `{}`, `"quantity":0.0224775`) // less the fee in BTC
	shown := s.call("generate_chart", `{"symbol":"BTCUSDT","interval":"1m","bars":50,"format":"summary"}`)
	if !strings.Contains(shown, `"mode":"paper","position":{"side":"buy","quantity":0.0224775,"entry_price":`) || !strings.Contains(shown, `"fills":[{"date":`) {
		t.Errorf("the chart shows no position: %s", shown)
	}
	if n := len(venue.Orders()); n != 2 {
		t.Errorf("the venue has %d orders", n)
	}
	running := shownPosition(t, home)
	s.stop()
	if stored := shownPosition(t, home); !reflect.DeepEqual(stored, running) || stored.Quantity != "0.0224775" {
		t.Errorf("the status shows %+v while the program runs and %+v after", running, stored)
	}
}

// shownPosition returns the only position of the status, without what depends on the price.
func shownPosition(t *testing.T, home string) control.PositionStatus {
	t.Helper()
	s, err := Commands(&config.Config{Home: home}, io.Discard).ReadStatus(t.Context())
	if err != nil || len(s.Accounts) != 1 || len(s.Accounts[0].Positions) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	p := s.Accounts[0].Positions[0]
	p.Current, p.Unrealized = "", ""
	return p
}

// TestDesk_AtAlpaca does the same at a fake Alpaca.
func TestDesk_AtAlpaca(t *testing.T) {
	t.Parallel()
	venue := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	web := httptest.NewServer(venue)
	t.Cleanup(web.Close)
	home := filepath.Join(shortDir(t), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	// The fake's bars may be older than an order likes: its market has hours.
	if err := os.WriteFile(filepath.Join(home, statedir.PolicyName), []byte("max_quote_age = \"1h\"\nresting_band_pct = \"none\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := []string{"CANDELA_ALPACA_KEY_ID=" + fakealpaca.KeyID, "CANDELA_ALPACA_SECRET_KEY=" + fakealpaca.Secret}
	s := talk(t, home, keys, "--broker=alpaca", "--stock-venue=alpaca", "--alpaca-url="+web.URL, "--alpaca-data-url="+web.URL)
	place := func() record {
		return s.order("place_order", `{"symbol":"MSFT","side":"buy","type":"limit","quantity":2,"price":10}`)
	}
	rests := place()
	for range 10 {
		if rests.Code != "too_late" { // as on a loaded machine
			break
		}
		rests = place()
	}
	if rests.Status != "accepted" || rests.Mode != "paper" || rests.Broker != "alpaca" {
		t.Fatalf("resting is %+v", rests)
	}
	s.order("cancel_order", `{"order_id":"`+rests.ID+`"}`)
	s.await("get_orders", `{}`, `"status":"canceled"`)
}

// TestHalt_BesideTheProgram stops and resumes trading from outside, by every way.
func TestHalt_BesideTheProgram(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(web.Close)
	home := filepath.Join(shortDir(t), "home")
	s := talk(t, home, nil, "--binance-url="+web.URL)
	market := `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.01,"idempotency_key":"%s"}`
	buy := func(key string) record { return s.order("place_order", fmt.Sprintf(market, key)) }
	if got := buy("1"); got.Status != "filled" {
		t.Fatalf("%+v", got)
	}
	resume := func() {
		t.Helper()
		state, err := Commands(&config.Config{Home: home}, io.Discard).Resume(t.Context())
		if err != nil || state.Level != "ACTIVE" || !strings.Contains(state.Where, "runs there") {
			t.Fatalf("%+v %v", state, err)
		}
	}

	state, err := Commands(&config.Config{Home: home}, io.Discard).Halt(t.Context(), "a reason & more")
	if err != nil || state.Level != "HALTED" || !strings.Contains(state.Why, "a reason & more") || !strings.Contains(state.Where, "runs there") {
		t.Fatalf("%+v %v", state, err)
	}
	if text := s.call("place_order", fmt.Sprintf(market, "2")); !strings.Contains(text, "halted: Trading is halted") {
		t.Error(text)
	}
	resume()

	// A halt by signal or file is observed by the status and not by orders: a
	// minute has room for few.
	s.halts <- syscall.SIGTERM // any that the process sends here
	wantStatus(t, home, "the signal terminated")
	if text := s.call("place_order", fmt.Sprintf(market, "3")); !strings.Contains(text, "the signal terminated") {
		t.Error(text)
	}
	resume()

	file := filepath.Join(home, statedir.HaltName)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, home, "the file "+file)
	if text := s.call("place_order", fmt.Sprintf(market, "4")); !strings.Contains(text, "the file "+file) {
		t.Error(text)
	}
	if _, err := Commands(&config.Config{Home: home}, io.Discard).Resume(t.Context()); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "remove it first") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	resume()
	if got := buy("5"); got.Status != "filled" {
		t.Errorf("%+v", got)
	}
}

// TestHalt_WithoutASocket has another server answer in the state directory: then a
// halt goes by the file.
func TestHalt_WithoutASocket(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(web.Close)
	home := filepath.Join(shortDir(t), "home")
	if err := statedir.Open(home); err != nil {
		t.Fatal(err)
	}
	other, err := statedir.LockServer(home)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	s := talk(t, home, nil, "--binance-url="+web.URL)
	state, err := Commands(&config.Config{Home: home}, io.Discard).Halt(t.Context(), "")
	if err != nil || state.Level != "HALTED" || !strings.Contains(state.Where, "by the file") {
		t.Fatalf("%+v %v", state, err)
	}
	// More than the policy lets pass, so that none is filled before the file is seen.
	s.await("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`, "Trading is halted")
	if _, err := Commands(&config.Config{Home: home}, io.Discard).Resume(t.Context()); !statedir.IsLocked(err) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(home, statedir.HaltName)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file of candela halt is still there")
	}
	s.stop()
	if state, err := Commands(&config.Config{Home: home}, io.Discard).Resume(t.Context()); err != nil || state.Level != "ACTIVE" {
		t.Errorf("%+v %v", state, err)
	}
}

// TestLive_NeedsTheListOfSymbols is the lock that the policy holds.
func TestLive_NeedsTheListOfSymbols(t *testing.T) {
	t.Parallel()
	keys := []string{"CANDELA_BINANCE_API_KEY=k", "CANDELA_BINANCE_API_SECRET=s"}
	home := filepath.Join(t.TempDir(), "home")
	start := func(policy string) error {
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, statedir.PolicyName), []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := LoadConfig(config.Input{Args: []string{"--mcp", "--trade", "--live", "--broker=binance", "--home", home}, Environ: keys})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // whatever starts stops at once
		return Run(ctx, cfg, Deps{Version: "test", Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &bytes.Buffer{}, Services: Wired()})
	}
	if err := start("max_order_notional = 10\n"); err == nil || !strings.Contains(err.Error(), "allowed_symbols") {
		t.Errorf("without the list: %v", err)
	}
	if err := start(`allowed_symbols = ["BTCUSDT"]`); err != nil {
		t.Errorf("with it: %v", err)
	}
}
