package local

import (
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

// pollTrace is a random history of a polling queue: the stored entries, the content of the
// file, and what clients received.
type pollTrace struct {
	*Inbox
	t      *testing.T
	rng    *rand.Rand
	stored []notify.Entry
	data   []byte          // of the file
	out    []*notify.Batch // replies in flight
	stream notify.Stream   // of a client that receives the same entries; nil while closed
	last   string          // the ID of its last event

	got     map[uint64]int  // entries that clients received in replies
	settled map[uint64]bool // of those, settled as delivered
	saved   map[uint64]bool // of those, saved in the file
	crashes int
	repeats int
}

// TestPoll_LosesNothingAtACrash appends entries, polls them, delivers
// replies or not, settles them in any order, writes the file, reads a stream, and ends the
// process at any moment. Every committed entry arrives in a reply, and an entry that the
// file knows as delivered arrives in no other.
func TestPoll_LosesNothingAtACrash(t *testing.T) {
	t.Parallel()
	crashes, repeats, entries := 0, 0, 0
	for i := range uint64(longtest.Pick(1000, 3000)) {
		p := runPollTrace(t, longtest.Seed()+i)
		crashes, repeats, entries = crashes+p.crashes, repeats+p.repeats, entries+len(p.stored)
		if t.Failed() {
			t.Fatalf("seed %d", longtest.Seed()+i)
		}
	}
	t.Logf("%d entries, %d crashes, %d repeated", entries, crashes, repeats)
	if crashes == 0 || repeats == 0 {
		t.Error("no crash repeated an entry")
	}
}

var start = time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)

func caller(key string) principal.Caller { return principal.Caller{Subject: "owner", Key: key} }

func (p *pollTrace) poll(key string) *notify.Batch {
	p.t.Helper()
	b, err := p.Poll(p.t.Context(), caller(key), 0, notify.Bound{})
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func runPollTrace(t *testing.T, seed uint64) *pollTrace {
	t.Helper()
	p := &pollTrace{
		t: t, rng: rand.New(rand.NewPCG(seed, 3)),
		got: map[uint64]int{}, settled: map[uint64]bool{}, saved: map[uint64]bool{},
	}
	p.begin()
	if err := p.Subscribe(t.Context(), caller("listener"), notify.Filter{}); err != nil {
		t.Fatal(err)
	}
	p.save()
	for range 60 {
		p.step()
	}
	p.end(true)
	for {
		b := p.poll("last")
		if len(b.Entries) == 0 {
			break
		}
		p.arrive(b)
	}
	for _, e := range p.stored {
		if p.got[e.Seq] == 0 {
			t.Errorf("stored entry %d arrived in no reply", e.Seq)
		}
	}
	return p
}

// begin starts a process from the file and the store.
func (p *pollTrace) begin() {
	p.t.Helper()
	p.Inbox = New(Config{Now: func() time.Time { return start }, Log: slog.New(slog.DiscardHandler)})
	if len(p.data) > 0 {
		f, err := Parse(p.data)
		if err != nil {
			p.t.Fatal(err)
		}
		p.load(f)
	}
	p.Restore(uint64(len(p.stored)), p.stored)
}

// save writes the file.
func (p *pollTrace) save() {
	p.t.Helper()
	var err error
	if p.data, err = p.encode(); err != nil {
		p.t.Fatal(err)
	}
	p.saved = map[uint64]bool{}
	for seq := range p.settled {
		p.saved[seq] = true
	}
}

// end ends the process, gracefully or by a crash with replies in flight, and begins the next.
func (p *pollTrace) end(graceful bool) {
	p.t.Helper()
	for _, b := range p.out {
		switch delivered := p.rng.IntN(2) == 0; {
		case graceful && delivered:
			p.arrive(b)
		case graceful:
			b.Settle(false)
		case delivered:
			p.receive(b) // not settled
		}
	}
	if graceful {
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

// receive records a reply that reaches its client.
func (p *pollTrace) receive(b *notify.Batch) {
	p.t.Helper()
	for _, e := range b.Entries {
		seq := e.Seq
		p.got[seq]++
		if p.got[seq] > 1 {
			p.repeats++
		}
		if p.saved[seq] {
			p.t.Errorf("entry %d arrived again although the file knew it as delivered", seq)
		}
	}
}

// arrive records and settles a reply that reaches its client.
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
	case n < 5: // committed, and appended unless the process ends first
		n := len(p.stored)
		for range 1 + p.rng.IntN(3) {
			p.stored = append(p.stored, notify.Entry{
				Seq: uint64(len(p.stored) + 1), Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Type: "price_above", At: start, Data: []byte("{}"),
			})
		}
		if p.rng.IntN(10) == 0 {
			p.end(false)
			return
		}
		p.Append(p.stored[n:])
	case n < 9:
		if b := p.poll(strconv.Itoa(p.rng.IntN(3))); len(b.Entries) > 0 {
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

// listen moves the cursor of a stream of the same owner.
func (p *pollTrace) listen() {
	p.t.Helper()
	if p.stream == nil {
		var err error
		if p.stream, err = p.Open(p.t.Context(), caller("listener"), p.last); err != nil {
			p.t.Fatal(err)
		}
	}
	if n := takeAll(p.stream); n > 0 {
		p.last = strconv.Itoa(len(p.stored))
	}
	if p.rng.IntN(3) == 0 {
		p.stream.Close()
		p.stream = nil
	}
}
