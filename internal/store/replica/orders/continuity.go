package orders

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/store/replica/conn"
)

// checkContinues refuses the stream of orders unless it goes on where the one was that was known
// before this became the writer, and has all that was ever written to it. Otherwise
// orders were taken away, and with them perhaps that trading is halted.
func (o *Store) checkContinues(ctx context.Context, known conn.OrderPosition) error {
	id := o.stream.CachedInfo().Config.Metadata[conn.StreamIDKey]
	if known.Stream != "" && (known.Stream != id || o.fencingToken <= known.Last) {
		return ordersLost()
	}
	if known.Mark > 0 {
		switch name, err := o.changeIDAt(ctx, known.Mark); {
		case err != nil && !errors.Is(err, errForged):
			return conn.Unavailable("look for the last order that is known", err)
		case name != known.Name:
			return ordersLost()
		}
	}
	if err := o.checkComplete(ctx); err != nil {
		return err
	}
	o.History.Learn(conn.OrderPosition{Stream: id, Last: o.fencingToken})
	return nil
}

// checkComplete refuses a stream of which a message is missing, or that could lose one: nothing
// is ever removed from it by us.
func (o *Store) checkComplete(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := o.RetryRead(ctx, func(ctx context.Context) (err error) {
		if info, err = o.stream.Info(ctx); err == nil && info.State.LastSeq < o.fencingToken {
			err = conn.ErrConflict // who answered lags behind
		}
		return err
	})
	if err != nil {
		return conn.Unavailable("look at the stream of orders", err)
	}
	if s := info.State; s.FirstSeq != 1 || s.Msgs != s.LastSeq {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost", Field: "stream", Value: o.name,
			Message: "orders are missing from the stream " + o.name + " at the NATS servers: nothing is traded. Stop all replicas, compare the account " +
				"at the venue, and put the stream back from a backup of the servers, or remove it to begin without orders",
		}
	}
	if !keepsAll(info.Config, o.wantConfig) {
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
	return c.Metadata[conn.StreamIDKey] != "" && unlimited && kept && alone && slices.Equal(slices.Sorted(slices.Values(c.Subjects)), slices.Sorted(slices.Values(asked.Subjects)))
}

func ordersLost() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "orders_lost",
		Message: "the NATS servers have lost orders that replicas knew, or somebody has put an older state back: nothing is traded. " +
			"Compare the account at the venue, stop all replicas, wait half a minute after the last one has stopped, and start them again",
	}
}
