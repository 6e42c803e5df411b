package recordtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/notify/records"
	"candela/lib/fault"
)

// Closer is a store that can be closed.
type Closer interface {
	records.Store
	Close()
}

// Run tests the contract of records.Store. open returns a store; stores with the same name
// share their records. maxOutage is how long a store may be unavailable.
func Run(t *testing.T, maxOutage time.Duration, open func(t *testing.T, place string) Closer) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func() store){
		"watches present and later records":  testFollow,
		"writes all or none":                 testAllOrNone,
		"names may have any characters":      testNames,
		"compare-and-set admits one of many": testReplace,
		"deletes":                            testDelete,
		"writes MaxRecords":                  testMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := t.Name()
			test(t, func() store {
				k := open(t, place)
				t.Cleanup(k.Close)
				return store{k, maxOutage}
			})
		})
	}
}

// store is a store that may be unavailable for a while.
type store struct {
	Closer
	maxOutage time.Duration
}

// follower holds the records that a store delivered.
type follower struct {
	mu   sync.Mutex
	rows map[name]records.Record
	bad  error
}

func follow(t *testing.T, k records.Store) *follower {
	t.Helper()
	f := &follower{rows: map[name]records.Record{}}
	if err := k.Watch(t.Context(), f.apply); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *follower) apply(r records.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := name{r.Kind, r.Name}
	if r.Rev <= f.rows[key].Rev {
		f.bad = fmt.Errorf("%v: revision %d after %d", key, r.Rev, f.rows[key].Rev)
	}
	f.rows[key] = r
}

func (f *follower) text(kind records.Kind, of string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.rows[name{kind, of}].Data)
}

// wants waits until a record has the given data.
func (f *follower) wants(t *testing.T, kind records.Kind, of, want string) {
	t.Helper()
	Eventually(t, func() error {
		if got := f.text(kind, of); got != want {
			return fmt.Errorf("%s %q is %.40q, want %.40q", kind, of, got, want)
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bad != nil {
		t.Fatal(f.bad)
	}
}

// waitLimit bounds waits for servers on a loaded machine.
const waitLimit = 2 * time.Minute

// Eventually calls ask until it returns no error, for up to two minutes.
func Eventually(t *testing.T, ask func() error) {
	t.Helper()
	within(t, waitLimit, ask)
}

// within calls ask until it returns no error, at least once.
func within(t *testing.T, limit time.Duration, ask func() error) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := ask()
		if err == nil {
			return
		}
		if time.Since(began) >= limit {
			t.Fatal(err)
		}
	}
}

// retryUnavailable retries do while the store is unavailable, as a client does.
func retryUnavailable[T any](t *testing.T, maxOutage time.Duration, do func() (T, error)) (value T) {
	t.Helper()
	within(t, maxOutage, func() (err error) {
		if value, err = do(); err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Fatal(err)
		}
		return err
	})
	return value
}

// put writes records that have no other writer. A write without an acknowledgement may have
// succeeded, so it is looked up before it is repeated.
func put(t *testing.T, k store, batch ...records.Record) uint64 {
	t.Helper()
	began := time.Now()
	for tries := 0; ; tries++ {
		if tries > 0 {
			if first := retryUnavailable(t, k.maxOutage, func() (uint64, error) { return written(t, k, batch) }); first > 0 {
				return first
			}
		}
		first, err := k.Write(t.Context(), batch)
		if err == nil {
			return first
		}
		again := fault.KindOf(err) == fault.Unavailable || errors.Is(err, records.ErrConflict) && tries > 0 // with the previous attempt
		if !again || time.Since(began) >= k.maxOutage {
			t.Fatal(err)
		}
	}
}

// written returns the first revision of records that are stored, 0 if they are not.
func written(t *testing.T, k store, batch []records.Record) (first uint64, err error) {
	t.Helper()
	for i, r := range batch {
		last, err := k.Latest(t.Context(), r.Kind, r.Name)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = last.Rev
		}
		if last.Rev != first+uint64(i) || last.Rev <= r.Rev || !bytes.Equal(last.Data, r.Data) {
			return 0, nil
		}
	}
	return first, nil
}

func testFollow(t *testing.T, open func() store) {
	t.Helper()
	a, b := open(), open()
	sub := func(data string) records.Record {
		return records.Record{Kind: records.SubscriptionKind, Name: "k", Data: []byte(data)}
	}
	put(t, a, sub("old"))
	put(t, a, sub("1"), records.Record{Kind: records.AttachmentKind, Name: "k", Data: []byte("attached")})
	f := follow(t, b)
	if f.text(records.SubscriptionKind, "k") != "1" || f.text(records.AttachmentKind, "k") != "attached" {
		t.Fatal("Watch returned before all acknowledged records")
	}
	for i := range 20 {
		put(t, a, sub(strconv.Itoa(i)))
	}
	put(t, b, records.Record{Kind: records.QueueKind, Name: "k", Data: []byte("own")})
	f.wants(t, records.SubscriptionKind, "k", "19")
	f.wants(t, records.QueueKind, "k", "own")
	b.Close()
	last, err := a.Latest(t.Context(), records.SubscriptionKind, "k")
	if err != nil || string(last.Data) != "19" || last.Name != "k" || last.Kind != records.SubscriptionKind {
		t.Fatalf("%+v, %v", last, err)
	}
}

func testAllOrNone(t *testing.T, open func() store) {
	t.Helper()
	a, b := open(), open()
	none, err := a.Latest(t.Context(), records.SubscriptionKind, "x")
	if err != nil || none.Rev != 0 || len(none.Data) > 0 {
		t.Fatalf("%+v, %v", none, err)
	}
	x := records.Record{Kind: records.SubscriptionKind, Name: "x", Data: []byte("x"), CompareAndSet: true}
	y := records.Record{Kind: records.SubscriptionKind, Name: "y", Data: []byte("y")}
	first := put(t, a, x, y)
	for i, of := range []string{"x", "y"} {
		if r, err := b.Latest(t.Context(), records.SubscriptionKind, of); err != nil || r.Rev != first+uint64(i) || string(r.Data) != of {
			t.Fatalf("%s: %+v, %v, want revision %d", of, r, err, first+uint64(i))
		}
	}
	y.Data = []byte("other")
	for _, batch := range [][]records.Record{{x, y}, {y, x}, {x}} {
		if _, err := b.Write(t.Context(), batch); !errors.Is(err, records.ErrConflict) {
			t.Fatalf("%v", err)
		}
	}
	if r, _ := a.Latest(t.Context(), records.SubscriptionKind, "y"); string(r.Data) != "y" {
		t.Fatal("refused batch partly written")
	}
	x.Rev, x.Data = first, []byte("next")
	if next := put(t, b, x); next <= first+1 {
		t.Fatalf("revision %d follows %d", next, first+1)
	}
}

func testNames(t *testing.T, open func() store) {
	t.Helper()
	a := open()
	f := follow(t, a)
	for _, of := range []string{"a.b", "*", ">", "with space", "ünï", "=", strings.Repeat("f", 64)} {
		put(t, a, records.Record{Kind: records.QueueKind, Name: of, Data: []byte(of)})
		f.wants(t, records.QueueKind, of, of)
	}
}

// testReplace lets several writers count in one record, each in a field of its own. A writer
// that overwrote another would make it count again, with more acknowledged writes than
// counts.
func testReplace(t *testing.T, open func() store) {
	t.Helper()
	const writers, each = 3, 15
	counts := func(r records.Record) (all [writers]int) {
		if len(r.Data) > 0 {
			if err := json.Unmarshal(r.Data, &all); err != nil {
				t.Error(err)
			}
		}
		return all
	}
	var wg sync.WaitGroup
	for i := range writers {
		k := open()
		wg.Go(func() {
			for acknowledged := 0; ; {
				last, err := k.Latest(t.Context(), records.QueueKind, "o")
				all := counts(last)
				if err != nil || all[i] >= each || acknowledged > each {
					if err != nil || acknowledged > each {
						t.Errorf("%d successful writes counted as %d, %v", acknowledged, all[i], err)
					}
					return
				}
				all[i]++
				data, _ := json.Marshal(all)
				_, err = k.Write(t.Context(), []records.Record{{Kind: records.QueueKind, Name: "o", Rev: last.Rev, CompareAndSet: true, Data: data}})
				if err == nil {
					acknowledged++
				} else if !errors.Is(err, records.ErrConflict) && fault.KindOf(err) != fault.Unavailable {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	r, err := open().Latest(t.Context(), records.QueueKind, "o")
	if got := counts(r); err != nil || got != [writers]int{each, each, each} {
		t.Fatalf("%v, %v", got, err)
	}
}

func testDelete(t *testing.T, open func() store) {
	t.Helper()
	a, b := open(), open()
	f := follow(t, b)
	first := put(t, a, records.Record{Kind: records.AttachmentKind, Name: "k", Data: []byte("here")})
	f.wants(t, records.AttachmentKind, "k", "here")
	put(t, a, records.Record{Kind: records.AttachmentKind, Name: "k", Rev: first, CompareAndSet: true})
	f.wants(t, records.AttachmentKind, "k", "")
	r, err := b.Latest(t.Context(), records.AttachmentKind, "k")
	if err != nil || len(r.Data) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	put(t, b, records.Record{Kind: records.AttachmentKind, Name: "k", Rev: r.Rev, CompareAndSet: true, Data: []byte("again")})
	f.wants(t, records.AttachmentKind, "k", "again")
}

func testMany(t *testing.T, open func() store) {
	t.Helper()
	a, b := open(), open()
	f := follow(t, b)
	batch := make([]records.Record, records.MaxRecords)
	for i := range batch {
		batch[i] = records.Record{Kind: records.AttachmentKind, Name: strconv.Itoa(i), Data: slices.Repeat([]byte{'x'}, 200)}
	}
	put(t, a, batch...) // a loaded machine may need longer than one attempt
	f.wants(t, records.AttachmentKind, strconv.Itoa(len(batch)-1), strings.Repeat("x", 200))
	late := follow(t, open())
	if late.text(records.AttachmentKind, "0") == "" || len(late.rows) != len(batch) {
		t.Fatalf("%d records", len(late.rows))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Write(ended, batch[:1]); err == nil {
		t.Fatal("write succeeded after its context ended")
	}
}
