package conn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/kit/seal"
	"candela/internal/kit/sendby"
)

const (
	// AttemptTimeout bounds the wait for one acknowledgement. A write that is acknowledged
	// later is found by its change ID.
	AttemptTimeout = 2 * time.Second

	// MaxBatch is how many messages a server commits together.
	MaxBatch = 1000

	maxParallel = 32 // requests of one call under way at a time
)

// The headers of an atomic batch.
const (
	batchID     = "Nats-Batch-Id"
	batchSeq    = "Nats-Batch-Sequence"
	batchCommit = "Nats-Batch-Commit"
)

// ErrConflict means the revision is not the latest. Another write may have been in progress and
// then failed, so read again before concluding anything.
var ErrConflict = errors.New("revision conflict")

// Change is one message to write.
type Change struct {
	Subject       string
	Data          []byte
	CompareAndSet bool          // refuse unless the subject's last message has sequence number Revision
	WholeStream   bool          // compare with the stream's last message instead; only for the first of a batch
	Revision      uint64        // 0 for a subject, or a stream, without messages
	TTL           time.Duration // 0 for no expiry
	By            time.Time     // it must leave before, zero for at any time
}

// message seals a change. seq is its sequence number in the stream, 0 if unknown.
func (c *Conn) message(stream string, ch Change, seq uint64) *nats.Msg {
	m := nats.NewMsg(ch.Subject)
	m.Data = c.Seals.rows.Seal(seal.Place{Name: ch.Subject, Number: seq}, c.Seals.Now(), ch.Data)
	m.Header.Set(jetstream.ExpectedStreamHeader, stream)
	if ch.CompareAndSet {
		header := jetstream.ExpectedLastSubjSeqHeader
		if ch.WholeStream {
			header = jetstream.ExpectedLastSeqHeader
		}
		m.Header.Set(header, strconv.FormatUint(ch.Revision, 10))
	}
	if ch.TTL > 0 {
		m.Header.Set(jetstream.MsgTTLHeader, ch.TTL.String())
	}
	return m
}

// Publish writes at most MaxBatch changes to one stream atomically and returns the sequence
// number of the first; the others follow it. After ErrConflict nothing was written; after any
// other error the outcome is unknown.
func (c *Conn) Publish(ctx context.Context, stream string, changes ...Change) (first uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	batch := ""
	if len(changes) > 1 {
		batch = rand.Text()
	}
	for i, ch := range changes {
		seq := uint64(0)
		if at := changes[0]; at.CompareAndSet && at.WholeStream {
			seq = at.Revision + 1 + uint64(i)
		}
		m := c.message(stream, ch, seq)
		if !ch.By.IsZero() && sendby.Until(ch.By) <= 0 {
			return 0, sendby.ErrLate
		}
		if batch != "" {
			m.Header.Set(batchID, batch)
			m.Header.Set(batchSeq, strconv.Itoa(i+1))
		}
		if i < len(changes)-1 {
			if err := c.nc.PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		if batch != "" {
			m.Header.Set(batchCommit, "1")
		}
		answer, err := c.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return 0, err
		}
		first, err := readAck(answer.Data, len(changes))
		if err == nil || errors.Is(err, ErrConflict) {
			c.silent.again()
		}
		if errors.Is(err, ErrConflict) {
			c.conflicts.Add(1)
		}
		return first, err
	}
	return 0, nil
}

type ack struct {
	Error *jetstream.APIError `json:"error"`
	Seq   uint64              `json:"seq"`
	Count int                 `json:"count"` // of a batch
}

func readAck(data []byte, changes int) (first uint64, err error) {
	var a ack
	if err := json.Unmarshal(data, &a); err != nil {
		return 0, fmt.Errorf("decode publish acknowledgement: %w", err)
	}
	switch {
	case a.Error != nil && (a.Error.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || a.Error.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return 0, ErrConflict
	case a.Error != nil:
		return 0, a.Error
	case a.Seq < uint64(changes), changes > 1 && a.Count != changes: //nolint:gosec // G115: a length is not negative
		return 0, fmt.Errorf("unexpected acknowledgement of %d messages: seq %d, count %d", changes, a.Seq, a.Count)
	}
	return a.Seq - uint64(changes) + 1, nil //nolint:gosec // G115: a length is not negative
}

// ForEach calls fn for 0 to n-1, up to maxParallel at a time, and returns the first error by index.
func ForEach(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	errs := make([]error, n)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = fn(i)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ChangeInfo is the time, author and ID of a change. The writer finds the change again by its
// ID after a lost acknowledgement.
type ChangeInfo struct {
	ID     string    `json:"name"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor,omitempty"` // principal.Caller.Key; "" for the service itself
	Client string    `json:"client,omitempty"`
}

// NewChangeInfo returns the description of a change that a caller makes now.
func NewChangeInfo(name string, now time.Time, by principal.Caller) ChangeInfo {
	return ChangeInfo{ID: name, At: StoredTime(now), Actor: by.Key, Client: by.Client}
}

// StoredTime rounds a time to the precision of the stores.
func StoredTime(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }
