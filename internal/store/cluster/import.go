package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/alerting/notify"
)

// AddEntries stores notifications that another store had, in their order and in steps
// of maxBatch, and returns them with the numbers that they have here. Their alerts are
// not active any more. Nobody else may write meanwhile.
func (s *Store) AddEntries(ctx context.Context, entries []notify.Entry) ([]notify.Entry, error) {
	added := slices.Clone(entries)
	for step := range slices.Chunk(added, maxBatch) {
		changes := make([]change, len(step))
		for i := range step {
			var err error
			if changes[i], err = s.importChange(&step[i]); err != nil {
				return nil, err
			}
		}
		// A step whose answer got lost is written again, and what was there is replaced.
		err := s.alerts.write(ctx, "add notifications", func(ctx context.Context) error {
			first, err := s.alerts.publish(ctx, s.alerts.name, changes...)
			for i := range step {
				step[i].Seq = first + uint64(i)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return added, nil
}

// importChange is the message of an alert that has fired elsewhere.
func (s *Store) importChange(e *notify.Entry) (change, error) {
	var told struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(e.Data, &told); err != nil || !isToken(told.ID) {
		return change{}, fmt.Errorf("notification %d has the alert %q: %w", e.Seq, told.ID, err)
	}
	r := record{
		State: fired, Data: e.Data, End: step{Name: "import", At: micro(e.At)},
		Alert: alertForm{ID: told.ID, Owner: e.Owner, Symbol: e.Symbol, Instrument: e.Symbol, Type: e.Type},
	}
	data, err := r.encode()
	left := max(time.Minute, firedTTL-s.now().Sub(e.At)).Round(time.Second)
	return change{subject: s.alerts.subject(alertKind, encode(e.Symbol.String()), told.ID), data: data, ttl: left}, err
}

// States returns the values of all owners, by owner and name. Where snapshots are is
// none of them.
func (o *Orders) States(context.Context) (map[string]map[string][]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	all := make(map[string]map[string][]byte)
	for subject, value := range o.states {
		owner, name, err := o.named(deskKind, subject)
		if err != nil {
			return nil, err
		}
		if all[owner] == nil {
			all[owner] = make(map[string][]byte)
		}
		all[owner][name] = slices.Clone(value)
	}
	return all, nil
}

// Journals returns the names of the journals of all owners, by owner.
func (o *Orders) Journals(ctx context.Context) (map[string][]string, error) {
	const doing = "read the journals"
	info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter(o.subject(journalKind, ">")))
	if err != nil {
		return nil, failure(doing, err)
	}
	all := make(map[string][]string)
	for subject := range info.State.Subjects {
		owner, name, err := o.named(journalKind, subject)
		if err != nil {
			return nil, err
		}
		all[owner] = append(all[owner], name)
	}
	return all, nil
}

// named reads the owner and the name out of a subject.
func (o *Orders) named(kind, subject string) (owner, name string, err error) {
	first, second, ok := strings.Cut(strings.TrimPrefix(subject, o.subject(kind, "")), ".")
	if owner, err = decode(first); ok && err == nil {
		name, err = decode(second)
	}
	if !ok || err != nil {
		return "", "", damaged("read a subject", fmt.Errorf("%s: %w", subject, err))
	}
	return owner, name, nil
}

// Replicas returns the names of the replicas that take part, or did half a minute
// ago: one that was killed is forgotten after that.
func (c *Conn) Replicas(ctx context.Context) ([]string, error) {
	beats, err := c.lastBeats(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(beats))
	for i := range beats {
		names[i] = beats[i].Name
	}
	return names, nil
}
