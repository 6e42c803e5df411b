package notify

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"candela/internal/alerting/notify/records"
)

// SeqMapper translates numbers of entries from one log to another, where both hold the
// same entries under numbers of their own.
type SeqMapper interface {
	// Cursor translates up to where a reader has come.
	Cursor(seq uint64) uint64
	// Seq translates the number of an entry, and returns false for one that is gone.
	Seq(seq uint64) (uint64, bool)
}

// FileRecords returns what a file of subscriptions holds as the records of a Keeper, with
// the numbers of another log. Owners with a former name get the present one; entries are
// those of the store that the file belongs to. There may be no file.
func FileRecords(path string, to SeqMapper, formerly map[string]string, entries []Entry) ([]records.Record, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: in the operator's own directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	f, err := parseFile(data)
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	f.rename(formerly, entries)
	var list []records.Record
	for _, key := range slices.Sorted(maps.Keys(f.Subscriptions)) {
		s := f.Subscriptions[key]
		list = append(list,
			records.Record{Kind: records.SubscriptionKind, Name: key, Data: records.Encode(records.Subscription{
				Change: rand.Text(), Owner: s.Owner, Client: s.Client, Symbols: s.Symbols, Types: s.Types, Instruments: s.Named,
				Since: to.Cursor(s.Since), Kept: translate(s.Kept, to), Expires: s.Expires, Seen: s.Seen,
			})},
			records.Record{Kind: records.AttachmentKind, Name: key, Data: records.Encode(records.Attachment{Owner: s.Owner, Cursor: to.Cursor(s.Cursor), Seen: s.Seen})})
	}
	for _, owner := range slices.Sorted(maps.Keys(f.Polling)) {
		q := f.Polling[owner]
		list = append(list, records.Record{Kind: records.QueueKind, Name: owner, Data: records.Encode(records.Queue{Cursor: to.Cursor(q.Cursor), Returned: translate(q.Back, to)})})
	}
	return list, nil
}

// translate returns the numbers of those entries that are there.
func translate(seqs []uint64, to SeqMapper) records.SeqDeltas {
	all := make(records.SeqDeltas, 0, len(seqs))
	for _, seq := range seqs {
		if there, ok := to.Seq(seq); ok {
			all = append(all, there)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// WriteRecords puts records of a Keeper, with the numbers of another log, in the place of
// a file of subscriptions. What replicas had taken out of a polling queue and not
// settled is in the queue again. It returns how many subscriptions and queues that
// are.
func WriteRecords(path string, list []records.Record, to SeqMapper) (int, error) {
	f := file{Version: fileVersion, Subscriptions: map[string]savedSubscription{}, Polling: map[string]savedQueue{}}
	for _, r := range list {
		if len(r.Data) == 0 {
			continue
		}
		if err := f.add(r, to); err != nil {
			return 0, fmt.Errorf("%s %.12q: %w", r.Kind, r.Name, err)
		}
	}
	// A place without a filter is of a stream that nobody has subscribed to.
	maps.DeleteFunc(f.Subscriptions, func(_ string, s savedSubscription) bool { return s.Owner == "" })
	data, err := json.Marshal(f)
	if err != nil {
		return 0, fmt.Errorf("subscriptions: %w", err)
	}
	return len(f.Subscriptions) + len(f.Polling), replaceFile(path, data)
}

// add notes a record.
func (f *file) add(r records.Record, to SeqMapper) error {
	s := f.Subscriptions[r.Name]
	switch r.Kind {
	case records.SubscriptionKind:
		sub, err := decodeSub(r.Data)
		if err != nil {
			return err
		}
		s.Owner, s.Client, s.Symbols, s.Types, s.Named, s.Expires = sub.Owner, sub.Client, sub.Symbols, sub.Types, sub.Instruments, sub.Expires
		s.Since, s.Kept = to.Cursor(sub.Since), translate(sub.Kept, to)
		if s.Seen.Before(sub.Seen) {
			s.Seen = sub.Seen
		}
		f.Subscriptions[r.Name] = s
	case records.AttachmentKind:
		var seat records.Attachment
		if err := json.Unmarshal(r.Data, &seat); err != nil {
			return err
		}
		s.Cursor = to.Cursor(seat.Cursor)
		if s.Seen.Before(seat.Seen) {
			s.Seen = seat.Seen
		}
		f.Subscriptions[r.Name] = s
	case records.QueueKind:
		var queue records.Queue
		if err := json.Unmarshal(r.Data, &queue); err != nil {
			return err
		}
		back := slices.Clone(queue.Returned)
		for _, batches := range queue.Leases {
			for _, out := range batches {
				back = append(back, out...)
			}
		}
		f.Polling[r.Name] = savedQueue{Cursor: to.Cursor(queue.Cursor), Back: translate(back, to)}
	case records.CursorKind: // of replicas that have not stopped in order
	}
	return nil
}
