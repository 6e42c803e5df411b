package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/principal"
)

// TestReplicas_EqualAQueuePerSubscriber compares the inboxes of several replicas with a model
// that copies every entry into a queue per subscriber, over random histories: entries arrive
// at each replica at different times, streams move, filters change, tokens end, writes fail
// or lose their acknowledgement, replicas stop and crash. A stream delivers what its queue
// and its replica hold, in order. Only after a move or a crash it may repeat what was
// delivered in the two seconds before. Every second trace reads the entries of an owner on first
// use. A failure prints the seed that repeats it.
func TestReplicas_EqualAQueuePerSubscriber(t *testing.T) {
	t.Parallel()
	if *traceSeed > 0 {
		synctest.Test(t, func(t *testing.T) { runCluster(t, *traceSeed) })
		return
	}
	var did [clusterOps]int
	given, polled, repeated := 0, 0, 0
	clusters := runUntil(max(30, traces()/10), func(seed uint64) (enough bool) {
		synctest.Test(t, func(t *testing.T) {
			f := runCluster(t, seed)
			for op, n := range f.did {
				did[op] += n
			}
			given, polled, repeated = given+f.given, polled+f.polled, repeated+f.repeated
		})
		return !slices.Contains(did[:], 0) && repeated > 0 && polled > 0
	})
	t.Logf("%d traces, operations %v, %d events delivered, %d of them repeated after a crash, %d polled", clusters, did, given, repeated, polled)
	if slices.Contains(did[:], 0) || repeated == 0 || polled == 0 {
		t.Errorf("some operation never ran: %v, %d repeated, %d polled", did, repeated, polled)
	}
}

// The operations of a trace over replicas.
const (
	clusterFire = iota
	clusterArrive
	clusterPass
	clusterSubscribe
	clusterUnsubscribe
	clusterOpen
	clusterResume
	clusterTake
	clusterClose
	clusterLook
	clusterToken
	clusterDrain
	clusterSettle
	clusterKill
	clusterStop
	clusterStart
	clusterOps
)

// replica is a replica.
type replica struct {
	notify.Inbox
	cluster *cluster
	member  *recordtest.Member
	store   *recordtest.Store
	stop    context.CancelFunc
	done    chan struct{}
	mu      sync.Mutex
	came    int // number of entries received
}

// modelSubscriber is a subscriber, the replica of its stream and its model.
type modelSubscriber struct {
	caller principal.Caller
	stream notify.Stream
	at     *replica // serves the stream
	model  literal
	got    []uint64
	times  []timed // cursors and their times
	shaky  bool    // the next stream may repeat entries after a crash
	floor  uint64  // entries up to here must not be repeated
}

type timed struct {
	seq uint64
	at  time.Time
}

// unsettledBatch is an unsettled batch.
type unsettledBatch struct {
	batch *notify.Batch
	seqs  []uint64
	at    *replica
}

type cluster struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	memory   *recordtest.Memory
	members  *recordtest.Members
	ended    sync.Map // tokens
	replicas []*replica
	started  uint64
	trace    *trace // generates entries and filters
	subs     []*modelSubscriber

	queue     map[principal.Owner][]uint64 // unpolled entries by owner
	unsettled []*unsettledBatch
	lost      map[principal.Owner][][]uint64 // batches of dead replicas, to be reclaimed
	crashed   time.Time
	clusterTally
}

type clusterTally struct {
	did                     [clusterOps]int
	given, polled, repeated int
}

func runCluster(t *testing.T, seed uint64) *cluster {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	f := &cluster{
		t: t, seed: seed, rng: rng, memory: recordtest.NewMemory(), members: recordtest.NewMembers(),
		trace: &trace{t: t, seed: seed, rng: rng}, queue: map[principal.Owner][]uint64{}, lost: map[principal.Owner][][]uint64{},
	}
	for i := range 1 + rng.IntN(3) {
		owner := principal.Owner("owner-" + strconv.Itoa(rng.IntN(2)))
		f.subs = append(f.subs, &modelSubscriber{caller: principal.Caller{Subject: owner, Key: fmt.Sprint("key-", i), ClientKey: fmt.Sprint("client-", i)}})
	}
	for range 2 + rng.IntN(2) {
		f.start()
	}
	weights := [clusterOps]int{
		clusterFire: 20, clusterArrive: 16, clusterPass: 6, clusterSubscribe: 6, clusterUnsubscribe: 1, clusterOpen: 8, clusterResume: 3, clusterTake: 20, clusterClose: 4,
		clusterLook: 4, clusterToken: 1, clusterDrain: 5, clusterSettle: 5, clusterKill: 1, clusterStop: 1, clusterStart: 2,
	}
	for range 120 {
		f.step(pick(rng, weights[:]))
	}
	f.finish()
	return f
}

func (f *cluster) fail(format string, args ...any) {
	f.t.Helper()
	f.t.Fatalf("%s; repeat with -trace-seed %d", fmt.Sprintf(format, args...), f.seed)
}

func (f *cluster) must(err error) {
	f.t.Helper()
	if err != nil {
		f.fail("%v", err)
	}
}

// start starts a replica.
func (f *cluster) start() {
	f.started++
	c := &replica{
		cluster: f, member: f.members.Join(fmt.Sprint("r", f.started)), done: make(chan struct{}),
		store: f.memory.Store(f.seed*64+f.started, 40*time.Millisecond),
	}
	f.flaky(c)
	cfg := replicated.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Store: c.store, Replicas: c.member, CatchUp: func(context.Context) error { c.arrive(len(f.trace.all)); return nil },
		TokenEnded: func(_ context.Context, key string) (bool, error) {
			_, gone := f.ended.Load(key)
			return gone, nil
		},
	}
	if f.seed%2 == 0 {
		cfg.Read = c.read
	}
	log, err := replicated.Open(f.t.Context(), cfg)
	f.must(err)
	c.Inbox = log
	c.arrive(len(f.trace.all))
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		defer close(c.done)
		_ = c.Run(ctx)
	}()
	f.replicas = append(f.replicas, c)
	f.t.Cleanup(c.halt)
}

// read reads what is committed of an owner, as an inbox of many owners does on first use.
func (c *replica) read(_ context.Context, owner principal.Owner) (head uint64, of []notify.Entry, err error) {
	all := c.cluster.trace.all
	c.arrive(len(all))
	for _, e := range all {
		if head = e.Seq; e.Owner == owner {
			of = append(of, e)
		}
	}
	return head, of, nil
}

// halt stops its goroutines.
func (c *replica) halt() {
	c.stop()
	<-c.done
	c.store.Close()
}

// flaky makes some of a replica's writes fail, before or after they are stored.
func (f *cluster) flaky(c *replica) {
	rng := rand.New(rand.NewPCG(f.seed, 1000+f.started))
	c.store.Fail(func() error {
		if rng.IntN(20) == 0 {
			return errors.New("no answer")
		}
		return nil
	})
}

// arrive appends committed entries, up to n in total.
func (c *replica) arrive(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.came {
		c.Append(c.cluster.trace.all[c.came:n])
		c.came = n
	}
}

// has reports whether a replica has received an entry.
func (c *replica) has(seq uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came > 0 && c.cluster.trace.all[c.came-1].Seq >= seq
}

func (f *cluster) any() *replica { return f.replicas[f.rng.IntN(len(f.replicas))] }

func (f *cluster) step(op int) {
	s, c := f.subs[f.rng.IntN(len(f.subs))], f.any()
	f.did[op]++
	if *traceSeed > 0 {
		at := "-"
		if s.at != nil {
			at = s.at.member.Self()
		}
		f.t.Logf("op %d, %s whose stream is at %s, at %s; queue %d, taken %d", op, s.caller.Key, at, c.member.Self(), len(s.model.queue), s.model.taken)
	}
	switch op {
	case clusterFire:
		f.fire(1 + f.rng.IntN(3))
	case clusterArrive:
		c.arrive(c.came + f.rng.IntN(len(f.trace.all)-c.came+1))
	case clusterPass:
		f.pass()
	case clusterSubscribe:
		filter := f.trace.filter()
		f.must(c.Subscribe(f.t.Context(), s.caller, filter))
		s.model.subscribe(filter)
	case clusterUnsubscribe:
		existed, err := c.Unsubscribe(f.t.Context(), s.caller)
		f.must(err)
		if existed != (s.model.filter != nil) {
			f.fail("unsubscribed: %v", existed)
		}
		s.model.unsubscribe()
	case clusterOpen:
		f.open(s, c, "", false)
	case clusterResume:
		f.open(s, c, f.trace.position(&traced{got: s.got}), true)
	case clusterTake:
		f.take(s)
	case clusterClose:
		f.close(s)
	case clusterLook:
		f.look(s, c)
	case clusterToken:
		f.token(s)
	case clusterDrain:
		f.drain(c, principal.Owner("owner-"+strconv.Itoa(f.rng.IntN(2))))
	case clusterSettle:
		f.settle()
	case clusterKill:
		f.end(c, true)
	case clusterStop:
		f.end(c, false)
	case clusterStart:
		if len(f.replicas) < 4 {
			f.start()
		}
	}
}

// pass lets time pass, mostly a little.
func (f *cluster) pass() {
	d := time.Duration(f.rng.IntN(int(3 * time.Second)))
	if f.rng.IntN(20) == 0 {
		d = time.Duration(f.rng.IntN(int(30 * time.Minute)))
	}
	time.Sleep(d)
}

// fire commits entries. No replica receives them yet.
func (f *cluster) fire(n int) {
	before := len(f.trace.all)
	f.trace.now = time.Now()
	f.trace.commit(n)
	time.Sleep(time.Until(f.trace.now))
	for _, e := range f.trace.all[before:] {
		f.queue[e.Owner] = append(f.queue[e.Owner], e.Seq)
		for _, s := range f.subs {
			if s.caller.Subject == e.Owner {
				s.model.fire(e)
			}
		}
	}
}

func (f *cluster) open(s *modelSubscriber, c *replica, last string, known bool) {
	seq, err := strconv.ParseUint(last, 10, 64)
	known = known && err == nil
	moved := s.at != nil && s.at != c
	stream, err := c.Open(f.t.Context(), s.caller, last)
	f.must(err)
	if moved {
		s.mayRepeat(time.Now())
	}
	s.stream, s.at = stream, c
	s.model.expire(time.Now())
	if known && slices.ContainsFunc(f.trace.all, func(e notify.Entry) bool { return e.Seq == seq }) {
		s.model.resume(seq)
		s.shaky = false
		s.times = slices.DeleteFunc(s.times, func(one timed) bool { return one.seq > seq })
	}
	s.model.open()
}

// take compares a stream with the entries that its model and its replica have.
func (f *cluster) take(s *modelSubscriber) int {
	if s.stream == nil {
		return 0
	}
	got := ids(f.t, s.stream.Take(nil))
	if s.shaky && len(got) > 0 {
		f.repeat(s, got[0])
	}
	if s.model.taken > 0 {
		s.times = append(s.times, timed{s.model.taken, time.Now()})
	}
	s.model.deliver(s.model.taken)
	s.model.expire(time.Now())
	var want []uint64
	for _, e := range s.model.queue {
		if s.at.has(e.Seq) && len(want) < 64 {
			want = append(want, e.Seq)
		}
	}
	if !slices.Equal(got, want) {
		f.fail("%s at %s: took %v, want %v", s.caller.Key, s.at.member.Self(), got, want)
	}
	if len(got) > 0 {
		s.model.taken = got[len(got)-1]
	}
	s.got = append(s.got, got...)
	f.given += len(got)
	return len(got)
}

// repeat rewinds the model to the first repeated entry after a crash, if that is allowed.
func (f *cluster) repeat(s *modelSubscriber, first uint64) {
	s.shaky = false
	s.model.expire(time.Now())
	at := slices.IndexFunc(s.model.sent, func(e notify.Entry) bool { return e.Seq == first })
	if at < 0 {
		return
	}
	if first <= s.floor {
		f.fail("%s: %d was repeated, but was delivered long before the crash, up to %d", s.caller.Key, first, s.floor)
	}
	f.repeated += len(s.model.sent) - at
	s.times = slices.DeleteFunc(s.times, func(one timed) bool { return one.seq >= first })
	s.model.queue = append(slices.Clone(s.model.sent[at:]), s.model.queue...)
	s.model.sent = s.model.sent[:at]
}

func (f *cluster) close(s *modelSubscriber) {
	if s.stream != nil {
		s.stream.Close()
		s.stream, s.at = nil, nil
	}
	s.model.connected = false
	f.settleDown()
}

// settleDown lets every replica receive all writes.
func (f *cluster) settleDown() { time.Sleep(3 * time.Second) }

func (f *cluster) look(s *modelSubscriber, c *replica) {
	f.settleDown()
	got, err := c.Subscription(f.t.Context(), s.caller)
	f.must(err)
	s.model.expire(time.Now())
	dying := time.Since(f.crashed) < 5*time.Second // the others may not have detected it
	if got.Active != (s.model.filter != nil) || got.Connected != s.model.connected && !dying {
		f.fail("%s at %s: %+v, connected %v", s.caller.Key, c.member.Self(), got, s.model.connected)
	}
	want := 0
	for _, e := range s.model.queue {
		if c.has(e.Seq) {
			want++
		}
	}
	// After a crash the cursor is unknown until the stream repeats.
	if got.Queued != want && !s.shaky {
		f.fail("%s at %s: %d queued, want %d", s.caller.Key, c.member.Self(), got.Queued, want)
	}
}

// token ends a token. The client returns with another.
func (f *cluster) token(s *modelSubscriber) {
	f.close(s)
	f.ended.Store(s.caller.Key, true)
	s.caller.Key += "'"
}

// finish lets every replica receive everything and takes the rest.
func (f *cluster) finish() {
	for _, c := range f.replicas {
		c.arrive(len(f.trace.all))
	}
	for _, s := range f.subs {
		f.look(s, f.any())
		f.open(s, f.any(), "", false)
		for more := true; more; {
			more = f.take(s) > 0
		}
		f.close(s)
	}
	for _, owner := range []principal.Owner{"owner-0", "owner-1"} {
		f.drain(f.any(), owner)
	}
}
