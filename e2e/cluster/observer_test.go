package cluster

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// observer follows the stream of alerts from its beginning with a consumer of its
// own. It knows the form of what is written there and shares no code with who wrote
// it.
type observer struct {
	mu     sync.Mutex
	seen   map[uint64]bool // numbers of messages, some of which come again
	alerts map[string]*told
}

// told is what the stream says of one alert.
type told struct {
	Subject string
	State   string
	Note    string
	Symbol  string
	Type    string
	Price   json.Number
	Made    time.Time
	fired   []time.Time // when a message that says so was seen
	number  []uint64    // and its number
	// What the first of them says.
	value     float64
	triggered time.Time
}

// watch begins to follow.
func (s *servers) watch(tb testing.TB, stream string) *observer {
	tb.Helper()
	o := &observer{seen: map[uint64]bool{}, alerts: map[string]*told{}}
	var consumer jetstream.Consumer
	until(tb, 2*time.Minute, "the judge reads "+stream, func() (ok bool) {
		var err error
		consumer, err = s.js.OrderedConsumer(tb.Context(), stream, jetstream.OrderedConsumerConfig{})
		return err == nil
	})
	follow, err := consumer.Consume(func(m jetstream.Msg) { o.take(tb, m) })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(follow.Stop)
	return o
}

// take notes a message.
func (o *observer) take(tb testing.TB, m jetstream.Msg) {
	tb.Helper()
	meta, err := m.Metadata()
	if err != nil {
		tb.Error(err)
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
		} `json:"alert"`
		Data struct {
			Value     float64   `json:"value"`
			Triggered time.Time `json:"triggered_at"`
		} `json:"data"`
	}
	if len(m.Data()) == 0 || json.Unmarshal(m.Data(), &body) != nil || body.Alert.ID == "" {
		return // a mark, or a subject that was cleared
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[meta.Sequence.Stream] {
		return
	}
	o.seen[meta.Sequence.Stream] = true
	a := o.alerts[body.Alert.ID]
	if a == nil {
		a = &told{}
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
