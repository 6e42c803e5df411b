package httpd_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

// servers are one server, or several replicas, in a bubble, whose one token is subscribed
// to everything.
type servers struct {
	t       *testing.T
	pipes   []*pipes
	inboxes []notify.Inbox
	seq     uint64
}

func runServers(t *testing.T, n int, body func(*servers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &servers{t: t}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		memory, members := recordtest.NewMemory(), recordtest.NewMembers()
		for i := range n {
			inbox := s.inbox(n, i, memory, members)
			server := newServerOver(t, mcptest.Server(t, mcptest.Toolbox{}), httpdtest.One(), func(c *httpd.Config) { c.Streams = inbox })
			p := newPipes()
			s.pipes, s.inboxes = append(s.pipes, p), append(s.inboxes, inbox)
			group.Go(func() { _ = inbox.Run(ctx) })
			group.Go(func() {
				if err := server.Serve(ctx, ctx, p); err != nil {
					t.Errorf("serve: %v", err)
				}
			})
		}
		if err := s.inboxes[0].Subscribe(ctx, httpdtest.One()["good"], notify.Filter{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		body(s)
		cancel()
		group.Wait()
	})
}

func (s *servers) inbox(n, i int, memory *recordtest.Memory, members *recordtest.Members) notify.Inbox {
	s.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	var inbox notify.Inbox
	var err error
	if n == 1 {
		inbox, err = local.Open(local.Config{Now: time.Now, Log: quiet})
	} else {
		store := memory.Store(uint64(i), 20*time.Millisecond)
		s.t.Cleanup(store.Close)
		inbox, err = replicated.Open(s.t.Context(), replicated.Config{
			Now: time.Now, Log: quiet, Store: store, Replicas: members.Join(fmt.Sprint("r", i)),
			CatchUp: func(context.Context) error { return nil },
		})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return inbox
}

// fire appends n entries at every server.
func (s *servers) fire(n int) {
	for range n {
		s.seq++
		entry := notify.Entry{Seq: s.seq, Owner: "owner", Symbol: market.Symbol{Name: "AAPL"}, Type: "price_above", At: time.Now(), Data: []byte(`{}`)}
		for _, inbox := range s.inboxes {
			inbox.Append([]notify.Entry{entry})
		}
	}
}

// client reads one stream to its end.
type client struct {
	session string
	conn    net.Conn

	mu  sync.Mutex
	now received
}

// received is what a stream has received.
type received struct {
	events     []string // their IDs
	keepAlives int
	retry      string
	ended      bool
}

// received waits until nothing moves.
func (c *client) received() received {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	now.events = slices.Clone(now.events)
	return now
}

// listen opens a stream of a session, "" for none, at a server.
func (s *servers) listen(server int, session, last string) *client {
	s.t.Helper()
	c := &client{session: session, conn: s.pipes[server].dial(s.t)}
	header := ""
	if session != "" {
		header += "Mcp-Session-Id: " + session + "\n"
	}
	if last != "" {
		header += "Last-Event-ID: " + last + "\n"
	}
	send(s.t, c.conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\n%s\n", header)
	body := readHead(s.t, c.conn).body
	go func() {
		for {
			line, err := body.ReadString('\n')
			c.mu.Lock()
			c.now.ended = err != nil
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				c.now.events = append(c.now.events, strings.TrimSpace(id))
			}
			if retry, ok := strings.CutPrefix(line, "retry: "); ok {
				c.now.retry = strings.TrimSpace(retry)
			}
			if line == ": keep-alive\n" {
				c.now.keepAlives++
			}
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *client) close() {
	_ = c.conn.Close()
	synctest.Wait()
}

// wants checks what a stream has received, and whether it is open.
func (c *client) wants(t *testing.T, open bool, events ...string) {
	t.Helper()
	if got := c.received(); got.ended == open || !slices.Equal(got.events, events) {
		t.Fatalf("session %q: ended %v with events %v, want open %v and %v", c.session, got.ended, got.events, open, events)
	}
}

// Two sessions of a token stay open for 100 keep-alives; each event goes to the newer, and
// to the older when that has left.
func TestSessions_StayOpenSideBySide(t *testing.T) {
	t.Parallel()
	for n, handOver := range map[int]time.Duration{1: 0, 2: 16 * time.Second} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			runServers(t, n, func(s *servers) {
				older := s.listen(0, "a", "")
				s.fire(1)
				older.wants(s.t, true, "1")
				time.Sleep(time.Second) // the cursor is shared
				newer := s.listen(n-1, "b", "")
				time.Sleep(time.Second) // the other replica learns of it
				s.fire(1)
				time.Sleep(100 * 15 * time.Second)
				newer.wants(s.t, true, "2")
				older.wants(s.t, true, "1")
				if a, b := older.received().keepAlives, newer.received().keepAlives; a < 100 || b < 100 {
					s.t.Fatalf("%d and %d keep-alives", a, b)
				}
				newer.close()
				s.fire(1)
				time.Sleep(handOver)
				s.fire(1)
				older.wants(s.t, true, "1", "3", "4")
				older.close()
			})
		})
	}
}

// A session, and a client without one, has one stream, also over several servers.
func TestSessions_SecondStreamOfASessionTakesOver(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		for _, session := range []string{"", "a"} {
			t.Run(fmt.Sprintf("%d servers session %q", n, session), func(t *testing.T) {
				t.Parallel()
				runServers(t, n, func(s *servers) {
					first, other := s.listen(0, session, ""), s.listen(0, "b", "")
					second := s.listen(n-1, session, "")
					time.Sleep(16 * time.Second) // a stream that waits learns it with a keep-alive
					first.wants(s.t, false)
					s.fire(1)
					other.wants(s.t, true)
					second.wants(s.t, true, "1")
					second.close()
					other.close()
				})
			})
		}
	}
}

func TestSessions_FifthDisplacesTheOldest(t *testing.T) {
	t.Parallel()
	runServers(t, 1, func(s *servers) {
		var all []*client
		for i := range 5 {
			all = append(all, s.listen(0, strconv.Itoa(i), ""))
		}
		all[0].wants(s.t, false)
		if retry := all[0].received().retry; retry != "600000" {
			s.t.Fatalf("retry: %q", retry)
		}
		for i := 4; i >= 1; i-- { // the newest leaves first, and the next one goes on
			s.fire(1)
			all[i].wants(s.t, true, strconv.Itoa(5-i))
			all[i].close()
		}
	})
}

// A client that lost the end of its stream resumes there, beside another session.
func TestSessions_ResumeAfterTheLastEvent(t *testing.T) {
	t.Parallel()
	runServers(t, 1, func(s *servers) {
		waiting, first := s.listen(0, "b", ""), s.listen(0, "a", "")
		s.fire(5)
		first.wants(s.t, true, "1", "2", "3", "4", "5")
		again := s.listen(0, "a", "3") // what came after was lost on the way
		s.fire(1)
		again.wants(s.t, true, "4", "5", "6")
		waiting.wants(s.t, true)
		again.close()
		s.fire(1)
		waiting.wants(s.t, true, "7")
		waiting.close()
	})
}

// Of streams that are opened at once, one gets the events, and none ends.
func TestSessions_OpenedAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			runServers(t, n, func(s *servers) {
				for round := range longtest.Pick(20, 500) {
					all := make([]*client, 4)
					var group sync.WaitGroup
					for i := range all {
						group.Go(func() { all[i] = s.listen((round+i)%n, strconv.Itoa(i), "") })
					}
					group.Wait()
					time.Sleep(16 * time.Second)
					s.fire(1)
					events := 0
					for _, c := range all {
						got := c.received()
						if events += len(got.events); got.ended {
							s.t.Fatalf("round %d: session %s has ended", round, c.session)
						}
						_ = c.conn.Close()
					}
					if events != 1 {
						s.t.Fatalf("round %d: %d streams got the event", round, events)
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// Up to six sessions open and close streams: every event is delivered once, and with one server to the
// newest stream. A stream ends only when its client closes it, when its session opens
// another, or when newer sessions displace it.
func TestSessions_EachEventOnce(t *testing.T) {
	t.Parallel()
	for round := range longtest.Pick(30, 500) {
		seed := longtest.Seed() + uint64(round)
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(n, " servers seed ", seed), func(t *testing.T) {
				t.Parallel()
				runServers(t, n, func(s *servers) { s.wander(rand.New(rand.NewPCG(seed, 0))) })
			})
		}
	}
}

// wander opens and closes streams and fires events in random order.
func (s *servers) wander(random *rand.Rand) {
	var open, all []*client
	ends := func(match func(*client) bool) {
		if i := slices.IndexFunc(open, match); i >= 0 {
			open = slices.Delete(open, i, i+1)
		}
	}
	for range 40 {
		switch random.IntN(3) {
		case 0:
			session := strconv.Itoa(random.IntN(6))
			ends(func(c *client) bool { return c.session == session })
			if len(open) == 4 && len(s.pipes) == 1 {
				open = open[1:]
			}
			c := s.listen(random.IntN(len(s.pipes)), session, "")
			open, all = append(open, c), append(all, c)
		case 1:
			if len(open) > 0 {
				c := open[random.IntN(len(open))]
				ends(func(o *client) bool { return o == c })
				c.close()
			}
		case 2:
			s.fireTo(open, 1+random.IntN(3))
		}
		time.Sleep(16 * time.Second) // replicas learn of each other's streams
	}
	last := s.listen(0, "last", "")
	time.Sleep(16 * time.Second)
	var got []string
	for _, c := range append(all, last) {
		now := c.received()
		got = append(got, now.events...)
		if len(s.pipes) == 1 && c != last && now.ended == slices.Contains(open, c) && len(open) < 4 {
			s.t.Errorf("session %s: ended %v", c.session, now.ended)
		}
		_ = c.conn.Close()
	}
	slices.SortFunc(got, func(a, b string) int { return len(a)*1000 - len(b)*1000 + strings.Compare(a, b) })
	for i, id := range got {
		if id != strconv.Itoa(i+1) || uint64(len(got)) != s.seq {
			s.t.Fatalf("of %d events were delivered: %v", s.seq, got)
		}
	}
}

// fireTo fires events and checks that the newest stream of the only server gets them.
func (s *servers) fireTo(open []*client, events int) {
	if len(open) == 0 || len(s.pipes) > 1 {
		s.fire(events)
		return
	}
	newest := open[len(open)-1]
	before := newest.received().events
	s.fire(events)
	if after := newest.received().events; len(after) != len(before)+events {
		s.t.Errorf("the newest stream got %v after %v", after, before)
	}
}
