package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/lib/fault"
)

const (
	snapshotChunk = 128 << 10        // bytes of a message with a part of a stream
	snapshotQuiet = 30 * time.Second // the longest wait for the next one
)

// Snapshot describes a copy of a stream, as the servers wrote it.
type Snapshot struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// snapshotAnswer is what the servers answer about snapshots.
type snapshotAnswer struct {
	Snapshot
	Deliver string `json:"deliver_subject"`
	Error   *struct {
		Description string `json:"description"`
		Code        int    `json:"err_code"`
	} `json:"error"`
}

// HasStream reports whether there is a stream.
func (c *Conn) HasStream(ctx context.Context, stream string) (bool, error) {
	_, err := c.js.Stream(ctx, c.StreamName(stream))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, Unavailable("look for a stream", err)
}

// CopyStream writes a stream as of one moment, with its sequence numbers and times, in the servers' own form. Its messages stay sealed.
func (c *Conn) CopyStream(ctx context.Context, stream string, to io.Writer) (Snapshot, error) {
	inbox := c.nc.NewInbox()
	chunks, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return Snapshot{}, Unavailable("copy a stream", err)
	}
	defer func() { _ = chunks.Unsubscribe() }() // it ends with the connection at the latest
	request, err := json.Marshal(map[string]any{"deliver_subject": inbox, "no_consumers": true, "jsck": true, "chunk_size": snapshotChunk})
	if err != nil {
		return Snapshot{}, err
	}
	answer, err := c.askSnapshot(ctx, "$JS.API.STREAM.SNAPSHOT."+c.StreamName(stream), request)
	if err != nil {
		return Snapshot{}, fmt.Errorf("copy stream %s: %w", c.StreamName(stream), err)
	}
	for {
		m, err := nextChunk(ctx, chunks)
		if err != nil {
			return Snapshot{}, Unavailable("copy a stream", err)
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return Snapshot{}, fault.Unreachable(errors.New(status+" "+m.Header.Get("Description")), 0, "The NATS servers did not finish the copy of stream %s.", c.StreamName(stream))
			}
			return answer.Snapshot, nil
		}
		if _, err := to.Write(m.Data); err != nil {
			return Snapshot{}, err
		}
		if m.Reply != "" {
			if err := m.Respond(nil); err != nil {
				return Snapshot{}, Unavailable("copy a stream", err)
			}
		}
	}
}

func nextChunk(ctx context.Context, from *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotQuiet)
	defer cancel()
	return from.NextMsgWithContext(ctx)
}

// askSnapshot sends a request and returns the answer, or the error in it.
func (c *Conn) askSnapshot(ctx context.Context, subject string, body []byte) (answer snapshotAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotQuiet)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return answer, Unavailable("ask for a copy", err)
	}
	if len(m.Data) == 0 {
		return answer, nil
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return answer, err
	}
	if e := answer.Error; e != nil {
		return answer, fault.New(fault.Conflict, "nats_refused", "The NATS servers refuse: %s (%d).", e.Description, e.Code)
	}
	return answer, nil
}

// RestoreStream makes a stream from a copy, with as many replicas as this connection wants. A stream of that name must not exist.
func (c *Conn) RestoreStream(ctx context.Context, stream string, copied Snapshot, from io.Reader) error {
	name := c.StreamName(stream)
	var settings map[string]any
	if err := json.Unmarshal(copied.Config, &settings); err != nil {
		return fmt.Errorf("the copy of stream %s: %w", name, err)
	}
	if settings["name"] != name {
		return fault.New(fault.Conflict, "other_prefix", "the copy is of stream %v, and --nats-prefix %s wants %s", settings["name"], c.prefix, name)
	}
	settings["num_replicas"] = c.replicas
	request, err := json.Marshal(map[string]any{"config": settings, "state": copied.State})
	if err != nil {
		return err
	}
	answer, err := c.askSnapshot(ctx, "$JS.API.STREAM.RESTORE."+name, request)
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	chunk := make([]byte, snapshotChunk)
	for {
		n, err := io.ReadFull(from, chunk)
		if n > 0 {
			if _, err := c.askSnapshot(ctx, answer.Deliver, chunk[:n]); err != nil {
				return fmt.Errorf("restore stream %s: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	done, err := c.askSnapshot(ctx, answer.Deliver, nil)
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	return sameState(name, copied.State, done.State)
}

// sameState returns an error unless a restored stream ends where the copied one did.
func sameState(name string, copied, restored json.RawMessage) error {
	var want, got struct {
		Messages uint64 `json:"messages"`
		Last     uint64 `json:"last_seq"`
	}
	if err := errors.Join(json.Unmarshal(copied, &want), json.Unmarshal(restored, &got)); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	if got != want {
		return fault.New(fault.Conflict, "restore_incomplete", "stream %s was restored with %d messages up to %d, and the copy has %d up to %d", name, got.Messages, got.Last, want.Messages, want.Last)
	}
	return nil
}
