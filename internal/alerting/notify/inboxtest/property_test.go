package inboxtest

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

var (
	traceCount = flag.Int("traces", 0, "random traces of the log against literal queues; 0: 3000, or 300 under the race detector, and 120 there in the short form")
	traceSeed  = flag.Uint64("trace-seed", 0, "run this one trace only")
)

func traces() int {
	switch {
	case *traceCount > 0:
		return *traceCount
	case raced:
		return longtest.Pick(120, 300)
	default:
		return 3000
	}
}

// TestLog_EqualsALiteralQueuePerSubscriber compares the inbox with a model that copies every entry
// into a queue per subscriber, over random histories: single entries and bursts, changing filters,
// passing time, streams that open, close, break and resume, stops and crashes. A failure prints
// the seed that repeats it.
func TestLog_EqualsALiteralQueuePerSubscriber(t *testing.T) {
	t.Parallel()
	if *traceSeed > 0 {
		runTrace(t, *traceSeed)
		return
	}
	var did [opCount]int
	full, given := 0, 0
	ran := runUntil(traces(), func(seed uint64) (enough bool) {
		r := runTrace(t, seed)
		for op, n := range r.did {
			did[op] += n
		}
		full, given = full+r.full, given+r.given
		return !slices.Contains(did[:], 0) && full > 0
	})
	t.Logf("%d traces, operations %v, %d events delivered, %d full queues", ran, did, given, full)
	if slices.Contains(did[:], 0) || full == 0 {
		t.Errorf("some operation never ran: %v, full %d", did, full)
	}
}

// runUntil runs the given number of traces, each with its own seed, and up to ten times as many until
// run reports enough. It returns the number of runs.
func runUntil(traces int, run func(seed uint64) (enough bool)) int {
	enough := false
	ran := 0
	for ran < traces || !enough && ran < 10*traces {
		enough = run(longtest.Seed() + uint64(ran))
		ran++
	}
	return ran
}

// The operations of a trace.
const (
	opFire = iota
	opBurst
	opPass
	opSubscribe
	opUnsubscribe
	opOpen
	opResume
	opTake
	opClose
	opLook
	opStop
	opCrash
	opCount
)

// trace is one random history, applied to the inbox and to the model.
type trace struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	log  *local.Inbox
	path string // "" for a trace without restarts, which is faster
	now  time.Time
	all  []notify.Entry
	seq  uint64
	subs []*traced

	did         [opCount]int
	full, given int
}

// traced is a subscriber, its stream and its model.
type traced struct {
	caller principal.Caller
	stream notify.Stream
	model  literal
	got    []uint64 // received by the client
}

func runTrace(t *testing.T, seed uint64) *trace {
	t.Helper()
	r := &trace{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 8)), now: time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)}
	if seed%16 == 1 {
		r.path = filepath.Join(t.TempDir(), "subscriptions.json")
	}
	for i := range 1 + r.rng.IntN(3) {
		owner := principal.Owner("owner-" + strconv.Itoa(r.rng.IntN(2)))
		r.subs = append(r.subs, &traced{caller: principal.Caller{Subject: owner, Key: fmt.Sprint("key-", i), ClientKey: fmt.Sprint("client-", i)}})
	}
	r.start()
	weights := [opCount]int{opFire: 20, opBurst: 1, opPass: 4, opSubscribe: 6, opUnsubscribe: 1, opOpen: 5, opResume: 3, opTake: 16, opClose: 4, opLook: 4}
	if r.path != "" {
		weights[opStop], weights[opCrash] = 1, 2
	}
	for range 80 {
		r.step(pick(r.rng, weights[:]))
	}
	for _, s := range r.subs {
		r.look(s)
		r.close(s)
		r.open(s, "", false)
		for more := true; more; {
			more = r.take(s) > 0
		}
		r.close(s)
	}
	return r
}

func pick(rng *rand.Rand, weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := rng.IntN(total)
	for op, w := range weights {
		if at -= w; at < 0 {
			return op
		}
	}
	panic("unreachable")
}

func (r *trace) step(op int) {
	r.did[op]++
	s := r.subs[r.rng.IntN(len(r.subs))]
	switch op {
	case opFire:
		r.fire(1 + r.rng.IntN(3))
	case opBurst:
		r.fire(200 + r.rng.IntN(1600))
	case opPass:
		r.now = r.now.Add(time.Duration(r.rng.IntN(40 * 60 * 1e9)))
	case opSubscribe:
		f := r.filter()
		r.must(r.log.Subscribe(r.t.Context(), s.caller, f))
		s.model.subscribe(f)
		r.save()
	case opUnsubscribe:
		existed, err := r.log.Unsubscribe(r.t.Context(), s.caller)
		r.must(err)
		if existed != (s.model.filter != nil) {
			r.fail("unsubscribed: %v", existed)
		}
		s.model.unsubscribe()
		if existed {
			r.save()
		}
	case opOpen:
		r.open(s, r.garbage(), false)
	case opResume:
		r.open(s, r.position(s), true)
	case opTake:
		r.take(s)
	case opClose:
		r.close(s)
	case opLook:
		r.look(s)
	case opStop:
		r.must(r.log.Flush())
		r.save()
		r.restart()
	case opCrash:
		r.restart()
	}
}

func (r *trace) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s; repeat with -trace-seed %d", fmt.Sprintf(format, args...), r.seed)
}

func (r *trace) must(err error) {
	r.t.Helper()
	if err != nil {
		r.fail("%v", err)
	}
}

func (r *trace) filter() notify.Filter {
	symbols := []market.Symbol{{Name: "A"}, {Name: "B"}, {Venue: "x", Name: "A"}, {Venue: "y", Name: "B"}}
	var f notify.Filter
	for _, s := range symbols {
		if r.rng.IntN(3) == 0 {
			f.Symbols = append(f.Symbols, s)
		}
	}
	if r.rng.IntN(3) == 0 {
		f.Types = []string{[]string{"price_above", "price_below"}[r.rng.IntN(2)]}
	}
	return f
}

// fire appends entries of both owners in one commit.
func (r *trace) fire(n int) {
	entries := r.commit(n)
	r.log.Append(entries)
	for _, e := range entries {
		for _, s := range r.subs {
			if s.caller.Subject == e.Owner {
				s.model.fire(e)
			}
		}
	}
}

// commit creates entries of both owners. Sequence numbers may have gaps.
func (r *trace) commit(n int) []notify.Entry {
	var entries []notify.Entry
	for range n {
		r.seq += 1 + uint64(r.rng.IntN(3)/2)
		r.now = r.now.Add(time.Duration(r.rng.IntN(1e6)))
		entries = append(entries, notify.Entry{
			Seq: r.seq, Owner: principal.Owner("owner-" + strconv.Itoa(r.rng.IntN(5)/4)), At: r.now,
			Symbol: market.Symbol{Venue: []string{"x", "y"}[r.rng.IntN(2)], Name: []string{"A", "B", "C"}[r.rng.IntN(3)]},
			Type:   []string{"price_above", "price_below"}[r.rng.IntN(2)],
			Data:   fmt.Appendf(nil, `{"alert_id":"a-%d"}`, r.seq),
		})
	}
	r.all = append(r.all, entries...)
	return entries
}

// garbage returns an invalid event ID.
func (r *trace) garbage() string {
	return []string{"", "0", "-1", "x", "1.5", "18446744073709551616", strconv.FormatUint(r.seq+1+uint64(r.rng.IntN(5)), 10)}[r.rng.IntN(7)]
}

// position returns an event ID that the client has seen, mostly a late one.
func (r *trace) position(s *traced) string {
	if len(s.got) == 0 {
		return ""
	}
	back := min(len(s.got), 1+r.rng.IntN(1+r.rng.IntN(200)))
	return strconv.FormatUint(s.got[len(s.got)-back], 10)
}

func (r *trace) open(s *traced, last string, known bool) {
	stream, err := r.log.Open(r.t.Context(), s.caller, last)
	r.must(err)
	s.stream = stream
	s.model.expire(r.now)
	if seq, err := strconv.ParseUint(last, 10, 64); known && err == nil {
		s.model.resume(seq)
	}
	s.model.open()
}

func (r *trace) take(s *traced) int {
	if s.stream == nil {
		return 0
	}
	got, want := ids(r.t, s.stream.Take(nil)), s.model.take(r.now, 64)
	if len(got) != len(want) {
		r.fail("%s: took %d %v, want %d", s.caller.Key, len(got), got, len(want))
	}
	for i, e := range want {
		if got[i] != e.Seq {
			r.fail("%s: took %v, at %d want %d", s.caller.Key, got, i, e.Seq)
		}
	}
	s.got = append(s.got, got...)
	r.given += len(got)
	return len(got)
}

func (r *trace) close(s *traced) {
	if s.stream != nil {
		s.stream.Close()
		s.stream = nil
	}
	s.model.connected = false
}

func (r *trace) look(s *traced) {
	got, err := r.log.Subscription(r.t.Context(), s.caller)
	r.must(err)
	s.model.expire(r.now)
	if got.Active != (s.model.filter != nil) || got.Connected != s.model.connected || got.Queued != len(s.model.queue) {
		r.fail("%s: %+v, want %d queued, connected %v", s.caller.Key, got, len(s.model.queue), s.model.connected)
	}
	if got.Queued == 1000 {
		r.full++
	}
}

// save records the model's cursors when the file is written.
func (r *trace) save() {
	for _, s := range r.subs {
		s.model.save()
	}
}

// restart restarts with the file and all entries. Half of the clients return with a new token.
func (r *trace) restart() {
	for _, s := range r.subs {
		s.stream = nil
		s.model.expire(r.now)
		s.model.crash()
	}
	r.start()
	for _, s := range r.subs {
		if r.rng.IntN(2) == 0 {
			s.caller.Key += "'"
		}
	}
}

func (r *trace) start() {
	log, err := local.Open(local.Config{Path: r.path, Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler)})
	r.must(err)
	log.Restore(r.seq, r.all)
	r.log = log
}
