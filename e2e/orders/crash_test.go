package orders

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/longtest"
)

var (
	patient = flag.Bool("patient", longtest.On(), "wait the minute until an order that never arrived is given up")
	update  = flag.Bool("update", false, "rewrite the table in docs/trading.md")
)

// patience is the timeout of a wait, long enough for a slow machine.
const patience = time.Minute

// moment is when the program is killed.
type moment struct {
	name string
	// bring has the moment come: it calls the tool and returns at that moment.
	bring func(*scene)
	late  bool // what was sent arrives at the venue after the next start
	rests bool // the order waits at the venue
	// Expected after the next start.
	orders int    // at the venue
	status string // of the order; "" for none
	filled bool   // half of it is
	ends   string // what it becomes after a minute in which the venue does not know it
}

// placing is every moment on the way of an order. It fills at once: a second one
// would not be refused for the id of the first, as while that is open.
func placing() []moment {
	return []moment{
		{name: "before it is persisted", bring: func(s *scene) { s.lock(); s.begin(); settle() }},
		{name: "persisted, not sent", orders: 0, status: "submitted", ends: "canceled", bring: func(s *scene) { s.venue.close(); s.begin(); s.persisted("order_sent") }},
		{name: "sent, and it arrives after the restart", orders: 1, status: "filled", late: true, bring: func(s *scene) { s.venue.close(); s.begin(); s.onItsWay() }},
		{name: "sent, the venue did nothing", orders: 0, status: "submitted", ends: "canceled", bring: func(s *scene) { s.fails(fake.Fault{Hang: true}, nil) }},
		{name: "sent, the venue took it", orders: 1, status: "filled", bring: func(s *scene) { s.fails(fake.Fault{Stall: true}, nil); s.done() }},
		{name: "answered, not persisted", orders: 1, status: "filled", bring: func(s *scene) { s.fails(fake.Fault{}, s.lock); s.done(); settle() }},
		{name: "answered, and the result returned", orders: 1, status: "filled", bring: func(s *scene) { s.begin(); s.answered() }},
		{name: "while a fill comes by stream", rests: true, orders: 1, status: "partially_filled", filled: true, bring: func(s *scene) { s.begin(); s.answered(); s.lock(); s.fill(); settle() }},
	}
}

// cancelling is every moment on the way of a cancel, of an order that waits.
func cancelling() []moment {
	return []moment{
		// A cancel that cannot be persisted is sent after a while; it does not arrive.
		{name: "before it is persisted", orders: 1, status: "accepted", bring: func(s *scene) { s.lock(); s.venue.close(); s.begin(); settle() }},
		{name: "persisted, not sent", orders: 1, status: "canceled", bring: func(s *scene) { s.venue.close(); s.begin(); s.persisted("order_cancel_asked") }},
		{name: "sent, and it arrives after the restart", orders: 1, status: "canceled", late: true, bring: func(s *scene) { s.venue.close(); s.begin(); s.persisted("order_cancel_asked") }},
		{name: "sent, the venue did nothing", orders: 1, status: "canceled", bring: func(s *scene) { s.fails(fake.Fault{Hang: true}, nil) }},
		{name: "sent, the venue took it", orders: 1, status: "canceled", bring: func(s *scene) { s.fails(fake.Fault{Stall: true}, nil); s.done() }},
		{name: "answered, not persisted", orders: 1, status: "canceled", bring: func(s *scene) { s.fails(fake.Fault{}, s.lock); s.done(); settle() }},
		{name: "answered, and the result returned", orders: 1, status: "canceled", bring: func(s *scene) { s.begin(); s.answered() }},
		{name: "while a fill comes by stream", orders: 1, status: "canceled", filled: true, bring: func(s *scene) { s.fails(fake.Fault{Hang: true}, s.lock); s.fill(); settle() }},
	}
}

// settle gives the program the time to come as far as it can. What it cannot pass
// holds it there.
func settle() { time.Sleep(300 * time.Millisecond) }

// scene is one cell of the matrix.
type scene struct {
	*testing.T
	venue   *venue
	home    string
	program *program
	rests   bool
	tool    string
	args    string
	id      string // of the order, once it is known
	reply   chan error
	act     func() error // in place of the tool, when it is set

	mu       sync.Mutex
	locked   *sql.DB
	failures []string // in words
}

// begin calls the tool, and waits for no answer.
func (s *scene) begin() {
	p, act := s.program, s.act
	go func() {
		if act != nil {
			s.reply <- act()
			return
		}
		_, err := p.call(s.tool, s.args)
		s.reply <- err
	}()
}

// answered waits for the tool's answer.
func (s *scene) answered() {
	s.Helper()
	if err := <-s.reply; err != nil {
		s.Fatal(err)
	}
}

// fails calls the tool, lets the venue's answer go wrong and returns when the
// request has arrived. then runs at the venue before it does anything.
func (s *scene) fails(f fake.Fault, then func()) {
	s.Helper()
	arrived := make(chan struct{})
	var once sync.Once
	s.venue.fail(f, func() {
		once.Do(func() {
			if then != nil {
				then()
			}
			close(arrived)
		})
	})
	s.begin()
	select {
	case <-arrived:
	case <-time.After(patience):
		s.Fatal("nothing arrives at the venue")
	}
}

func (s *scene) db() *sql.DB {
	s.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.home, "candela.db")+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		s.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// lock keeps the program from writing to its store.
func (s *scene) lock() {
	s.Helper()
	db := s.db()
	if _, err := db.ExecContext(s.Context(), "BEGIN IMMEDIATE"); err != nil {
		s.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked = db
}

func (s *scene) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locked != nil {
		_ = s.locked.Close()
		s.locked = nil
	}
}

// persisted waits until the store has an event of a kind.
func (s *scene) persisted(kind string) {
	s.Helper()
	db := s.db()
	defer func() { _ = db.Close() }()
	s.await("event "+kind, func() bool {
		n := 0
		err := db.QueryRowContext(s.Context(), "SELECT count(*) FROM events WHERE kind = ?", kind).Scan(&n)
		return err == nil && n > 0
	})
}

func (s *scene) await(what string, done func() bool) {
	s.Helper()
	if !s.within(patience, done) {
		s.Fatalf("timed out waiting for %s", what)
	}
}

// within waits until something is so, and reports whether it came to that.
func (s *scene) within(limit time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// onItsWay waits until the order is on its way and has not arrived. It was persisted
// before, which does not mean that it was sent.
func (s *scene) onItsWay() {
	s.Helper()
	s.await("a request before the shut door", s.venue.waiting)
}

// done waits until the venue has one order, which is over.
func (s *scene) done() {
	s.Helper()
	s.await("an order that is over", func() bool {
		for _, c := range s.venue.orders() {
			return c.n == 1 && c.open == 0
		}
		return false
	})
}

// fill fills half of the one order at the venue.
func (s *scene) fill() {
	for id := range s.venue.orders() {
		s.venue.trade(id, s.venue.half)
	}
}

// record is an order as a client reads it.
type record struct {
	ID     string `json:"order_id"`
	Status string `json:"status"`
	Filled string `json:"filled_quantity"`
	Role   string `json:"role"` // of an order of a group

	Average *decimal.Decimal `json:"avg_fill_price"`
}

func (s *scene) orders() []record {
	s.Helper()
	var all []record
	text := s.program.must("get_orders", `{}`).text
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
	return all
}

// order is the arguments of the order.
func (s *scene) order(more string) string {
	if s.rests {
		return "{" + s.venue.rests + more + "}"
	}
	return "{" + s.venue.fills + more + "}"
}

const key = `,"idempotency_key":"once"`

// trades waits until the program lets orders pass, and knows all it needs for one.
func (s *scene) trades() {
	s.Helper()
	s.await("trading begins", func() bool { return !s.program.must("place_order", s.order(`,"dry_run":true`)).isError })
}

func (s *scene) start() {
	s.Helper()
	s.program = start(s, s.home, s.venue.environ, s.venue.args)
	s.trades()
}

// play kills the program at the moment and starts it again. It returns what was
// then found, for the table.
func (s *scene) play(cancel bool, m moment) string {
	s.Helper()
	s.rests = cancel || m.rests
	s.start()
	s.tool, s.args = "place_order", s.order(key)
	if cancel {
		var r record
		if text := s.program.must(s.tool, s.args).text; json.Unmarshal([]byte(text), &r) != nil || r.Status != "accepted" {
			s.Fatalf("the order is not placed: %s", text)
		}
		s.id, s.tool, s.args = r.ID, "cancel_order", `{"order_id":"`+r.ID+`"}`
	}
	m.bring(s)
	s.program.kill()
	s.unlock()
	s.venue.end()
	held := s.venue.reopen()
	if !m.late {
		for _, c := range held {
			_ = c.Close()
		}
		held = nil
	}
	s.start()
	for _, c := range held {
		s.venue.let(c)
	}
	return s.judge(m)
}

// judge holds what is found after the start against what must be.
func (s *scene) judge(m moment) string {
	s.Helper()
	if m.status == "" {
		if all := s.orders(); len(all) != 0 || len(s.venue.orders()) != 0 {
			s.Errorf("there are %v here, %v at the venue", all, s.venue.orders())
		}
	} else {
		s.becomes(m.status, m)
	}
	found := fmt.Sprintf("%d | %s", s.count(), strings.TrimSpace(m.status+s.shown(m)))
	// A client without an answer retries with the same key.
	again := s.program.must("place_order", s.order(key))
	var r record
	if err := json.Unmarshal([]byte(again.text), &r); err != nil {
		s.Errorf("%v: %s", err, again.text)
	}
	switch {
	case m.status == "" && (r.Status != "filled" && r.Status != "accepted" || s.count() != 1):
		s.Errorf("called again it is %s, with %d at the venue", again.text, s.count())
	case m.status != "" && (r.ID != s.id || s.count() != m.orders):
		s.Errorf("called again it is %s, and was order %s, with %d at the venue", again.text, s.id, s.count())
	}
	if m.ends != "" && *patient {
		s.becomes(m.ends, m)
	}
	checkReceipts(s, s.home)
	if out, err := run(s, "audit", "verify", "--home", s.home); err != nil || !strings.Contains(out, "unbroken") {
		s.Errorf("%v: %s", err, out)
	}
	word := "the same order"
	if m.status == "" {
		word = "placed, once"
	}
	return found + " | " + word
}

// becomes waits until the one order has a status, here and at the venue.
func (s *scene) becomes(status string, m moment) {
	s.Helper()
	var all []record
	limit := patience
	if status == m.ends {
		limit += time.Minute
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		all = s.orders()
		if len(all) == 1 && all[0].Status == status && (!m.filled || all[0].Filled == s.venue.half.String()) {
			break
		}
		if time.Now().After(deadline) {
			s.Fatalf("orders are %+v, and should be one that is %s", all, status)
		}
	}
	if s.id != "" && s.id != all[0].ID {
		s.Errorf("order %s was replaced by %s", s.id, all[0].ID)
	}
	s.id = all[0].ID
	at := s.venue.orders()[s.id]
	open := 0
	if status == "accepted" || status == "partially_filled" {
		open = 1
	}
	if s.count() != m.orders || at.n != m.orders || at.open != open {
		s.Errorf("the venue has %v, want %d of which %d open", s.venue.orders(), m.orders, open)
	}
	if m.filled && !s.venue.filled(s.id).Equal(s.venue.half) {
		s.Errorf("the venue has filled %v", s.venue.filled(s.id))
	}
}

// count returns how many orders the venue ever took.
func (s *scene) count() int {
	n := 0
	for _, c := range s.venue.orders() {
		n += c.n
	}
	return n
}

func (s *scene) shown(m moment) string {
	switch {
	case m.status == "":
		return "none"
	case m.filled:
		return ", half filled"
	case m.ends != "":
		return ", after a minute " + m.ends
	default:
		return ""
	}
}

// TestCrash_Matrix kills the program with SIGKILL at every step of placing and of
// cancelling an order, at both venues, starts it again, and calls again as a client
// would that got no answer.
func TestCrash_Matrix(t *testing.T) { //nolint:tparallel // the group of all cells ends when they have
	t.Parallel()
	venues := []func(testing.TB, string) *venue{atBinance, atAlpaca}
	var mu sync.Mutex
	rows := make(map[string][]string)
	var names []string
	t.Run("cells", func(t *testing.T) {
		for _, table := range []struct {
			act     string
			moments []moment
		}{{"place", placing()}, {"cancel", cancelling()}} {
			for _, m := range table.moments {
				name := table.act + " | " + m.name
				names = append(names, name)
				for _, at := range venues {
					home := newHome(t)
					v := at(t, home)
					t.Run(v.name+", "+table.act+", "+m.name, func(t *testing.T) {
						t.Parallel()
						s := newScene(t, v, home)
						row := s.play(table.act == "cancel", m)
						mu.Lock()
						defer mu.Unlock()
						rows[name] = append(rows[name], v.name+" | "+row)
					})
				}
			}
		}
	})
	if t.Failed() {
		return
	}
	if len(rows) < len(names) {
		t.Log("a part of the matrix was asked for")
		return
	}
	matrix(t, names, rows)
}

// matrix writes the table down and holds the one in the documentation against it.
func matrix(t *testing.T, names []string, rows map[string][]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Call | Killed | Orders at the venue | After the next start | Called again with its key |\n|---|---|---|---|---|\n")
	for _, name := range names {
		found := make(map[string]bool)
		for _, row := range rows[name] {
			_, what, _ := strings.Cut(row, " | ")
			found[what] = true
			t.Logf("%-8s %s", strings.SplitN(row, " | ", 2)[0], name+" | "+what)
		}
		if len(rows[name]) != 2 || len(found) != 1 {
			t.Errorf("%s: the venues differ: %q", name, rows[name])
		}
		for what := range found {
			fmt.Fprintf(&b, "| %s | %s |\n", name, what)
		}
	}
	write(t, "matrix", "Matrix", b.String())
}

// write holds a table in the documentation against one, or rewrites it.
func write(t *testing.T, name, test, table string) {
	t.Helper()
	const path, end = "../../docs/trading.md", "\n<!-- end of the matrix -->"
	begin := "<!-- " + name + ": written by go test ./e2e/orders -run " + test + " -update -->\n\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the matrix", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table {
		t.Errorf("%s has another matrix; -update rewrites it", path)
	}
}
