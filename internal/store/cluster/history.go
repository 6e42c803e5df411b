package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
)

// history is the stream of orders as a replica has known it, by its own writes or by
// the heartbeats of others. It is safe for concurrent use.
type history struct {
	mu    sync.Mutex
	known historyForm
}

// historyForm is what members tell each other of it.
type historyForm struct {
	Stream string `json:"stream,omitempty"` // the id of the stream, "" for not known
	Last   uint64 `json:"last,omitempty"`   // the highest number that is known
	// Mark is the number of the last change that was sealed for its number, 0 for none,
	// and Name the name of that change. Only the message itself opens there.
	Mark uint64 `json:"mark,omitempty"`
	Name string `json:"name,omitempty"`
}

// now returns what is known.
func (h *history) now() historyForm {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// learn notes what another member knows. The first stream that is known stays the one.
func (h *history) learn(other historyForm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known.Stream == "" {
		h.known = other
	}
	if h.known.Stream == other.Stream {
		h.add(other)
	}
}

// wrote notes a change of the stream that is known: its name and its last number.
func (h *history) wrote(name string, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(historyForm{Last: last, Mark: last, Name: name})
}

// add notes what is known of the same stream. The caller has locked.
func (h *history) add(other historyForm) {
	h.known.Last = max(h.known.Last, other.Last)
	if other.Mark > h.known.Mark {
		h.known.Mark, h.known.Name = other.Mark, other.Name
	}
}

// goesOn refuses the stream of orders unless it goes on where the one was that was known
// before this became the writer, and has all that was ever written to it. Otherwise
// orders were taken away, and with them perhaps that trading is halted.
func (o *Orders) goesOn(ctx context.Context, known historyForm) error {
	id := o.stream.CachedInfo().Config.Metadata[idKey]
	if known.Stream != "" && (known.Stream != id || o.fence <= known.Last) {
		return lostOrders()
	}
	if known.Mark > 0 {
		switch name, err := o.nameOf(ctx, known.Mark); {
		case err != nil && !errors.Is(err, errForged):
			return failure("look for the last order that is known", err)
		case name != known.Name:
			return lostOrders()
		}
	}
	if err := o.whole(ctx); err != nil {
		return err
	}
	o.history.learn(historyForm{Stream: id, Last: o.fence})
	return nil
}

// whole refuses a stream of which a message is missing, or that could lose one: nothing
// is ever removed from it by us.
func (o *Orders) whole(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := o.reread(ctx, func(ctx context.Context) (err error) {
		if info, err = o.stream.Info(ctx); err == nil && info.State.LastSeq < o.fence {
			err = errMoved // who answered lags behind
		}
		return err
	})
	if err != nil {
		return failure("look at the stream of orders", err)
	}
	if s := info.State; s.FirstSeq != 1 || s.Msgs != s.LastSeq {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost", Field: "stream", Value: o.name,
			Message: "orders are missing from the stream " + o.name + " at the NATS servers: nothing is traded. Stop all replicas, compare the account " +
				"at the venue, and put the stream back from a backup of the servers, or remove it to begin without orders",
		}
	}
	if !keepsAll(info.Config, o.asked) {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost", Field: "stream", Value: o.name,
			Message: "somebody has changed the stream " + o.name + " at the NATS servers so that it can lose orders, or does not take them: nothing is traded. " +
				"Find out who, and give it the subjects and limits of a stream that candela makes",
		}
	}
	return nil
}

// keepsAll reports whether a stream has an id and the subjects that were asked for, and nothing in
// its configuration removes a message, changes one or takes one from elsewhere.
func keepsAll(c, asked jetstream.StreamConfig) bool {
	unlimited := c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxAge == 0 && c.MaxMsgsPerSubject <= 0 && c.Retention == jetstream.LimitsPolicy
	kept := c.Storage == asked.Storage && c.DenyDelete && c.DenyPurge && !c.AllowRollup && !c.AllowMsgTTL && !c.Sealed && !c.NoAck
	alone := c.Mirror == nil && len(c.Sources) == 0 && c.SubjectTransform == nil && c.RePublish == nil
	return c.Metadata[idKey] != "" && unlimited && kept && alone && slices.Equal(slices.Sorted(slices.Values(c.Subjects)), slices.Sorted(slices.Values(asked.Subjects)))
}

func lostOrders() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "orders_lost",
		Message: "the NATS servers have lost orders that replicas knew, or somebody has put an older state back: nothing is traded. " +
			"Compare the account at the venue, stop all replicas, wait half a minute after the last one has stopped, and start them anew",
	}
}
