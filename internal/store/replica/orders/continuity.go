package orders

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// checkContinues refuses the order stream unless it continues the one that was known before this
// writer started. Otherwise orders were lost, and with them perhaps a halt.
func (o *Store) checkContinues(ctx context.Context, known conn.OrderPosition) error {
	id := o.stream.CachedInfo().Config.Metadata[conn.StreamIDKey]
	if known.Stream != "" && (known.Stream != id || o.fencingToken <= known.Last) {
		return ordersLost()
	}
	if known.Mark > 0 {
		switch name, err := o.changeIDAt(ctx, known.Mark); {
		case err != nil && !errors.Is(err, errForged):
			return conn.Unavailable("read the last known order change", err)
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

// checkComplete refuses a stream that has lost a message or could lose one: candela never removes
// any.
func (o *Store) checkComplete(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := o.RetryRead(ctx, func(ctx context.Context) (err error) {
		if info, err = o.stream.Info(ctx); err == nil && info.State.LastSeq < o.fencingToken {
			err = conn.ErrConflict // the answering server lags behind
		}
		return err
	})
	if err != nil {
		return conn.Unavailable("inspect order stream", err)
	}
	if s := info.State; s.FirstSeq != 1 || s.Msgs != s.LastSeq {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost", Field: "stream", Value: o.name,
			Message: "Orders are missing from stream " + o.name + ", so trading is stopped. Stop all replicas, compare the account " +
				"at the venue, and restore the stream from a backup of the NATS servers, or remove it to start without orders.",
		}
	}
	if !keepsAll(info.Config, o.wantConfig) {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "orders_lost", Field: "stream", Value: o.name,
			Message: "The configuration of stream " + o.name + " was changed so that it can lose or refuse orders, so trading is stopped. " +
				"Find out who changed it, and restore the subjects and limits of a stream that candela creates.",
		}
	}
	return nil
}

// keepsAll reports whether a stream has an ID and the wanted subjects, and its configuration never
// removes, changes or copies messages.
func keepsAll(c, want jetstream.StreamConfig) bool {
	unlimited := c.MaxMsgs <= 0 && c.MaxBytes <= 0 && c.MaxAge == 0 && c.MaxMsgsPerSubject <= 0 && c.Retention == jetstream.LimitsPolicy
	kept := c.Storage == want.Storage && c.DenyDelete && c.DenyPurge && !c.AllowRollup && !c.AllowMsgTTL && !c.Sealed && !c.NoAck
	alone := c.Mirror == nil && len(c.Sources) == 0 && c.SubjectTransform == nil && c.RePublish == nil
	return c.Metadata[conn.StreamIDKey] != "" && unlimited && kept && alone && slices.Equal(slices.Sorted(slices.Values(c.Subjects)), slices.Sorted(slices.Values(want.Subjects)))
}

func ordersLost() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "orders_lost",
		Message: "The NATS servers have lost known orders or were restored to an older state, so trading is stopped. " +
			"Compare the account at the venue, stop all replicas, wait 30 s and start them again.",
	}
}
