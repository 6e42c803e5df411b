// Package transfer copies subscriptions, cursors and polling queues between the file of a
// single process and the records that replicas share.
package transfer

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"candela/internal/alerting/notify/local"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// A SeqMapper translates sequence numbers from one log to another that holds the same
// entries under its own numbers.
type SeqMapper interface {
	// Cursor translates the cursor of a reader.
	Cursor(seq uint64) uint64
	// Seq translates the sequence number of an entry, and returns false for a pruned one.
	Seq(seq uint64) (uint64, bool)
}

// FromFile returns the content of a subscriptions file, which may be missing, as records.
func FromFile(path string, to SeqMapper) ([]records.Record, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: in the operator's own directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read subscriptions file: %w", err)
	}
	f, err := local.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read subscriptions file: %w", err)
	}
	var list []records.Record
	for _, key := range slices.Sorted(maps.Keys(f.Subscriptions)) {
		s := f.Subscriptions[key]
		list = append(list,
			records.Record{Kind: records.SubscriptionKind, Name: key, Data: records.Encode(records.Subscription{
				Change: rand.Text(), Owner: s.Owner, Client: s.Client, Symbols: s.Symbols, Types: s.Types, Kinds: s.Kinds, Instruments: s.Instruments,
				Since: to.Cursor(s.Since), Kept: mapSeqs(s.Kept, to), Expires: s.Expires, Seen: s.Seen,
			})},
			records.Record{Kind: records.AttachmentKind, Name: key, Data: records.Encode(records.Attachment{Owner: s.Owner, Cursor: to.Cursor(s.Cursor), Seen: s.Seen})})
	}
	for _, owner := range slices.Sorted(maps.Keys(f.Polling)) {
		q := f.Polling[owner]
		list = append(list, records.Record{Kind: records.QueueKind, Name: string(owner), Data: records.Encode(records.Queue{Cursor: to.Cursor(q.Cursor), Orders: to.Cursor(q.Orders), Returned: mapSeqs(q.Back, to)})})
	}
	return list, nil
}

// mapSeqs translates the sequence numbers of the entries that are not pruned.
func mapSeqs(seqs []uint64, to SeqMapper) records.SeqDeltas {
	mapped := make(records.SeqDeltas, 0, len(seqs))
	for _, seq := range seqs {
		if n, ok := to.Seq(seq); ok {
			mapped = append(mapped, n)
		}
	}
	slices.Sort(mapped)
	return slices.Compact(mapped)
}

// ToFile replaces a subscriptions file by the content of records. Leased entries return to
// the polling queue. It returns how many subscriptions and queues it wrote.
func ToFile(path string, list []records.Record, to SeqMapper) (int, error) {
	f := local.File{Subscriptions: map[string]local.SavedSubscription{}, Polling: map[principal.Owner]local.SavedQueue{}}
	for _, r := range list {
		if len(r.Data) == 0 {
			continue
		}
		if err := addRecord(&f, r, to); err != nil {
			return 0, fmt.Errorf("record %s %.12q: %w", r.Kind, r.Name, err)
		}
	}
	// An attachment without a subscription belongs to a stream without a filter.
	maps.DeleteFunc(f.Subscriptions, func(_ string, s local.SavedSubscription) bool { return s.Owner == "" })
	return len(f.Subscriptions) + len(f.Polling), f.Write(path)
}

func addRecord(f *local.File, r records.Record, to SeqMapper) error {
	s := f.Subscriptions[r.Name]
	switch r.Kind {
	case records.SubscriptionKind:
		sub, err := records.DecodeSubscription(r.Data)
		if err != nil {
			return err
		}
		s.Owner, s.Client, s.Symbols, s.Types, s.Kinds, s.Instruments, s.Expires = sub.Owner, sub.Client, sub.Symbols, sub.Types, sub.Kinds, sub.Instruments, sub.Expires
		s.Since, s.Kept, s.Seen = to.Cursor(sub.Since), mapSeqs(sub.Kept, to), later(s.Seen, sub.Seen)
		f.Subscriptions[r.Name] = s
	case records.AttachmentKind:
		var attachment records.Attachment
		if err := json.Unmarshal(r.Data, &attachment); err != nil {
			return err
		}
		s.Cursor, s.Seen = to.Cursor(attachment.Cursor), later(s.Seen, attachment.Seen)
		f.Subscriptions[r.Name] = s
	case records.QueueKind:
		var q records.Queue
		if err := json.Unmarshal(r.Data, &q); err != nil {
			return err
		}
		f.Polling[principal.Owner(r.Name)] = local.SavedQueue{Cursor: to.Cursor(q.Cursor), Orders: to.Cursor(q.Orders), Back: mapSeqs(q.Undelivered(), to)}
	case records.CursorKind: // of replicas that did not shut down
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
