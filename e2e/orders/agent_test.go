package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	mcphttp "candela/e2e/remote"
	"candela/internal/testkit/porttest"
)

// line is the program while it runs, as a client reaches it.
type line interface {
	call(name, arguments string) (reply, error)
	kill()
}

// agent is a client that asks for order events, by push and by poll, over all lives of the program.
type agent struct {
	*scene
	holder *holder
	client *mcphttp.Client // over HTTP; nil over stdio

	placed   int             // orders
	canceled map[string]bool // orders that this client cancels
	decided  map[string]bool // orders that the owner decides on, or not in time
	parted   map[string]part // orders that are filled in parts

	said func([]byte) // gets each line that the program says over stdio; nil to look for order events alone

	mu             sync.Mutex
	line           line
	polled, pushed heardEvents
}

// part is for how long an order was filled in parts, and how often that is reported if it takes less than ten seconds.
type part struct {
	took  time.Duration
	heard int
}

// heardEvent is a record about an order, a position or the account.
type heardEvent struct {
	Event, Role, Status, Symbol, Decision string

	Seq      uint64
	Order    string `json:"order_id"`
	After    string `json:"position_after"`
	Filled   string `json:"filled_quantity"`
	Realised string `json:"realized_pnl"`
	State    string `json:"trading_state"`
}

func (e heardEvent) String() string {
	words := []string{e.Event, e.Role, e.Decision, e.State}
	if e.Event == "order_ended" {
		words = append(words, e.Status)
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// heardEvents are those that came one way, by their numbers. A number may come again after a crash.
type heardEvents struct {
	all   []heardEvent
	again int // how often a number came again
	wrong []string
}

func (h *heardEvents) add(e heardEvent) {
	at, known := slices.BinarySearchFunc(h.all, e.Seq, func(e heardEvent, seq uint64) int { return int(e.Seq) - int(seq) })
	switch {
	case !known:
		h.all = slices.Insert(h.all, at, e)
	case h.all[at] != e:
		h.wrong = append(h.wrong, fmt.Sprintf("number %d is of %+v and of %+v", e.Seq, h.all[at], e))
	default:
		h.again++
	}
}

const ownerPassphrase = "correct-horse-of-the-orders"

// newAgent starts the program at a holder, and a client that subscribes to order events.
func newAgent(t *testing.T, h *holder, over string, laws ...string) *agent {
	t.Helper()
	a := newClient(t, h, over, laws...)
	a.start()
	if r := a.call("subscribe_notifications", `{"events":["orders"]}`); r.isError {
		t.Fatal(r.text)
	}
	if a.client != nil {
		ctx, cancel := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { a.listen(ctx) })
		t.Cleanup(func() { cancel(); over.Wait() })
	}
	a.trades()
	return a
}

// newClient prepares the program and a client of it.
func newClient(t *testing.T, h *holder, over string, laws ...string) *agent {
	t.Helper()
	home := newHome(t)
	policy(t, home, slices.Concat(h.laws, laws)...)
	a := &agent{scene: newScene(t, h.venue, home), holder: h, canceled: map[string]bool{}, decided: map[string]bool{}, parted: map[string]part{}}
	if over == "http" {
		a.client = &mcphttp.Client{
			Base: "http://127.0.0.1:" + porttest.Free(t), Name: "agent", Owner: &mcphttp.Owner{Passphrase: ownerPassphrase}, HTTP: mcphttp.Plain(&http.Transport{}),
		}
	}
	return a
}

// start starts the program.
func (a *agent) start() {
	a.Helper()
	args := append(slices.Clone(a.venue.args), "--toolsets", "account")
	var next line
	if a.client == nil {
		said := a.said
		if said == nil {
			said = a.hearsLine
		}
		next = startFor(a, a.home, a.venue.environ, args, said)
	} else {
		next = a.serve(args)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.line = next
}

// restart kills the program and starts it.
func (a *agent) restart() {
	a.Helper()
	a.mu.Lock()
	now := a.line
	a.mu.Unlock()
	now.kill()
	a.start()
}

// hearsLine notes an order event that is pushed over stdio.
func (a *agent) hearsLine(line []byte) {
	var m mcphttp.Message
	if json.Unmarshal(line, &m) == nil && m.Method == "notifications/order_event" {
		a.heard(&a.pushed, m.Params)
	}
}

// heard notes a record.
func (a *agent) heard(to *heardEvents, record json.RawMessage) {
	var e heardEvent
	if err := json.Unmarshal(record, &e); err != nil {
		a.Errorf("%v: %s", err, record)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	to.add(e)
}

// call calls a tool until it is answered, whatever happens to the program meanwhile.
func (a *agent) call(name, arguments string) reply {
	a.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		a.mu.Lock()
		now := a.line
		a.mu.Unlock()
		r, err := now.call(name, arguments)
		if err == nil {
			return r
		}
		if time.Now().After(deadline) || a.Context().Err() != nil {
			a.Fatalf("%s %s: %v", name, arguments, err)
		}
	}
}

// read calls a tool whose answer is JSON.
func (a *agent) read(name, arguments string, answer any) {
	a.Helper()
	if r := a.call(name, arguments); r.isError || json.Unmarshal([]byte(r.text), answer) != nil {
		a.Fatalf("%s: %s", name, r.text)
	}
}

// poll takes the order events out of the queue. A poll that asks for alerts alone leaves them there.
func (a *agent) poll() {
	a.Helper()
	if none := a.call("get_notifications", `{}`); none.text != "[]" {
		a.Fatalf("without events: %s", none.text)
	}
	var all []json.RawMessage
	a.read("get_notifications", `{"events":["orders"]}`, &all)
	for _, one := range all {
		a.heard(&a.polled, one)
	}
}

// events returns what was heard of both ways so far.
func (a *agent) events() (polled, pushed []heardEvent) {
	a.Helper()
	a.poll()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.polled.all), slices.Clone(a.pushed.all)
}

// trades waits until orders pass.
func (a *agent) trades() {
	a.Helper()
	a.await("trading begins", func() bool {
		return !a.call("place_order", "{"+a.holder.rests+`,"dry_run":true}`).isError
	})
}

// soon in the arguments of an order is the time three seconds after the call.
const soon = "SOON"

// place places an order until that is taken, and returns its ID. A call without an answer is repeated with its key.
func (a *agent) place(args string) (id string) {
	a.Helper()
	a.await("an order is taken", func() bool {
		a.placed++
		var o record
		args := strings.ReplaceAll(args, soon, time.Now().Add(3*time.Second).UTC().Format(time.RFC3339))
		r := a.call("place_order", fmt.Sprintf(`{"symbol":%q,%s,"idempotency_key":"k%d"}`, a.holder.symbol, args, a.placed))
		if r.isError || json.Unmarshal([]byte(r.text), &o) != nil {
			return false
		}
		id = o.ID
		return true
	})
	return id
}

// has waits until an order has one of some states, and returns which.
func (a *agent) has(id string, states ...string) (status string) {
	a.Helper()
	if !a.within(2*patience, func() bool {
		var all []record
		a.read("get_orders", fmt.Sprintf(`{"order_id":%q}`, id), &all)
		for _, o := range all {
			if o.ID == id {
				status = o.Status
			}
		}
		return slices.Contains(states, status)
	}) {
		a.Fatalf("order %s is %s, want one of %v", id, status, states)
	}
	return status
}

// held returns what is held.
func (a *agent) held() (sum decimal.Decimal) {
	a.Helper()
	var all []struct{ Quantity decimal.Decimal }
	a.read("get_positions", `{}`, &all)
	for _, one := range all {
		sum = sum.Add(one.Quantity)
	}
	return sum
}

// served is the program with --serve --trade while it runs.
type served struct {
	agent *agent
	cmd   *exec.Cmd
}

func (a *agent) serve(args []string) *served {
	a.Helper()
	port := a.client.Base[len("http://127.0.0.1:"):]
	s := &served{agent: a, cmd: exec.Command(binary(a), append([]string{"--serve", "--trade", "--home", a.home, "--port", port}, args...)...)} //nolint:noctx // how it ends is what is tested
	s.cmd.Env = append(slices.Clone(a.venue.environ), "HOME="+a.home, "CANDELA_OWNER_PASSWORD="+ownerPassphrase)
	log, err := os.CreateTemp(filepath.Dir(a.home), "log")
	if err != nil {
		a.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		s.kill()
		if a.Failed() {
			a.Logf("its log:\n%s", logOf(log.Name()))
		}
	})
	// A token lives as long as the program; the subscription is of the client.
	a.await("the client is let in", func() bool { return a.client.Enter(a.Context()) == nil })
	return s
}

func (s *served) call(name, arguments string) (reply, error) {
	ctx, cancel := context.WithTimeout(s.agent.Context(), patience)
	defer cancel()
	answer, err := s.agent.client.Call(ctx, name, arguments)
	if r, ok := errors.AsType[*mcphttp.RefusalError](err); ok {
		return reply{r.Error(), true}, nil
	}
	return reply{text: string(answer)}, err
}

func (s *served) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // killed, as it says, or over before
}

// listen reads the stream of a client over HTTP, and resumes it after the last event that came.
func (a *agent) listen(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		_ = a.client.Listen(ctx, last, func() {}, func(e mcphttp.Event) { // it ends with the program
			last = e.ID
			a.heard(&a.pushed, e.Params)
		})
		time.Sleep(20 * time.Millisecond)
	}
}
