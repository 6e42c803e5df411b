package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/seal"
)

// observer follows the stream of alerts from its beginning with a consumer of its
// own. It knows the form of what is written there and shares no code with who wrote
// it but the seal.
type observer struct {
	mu     sync.Mutex
	seen   map[uint64]bool // numbers of messages, some of which come again
	alerts map[string]*streamedAlert
	last   uint64 // the highest number
}

// streamedAlert is one alert as the stream shows it.
type streamedAlert struct {
	Subject string
	State   string
	Note    string
	Symbol  string
	Type    string
	Price   json.Number
	Made    time.Time
	stored  time.Time   // its first message, by the clock of the servers
	fired   []time.Time // when a message that says so was seen
	number  []uint64    // and its number
	// The fields below are those of the first.
	value     float64
	triggered time.Time
}

// watch begins to follow. A consumer may go with its server, and who reads from it is
// not always reported: one that brings nothing while there is more takes another's place.
func (s *servers) watch(tb testing.TB, stream string) *observer {
	tb.Helper()
	o := &observer{seen: map[uint64]bool{}, alerts: map[string]*streamedAlert{}}
	var follow jetstream.ConsumeContext
	until(tb, 2*time.Minute, "the judge reads "+stream, func() (ok bool) {
		var err error
		follow, err = s.follow(tb.Context(), tb, stream, o)
		return err == nil
	})
	ctx, stop := context.WithCancel(tb.Context())
	var group sync.WaitGroup
	tb.Cleanup(func() {
		stop()
		group.Wait()
		follow.Stop()
	})
	group.Go(func() {
		for behind, at := 0, uint64(0); ctx.Err() == nil; {
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
			last, err := s.last(ctx, stream)
			if now := o.reached(); err != nil || now >= last || now > at {
				behind, at = 0, now
				continue
			}
			if behind++; behind < 4 {
				continue
			}
			if next, err := s.follow(ctx, tb, stream, o); err == nil {
				follow.Stop()
				follow, behind = next, 0
			}
		}
	})
	return o
}

// follow reads a stream from where the observer is.
func (s *servers) follow(ctx context.Context, tb testing.TB, stream string, o *observer) (jetstream.ConsumeContext, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	consumer, err := s.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: o.reached() + 1,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Consume(func(m jetstream.Msg) { o.take(tb, m) }, jetstream.PullExpiry(time.Second))
}

// last returns the number of a stream's last message.
func (s *servers) last(ctx context.Context, stream string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	one, err := s.js.Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	return one.CachedInfo().State.LastSeq, nil
}

// reached returns the highest number of a message that came.
func (o *observer) reached() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// unseal opens a message of a stream.
func unseal(subject string, number uint64, data []byte) ([]byte, error) {
	secret, err := seal.ParseSecret(clusterSecret)
	if err != nil {
		return nil, err
	}
	box, err := seal.NewBox(secret, "rows")
	if err != nil {
		return nil, err
	}
	body, _, err := box.Open(seal.Place{Name: subject, Number: number}, data)
	return body, err
}

// take notes a message.
func (o *observer) take(tb testing.TB, m jetstream.Msg) {
	tb.Helper()
	meta, err := m.Metadata()
	if err != nil {
		tb.Error(err)
		return
	}
	o.mu.Lock()
	o.last = max(o.last, meta.Sequence.Stream)
	o.mu.Unlock()
	data, err := unseal(m.Subject(), meta.Sequence.Stream, m.Data())
	if err != nil {
		tb.Errorf("%s: %v", m.Subject(), err)
		return
	}
	var body struct {
		State string `json:"state"`
		Alert struct {
			ID        string          `json:"id"`
			Symbol    json.RawMessage `json:"symbol"`
			Type      string          `json:"type"`
			Threshold json.Number     `json:"threshold"`
			Created   time.Time       `json:"created"`
			Note      string          `json:"note"`
			Kind      string          `json:"kind"`
		} `json:"alert"`
		Notes json.RawMessage `json:"notes"`
		Data  struct {
			Value     float64   `json:"value"`
			Triggered time.Time `json:"triggered_at"`
		} `json:"data"`
	}
	if len(data) == 0 || json.Unmarshal(data, &body) != nil || body.Alert.ID == "" || body.Notes != nil || strings.HasPrefix(body.Alert.Kind, "orders/") {
		return // a mark, a subject that was cleared, notes for the audit log, or an event of an order
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[meta.Sequence.Stream] {
		return
	}
	o.seen[meta.Sequence.Stream] = true
	a := o.alerts[body.Alert.ID]
	if a == nil {
		a = &streamedAlert{stored: meta.Timestamp}
		o.alerts[body.Alert.ID] = a
	}
	a.Subject, a.State, a.Note, a.Type = m.Subject(), body.State, body.Alert.Note, body.Alert.Type
	a.Price, a.Made = body.Alert.Threshold, body.Alert.Created
	if body.State == "fired" {
		if len(a.fired) == 0 {
			a.value, a.triggered = body.Data.Value, body.Data.Triggered
		}
		a.fired = append(a.fired, time.Now())
		a.number = append(a.number, meta.Sequence.Stream)
	}
}

// copy returns a copy of what the stream has shown so far, or nil.
func (t *streamedAlert) copy() *streamedAlert {
	if t == nil {
		return nil
	}
	now := *t
	now.fired, now.number = slices.Clone(t.fired), slices.Clone(t.number)
	return &now
}

// fired returns how many alerts have fired, and how many more than once.
func (o *observer) fired() (once, more int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.alerts {
		if len(a.fired) > 0 {
			once++
		}
		if len(a.fired) > 1 {
			more++
		}
	}
	return once, more
}

// storedMsg is a message of the alert stream.
type storedMsg struct {
	jetstream.Msg

	data []byte
	seq  uint64
}

func (m storedMsg) Subject() string { return "p.alert.x.a1" }
func (m storedMsg) Data() []byte    { return m.data }
func (m storedMsg) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: m.seq}}, nil
}

// TestObserver_CountsASecondFiring shows that the run above fails if an alert fires twice.
// A message that is delivered again counts once.
func TestObserver_CountsASecondFiring(t *testing.T) {
	t.Parallel()
	secret, err := seal.ParseSecret(clusterSecret)
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.NewBox(secret, "rows")
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{seen: map[uint64]bool{}, alerts: map[string]*streamedAlert{}}
	for _, m := range []struct {
		seq   uint64
		state string
		more  int
	}{{1, "active", 0}, {2, "fired", 0}, {2, "fired", 0}, {3, "fired", 1}} {
		data := box.Seal(seal.Place{Name: storedMsg{}.Subject()}, time.Now(), []byte(`{"state":"`+m.state+`","alert":{"id":"a1"}}`))
		o.take(t, storedMsg{data: data, seq: m.seq})
		if _, more := o.fired(); more != m.more {
			t.Errorf("after message %d %d alerts count as fired twice, want %d", m.seq, more, m.more)
		}
	}
}
