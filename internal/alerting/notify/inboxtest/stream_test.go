package inboxtest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
)

func woken(stream notify.Stream) bool {
	select {
	case <-stream.Ready():
		return true
	default:
		return false
	}
}

func TestStream_DeliversMatchingEntries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stream := s.open(caller("k"), "")
	s.fire("BTCUSDT")
	s.wants(stream)
	s.subscribe(caller("k"), "BTCUSDT", "kraken:ETHUSD")
	s.fire("binance:BTCUSDT", "kraken:BTCUSDT", "kraken:ETHUSD", "coinbase:ETHUSD", "AAPL")
	s.wants(stream, 2, 3, 4)
	s.subscribe(caller("k"))
	s.fire("AAPL")
	s.wants(stream, 7)
	if err := s.Subscribe(t.Context(), caller("k"), notify.Filter{Types: []string{"price_below"}}); err != nil {
		t.Fatal(err)
	}
	s.Append([]notify.Entry{s.next("AAPL", "price_above"), s.next("AAPL", "price_below")})
	s.wants(stream, 9)
}

func TestStream_WakesForMatchingEntriesOnly(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stream := s.open(caller("k"), "")
	if !woken(stream) || woken(stream) {
		t.Fatal("a new stream must be woken once")
	}
	s.fire("AAPL")
	if woken(stream) {
		t.Fatal("woken without a subscription")
	}
	s.subscribe(caller("k"), "AAPL")
	if !woken(stream) {
		t.Fatal("a subscription must wake its stream")
	}
	s.fire("MSFT")
	if woken(stream) {
		t.Fatal("woken for an entry that does not match")
	}
	s.fire("AAPL", "AAPL", "MSFT", "AAPL")
	if !woken(stream) || woken(stream) {
		t.Fatal("a burst must wake it once")
	}
	s.wants(stream, 3, 4, 6)
}

func TestStream_RepeatsUnwrittenEntries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"))
	s.fire("AAPL", "AAPL", "AAPL")
	first := s.open(caller("k"), "")
	if got := ids(t, first.Take(nil)); len(got) != 3 {
		t.Fatalf("took %v", got)
	}
	first.Close() // the write failed
	second := s.open(caller("k"), "")
	s.wants(second, 1, 2, 3)
	second.Close()
	s.wants(s.open(caller("k"), ""))
}

func TestStream_SecondTakesOver(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"))
	first := s.open(caller("k"), "")
	s.fire("AAPL")
	first.Take(nil)
	second := s.open(caller("k"), "")
	s.wants(first)
	s.fire("AAPL")
	s.wants(second, 1, 2)
	first.Close()
	s.fire("AAPL")
	s.wants(second, 3)
	if got, _ := s.Subscription(t.Context(), caller("k")); !got.Connected {
		t.Fatal("the end of the first stream ended the second")
	}
}

func TestStream_ResumesAfterTheLastEventID(t *testing.T) {
	t.Parallel()
	for last, want := range map[string][]uint64{
		"":                     {5, 6},
		"4":                    {5, 6},
		"5":                    {6}, // the file was behind the client
		"2":                    {3, 4, 5, 6},
		"6":                    nil,
		"7":                    {5, 6}, // another owner's
		"999":                  {5, 6},
		"0":                    {5, 6},
		"garbage":              {5, 6},
		"-1":                   {5, 6},
		"18446744073709551616": {5, 6},
	} {
		t.Run("id "+last, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.subscribe(caller("k"), "AAPL")
			s.fire("AAPL", "AAPL")
			stream := s.open(caller("k"), "")
			s.wants(stream, 1, 2)
			s.subscribe(caller("k"), "MSFT") // earlier entries may be requested again
			s.fire("MSFT", "MSFT")
			s.wants(stream, 3, 4)
			stream.Close()
			s.fire("MSFT", "MSFT")
			other := s.next("MSFT", "price_above")
			other.Owner = "other"
			s.Append([]notify.Entry{other})
			s.wants(s.open(caller("k"), last), want...)
		})
	}
}

func TestStream_OfflineQueueHoldsTheNewestThousandForAnHour(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"))
	s.Append(s.entries(1500))
	if got, _ := s.Subscription(t.Context(), caller("k")); got.Queued != 1000 {
		t.Fatalf("%d queued, want 1000", got.Queued)
	}
	stream := s.open(caller("k"), "")
	if got := takeAll(t, stream); len(got) != 1000 || got[0] != 501 || got[999] != 1500 || !slices.IsSorted(got) {
		t.Fatalf("%d delivered, from %d to %d", len(got), got[0], got[len(got)-1])
	}
	stream.Close()
	s.Append(s.entries(1))
	s.now = s.now.Add(30 * time.Minute)
	s.Append(s.entries(1))
	s.now = s.now.Add(30 * time.Minute)
	s.wants(s.open(caller("k"), ""), 1502)
}

// An entry that matches a narrow filter is not evicted by ten thousand others within the hour.
func TestStream_NarrowFilterKeepsAnHour(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"), "MSFT")
	s.fire("MSFT")
	s.Append(s.entries(30_000))
	s.wants(s.open(caller("k"), ""), 1)
	s.now = s.now.Add(time.Hour)
	s.Append(s.entries(1))
	if _, got := s.poll("k"); len(got) != 10_000 {
		t.Fatalf("%d expired entries are kept", len(got))
	}
}

func TestRestore_RewindsCursorsAheadOfTheStore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"), "AAPL")
	all := s.entries(20)
	s.Append(all)
	s.wants(s.open(caller("k"), ""), seqs(1, 20)...)
	s.subscribe(caller("k"), "AAPL", "MSFT")
	b, _ := s.poll("k")
	b.Settle(true)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	s.reopen()
	s.Restore(10, all[:10]) // an earlier backup of the store
	stream := s.open(caller("k"), "")
	s.wants(stream)
	s.seq = 10
	s.fire("AAPL", "MSFT")
	s.wants(stream, 11, 12)
	if _, got := s.poll("k"); !slices.Equal(got, []uint64{11, 12}) {
		t.Fatalf("polled %v", got)
	}
}

// Sequence numbers continue where the store ended, even if it holds no entry.
func TestRestore_KnowsTheLastSeqOfAnEmptyStore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("k"))
	s.fire("AAPL")
	s.wants(s.open(caller("k"), ""), 1)
	s.reopen()
	s.Restore(1, nil)
	s.fire("AAPL")
	s.wants(s.open(caller("k"), ""), 2)
	if _, got := s.poll("k"); !slices.Equal(got, []uint64{2}) {
		t.Fatalf("polled %v", got)
	}
}

func seqs(from, to uint64) []uint64 {
	var all []uint64
	for ; from <= to; from++ {
		all = append(all, from)
	}
	return all
}

func TestAppend_IgnoresKnownAndLogsLateEntries(t *testing.T) {
	t.Parallel()
	out := &logged{}
	log, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.NewTextHandler(out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	log.Append([]notify.Entry{entry(1, "AAPL", "k", at), entry(3, "AAPL", "k", at)})
	log.Append([]notify.Entry{entry(3, "AAPL", "k", at), entry(4, "AAPL", "k", at)})
	if out.String() != "" {
		t.Fatalf("logged %s", out)
	}
	log.Append([]notify.Entry{entry(2, "AAPL", "k", at)})
	if b, _ := log.Poll(t.Context(), caller("k"), 0, notify.Bound{}); len(b.Entries) != 3 || out.String() == "" {
		t.Fatalf("%d entries, logged %q", len(b.Entries), out)
	}
}

// TestLog_UnderLoad runs everything concurrently, mainly for the race detector, and demands that
// every stream got all entries, in order, once for each time it resumed.
func TestLog_UnderLoad(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	log, err := local.Open(local.Config{Path: s.path, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const clients, total = 40, 900                               // below the queue limit, so that nothing is evicted
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute) // it takes one second
	defer stop()
	var others, listeners sync.WaitGroup
	others.Go(func() {
		if err := log.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			_, _ = log.Subscription(ctx, caller("key-3"))
			_, _ = log.Poll(ctx, caller("key-4"), time.Millisecond, notify.Bound{})
		}
	})
	got := make([][]uint64, clients)
	for i := range clients {
		c := caller("key-" + strconv.Itoa(i))
		if err := log.Subscribe(ctx, c, notify.Filter{}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		listeners.Go(func() { got[i] = listen(ctx, t, log, c, rng, total) })
	}
	for seq := range uint64(total) {
		log.Append([]notify.Entry{entry(seq+1, "AAPL", "price_above", time.Now())})
	}
	listeners.Wait()
	stop()
	others.Wait()
	for i, have := range got {
		if !slices.Equal(have, seqs(1, total)) {
			t.Errorf("client %d got %d of %d", i, len(have), total)
		}
	}
}

// listen is a client that sometimes loses its connection before a write, and resumes with its last
// event ID or with none.
func listen(ctx context.Context, t *testing.T, log *local.Inbox, c principal.Caller, rng *rand.Rand, last uint64) []uint64 {
	t.Helper()
	var got []uint64
	for ctx.Err() == nil {
		id := ""
		if len(got) > 0 && rng.IntN(2) == 0 {
			id = strconv.FormatUint(got[len(got)-1], 10)
		}
		stream, err := log.Open(ctx, c, id)
		if err != nil {
			t.Error(err)
			return got
		}
		got = hear(ctx, t, stream, rng, last, got)
		stream.Close()
		if len(got) > 0 && got[len(got)-1] == last {
			return got
		}
	}
	return got
}

func hear(ctx context.Context, t *testing.T, stream notify.Stream, rng *rand.Rand, last uint64, got []uint64) []uint64 {
	t.Helper()
	for {
		select {
		case <-ctx.Done():
			return got
		case <-stream.Ready():
		}
		for {
			events := stream.Take(nil)
			if len(events) == 0 {
				break
			}
			if rng.IntN(50) == 0 {
				return got
			}
			got = append(got, ids(t, events)...)
		}
		if len(got) > 0 && got[len(got)-1] == last {
			return got
		}
	}
}
