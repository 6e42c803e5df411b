package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
)

// States returns the values of all owners, by owner and name, without snapshot references.
func (o *Store) States(context.Context) (map[string]map[string][]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	all := make(map[string]map[string][]byte)
	for subject, value := range o.states {
		owner, name, err := o.parseSubject(deskKind, subject)
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
func (o *Store) Journals(ctx context.Context) (map[string][]string, error) {
	const op = "read journals"
	info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter(o.Subject(journalKind, ">")))
	if err != nil {
		return nil, conn.Unavailable(op, err)
	}
	all := make(map[string][]string)
	for subject := range info.State.Subjects {
		owner, name, err := o.parseSubject(journalKind, subject)
		if err != nil {
			return nil, err
		}
		all[owner] = append(all[owner], name)
	}
	return all, nil
}

// parseSubject returns the owner and name of a subject.
func (o *Store) parseSubject(kind, subject string) (owner, name string, err error) {
	first, second, ok := strings.Cut(strings.TrimPrefix(subject, o.Subject(kind, "")), ".")
	if owner, err = conn.DecodeToken(first); ok && err == nil {
		name, err = conn.DecodeToken(second)
	}
	if !ok || err != nil {
		return "", "", conn.Corrupted("read subject", fmt.Errorf("%s: %w", subject, err))
	}
	return owner, name, nil
}
