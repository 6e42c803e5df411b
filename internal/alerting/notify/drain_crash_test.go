package notify_test

import (
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"candela/internal/alerting/notify"
)

// pollTrace is a random history of a polling queue: what the store has, what the file
// has, and what clients got.
type pollTrace struct {
	scene
	rng    *rand.Rand
	stored []notify.Entry
	file   []byte
	out    []*notify.Batch // answers on their way
	stream notify.Stream   // of a client that is pushed the same entries; nil while away
	last   string          // the id of what it got last

	got     map[uint64]int  // by clients, with answers to polls
	settled map[uint64]bool // of those, what the log was told to have arrived
	saved   map[uint64]bool // of those, what the file knows
	crashes int
	repeats int
}

// TestDrain_LosesNothingWhereverItCrashes lets entries come, polls take them, answers
// arrive or not and be settled in any order, the file be written, a stream read along,
// and the process end at any moment. What was committed arrives in some answer; and
// what the file knows to have arrived arrives in no second one.
func TestDrain_LosesNothingWhereverItCrashes(t *testing.T) {
	t.Parallel()
	crashes, repeats, entries := 0, 0, 0
	runUntil(traces(), func(seed uint64) (enough bool) {
		p := runPollTrace(t, seed)
		crashes, repeats, entries = crashes+p.crashes, repeats+p.repeats, entries+len(p.stored)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		return crashes > 0 && repeats > 0
	})
	t.Logf("%d entries, %d crashes, %d repeated", entries, crashes, repeats)
	if crashes == 0 || repeats == 0 {
		t.Error("nothing was put to the test")
	}
}

func runPollTrace(t *testing.T, seed uint64) *pollTrace {
	t.Helper()
	p := &pollTrace{
		scene: scene{t: t, now: time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)}, rng: rand.New(rand.NewPCG(seed, 3)),
		got: map[uint64]int{}, settled: map[uint64]bool{}, saved: map[uint64]bool{},
	}
	p.begin()
	p.subscribe(caller("listener"))
	p.save()
	for range 60 {
		p.step()
	}
	p.end(true)
	for {
		b, seqs := p.poll("last")
		if len(seqs) == 0 {
			break
		}
		p.arrive(b)
	}
	for _, e := range p.stored {
		if p.got[e.Seq] == 0 {
			t.Errorf("entry %d is in the store and no answer brought it", e.Seq)
		}
	}
	return p
}

// begin starts a process from the file and the store.
func (p *pollTrace) begin() {
	p.t.Helper()
	cfg := notify.Config{Now: func() time.Time { return p.now }, Log: slog.New(slog.DiscardHandler)}
	log, err := notify.Open(cfg)
	if len(p.file) > 0 {
		log, err = notify.ReadFile(cfg, p.file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.Log = log
	p.Restore(p.seq, p.stored)
}

// save writes the file.
func (p *pollTrace) save() {
	p.t.Helper()
	var err error
	if p.file, err = notify.WriteFile(p.Log); err != nil {
		p.t.Fatal(err)
	}
	p.saved = map[uint64]bool{}
	for seq := range p.settled {
		p.saved[seq] = true
	}
}

// end ends the process and begins the next: in order, or at this very moment, with
// answers that have arrived and answers that have not.
func (p *pollTrace) end(inOrder bool) {
	p.t.Helper()
	for _, b := range p.out {
		switch arrived := p.rng.IntN(2) == 0; {
		case inOrder && arrived:
			p.arrive(b)
		case inOrder:
			b.Settle(false)
		case arrived:
			p.receive(b) // and nobody could say so any more
		}
	}
	if inOrder {
		p.save()
	} else {
		p.crashes++
	}
	p.out, p.stream = nil, nil
	p.settled = map[uint64]bool{}
	for seq := range p.saved {
		p.settled[seq] = true
	}
	p.begin()
}

// receive is an answer that reaches its client.
func (p *pollTrace) receive(b *notify.Batch) {
	p.t.Helper()
	for _, seq := range seqsOf(p.t, b) {
		p.got[seq]++
		if p.got[seq] > 1 {
			p.repeats++
		}
		if p.saved[seq] {
			p.t.Errorf("entry %d arrived, the file knew it, and it came again", seq)
		}
	}
}

// arrive is an answer that reaches its client, as the log is told.
func (p *pollTrace) arrive(b *notify.Batch) {
	p.t.Helper()
	p.receive(b)
	b.Settle(true)
	for _, e := range b.Entries {
		p.settled[e.Seq] = true
	}
}

func (p *pollTrace) step() {
	p.t.Helper()
	switch n := p.rng.IntN(20); {
	case n < 5: // committed, and told or not before the process ends
		fresh := p.entries(1 + p.rng.IntN(3))
		p.stored = append(p.stored, fresh...)
		if p.rng.IntN(10) == 0 {
			p.end(false)
			return
		}
		p.Append(fresh)
	case n < 9:
		if b, seqs := p.poll(strconv.Itoa(p.rng.IntN(3))); len(seqs) > 0 {
			p.out = append(p.out, b)
		}
	case n < 14 && len(p.out) > 0:
		i := p.rng.IntN(len(p.out))
		b := p.out[i]
		p.out = append(p.out[:i:i], p.out[i+1:]...)
		if p.rng.IntN(4) > 0 {
			p.arrive(b)
		} else {
			b.Settle(false)
		}
	case n < 16:
		p.save()
	case n < 18:
		p.listen()
	case n == 18:
		p.end(false)
	case n == 19 && p.rng.IntN(3) == 0:
		p.end(true)
	}
}

// listen moves the cursor of a stream of the same owner, which is not the queue's.
func (p *pollTrace) listen() {
	p.t.Helper()
	if p.stream == nil {
		p.stream = p.open(caller("listener"), p.last)
	}
	for _, seq := range takeAll(p.t, p.stream) {
		p.last = strconv.FormatUint(seq, 10)
	}
	if p.rng.IntN(3) == 0 {
		p.stream.Close()
		p.stream = nil
	}
}
