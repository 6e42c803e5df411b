package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/kit/disk"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/market"
)

const fileVersion = 1

// A File is the content of subscriptions.json. It holds no tokens: the key of a subscription
// is the SHA-256 of its token.
type File struct {
	Version       int                            `json:"version"`
	Subscriptions map[string]SavedSubscription   `json:"subscriptions"`
	Polling       map[principal.Owner]SavedQueue `json:"polling"` // by owner
}

// A SavedSubscription is the subscription and cursor of one token.
type SavedSubscription struct {
	Owner       principal.Owner `json:"owner"`
	Client      string          `json:"client,omitempty"` // principal.Caller.ClientKey
	Symbols     []market.Symbol `json:"symbols,omitempty"`
	Types       []string        `json:"alert_types,omitempty"`
	Kinds       notify.Kinds    `json:"kinds,omitzero"`
	Instruments []market.Symbol `json:"instruments,omitempty"`
	Since       uint64          `json:"since"`          // the filter applies after this entry
	Kept        []uint64        `json:"kept,omitempty"` // earlier matches
	Expires     time.Time       `json:"expires,omitzero"`
	Cursor      uint64          `json:"cursor,omitzero"` // Cursor and Seen change often; appendJSON writes them
	Seen        time.Time       `json:"seen,omitzero"`
}

// A SavedQueue is the polling queue of one owner.
type SavedQueue struct {
	Cursor uint64   `json:"cursor"`
	Orders uint64   `json:"orders,omitempty"`
	Back   []uint64 `json:"back,omitempty"` // undelivered entries up to the cursor
}

// Open returns an inbox without entries and with the readers of the file.
func Open(cfg Config) (*Inbox, error) {
	b := New(cfg)
	return b, b.Load()
}

// Load reads the file. One that cannot be decoded is renamed and logged; one that cannot be
// read or renamed is an error, because writing would destroy it.
func (b *Inbox) Load() error {
	if b.cfg.Path == "" {
		return nil
	}
	data, err := os.ReadFile(b.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read subscriptions file: %w", err)
	}
	saved, err := Parse(data)
	if err != nil {
		return b.quarantine(err)
	}
	b.load(saved)
	return nil
}

// Parse decodes the content of subscriptions.json.
func Parse(data []byte) (File, error) {
	var f File
	if err := json.Unmarshal(data, &f); err != nil {
		return f, err
	}
	if f.Version != fileVersion {
		return f, fmt.Errorf("unsupported version %d (want %d)", f.Version, fileVersion)
	}
	for key, s := range f.Subscriptions {
		if key == "" || s.Owner == "" || !ascending(s.Kept) || len(s.Kept) > notify.MaxBacklog {
			return f, fmt.Errorf("invalid subscription %.12q", key)
		}
	}
	for owner, q := range f.Polling {
		if owner == "" || !ascending(q.Back) {
			return f, fmt.Errorf("invalid polling queue of owner %q", owner)
		}
	}
	return f, nil
}

func ascending(seqs []uint64) bool {
	return slices.IsSorted(seqs) && len(slices.Compact(slices.Clone(seqs))) == len(seqs)
}

// Write replaces the file at path.
func (f File) Write(path string) error {
	f.Version = fileVersion
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode subscriptions file: %w", err)
	}
	return disk.Replace(path, data)
}

// quarantine renames a file that cannot be decoded, for the operator to inspect.
func (b *Inbox) quarantine(reason error) error {
	renamed := b.cfg.Path + ".bad-" + b.cfg.Now().UTC().Format("20060102T150405.000Z")
	if err := disk.Rename(b.cfg.Path, renamed); err != nil {
		return fmt.Errorf("read subscriptions file: %w; quarantine failed: %w", reason, err)
	}
	b.cfg.Log.Error("subscriptions file quarantined; clients must subscribe again and polled notifications may repeat",
		"path", b.cfg.Path, "moved_to", renamed, "error", reason)
	return nil
}

func (b *Inbox) load(f File) {
	for key, saved := range f.Subscriptions {
		s := &subscriber{
			Subscriber: core.Subscriber{
				Owner: b.Owner(saved.Owner), Client: core.Client{Owner: saved.Owner, Key: saved.Client}, Key: key,
				Cursor: saved.Cursor, LastSeen: saved.Seen, Expires: saved.Expires,
			},
			unconfirmed: b.cfg.TokenLive == nil || !b.cfg.TokenLive(key),
		}
		s.SetFilter(notify.Filter{Symbols: saved.Symbols, Types: saved.Types, Kinds: saved.Kinds, Instruments: saved.Instruments}, saved.Since, saved.Kept)
		b.subs.Add(s)
	}
	for name, saved := range f.Polling {
		q := &b.Owner(name).Queue
		q.Cursor, q.Orders, q.Returned = saved.Cursor, saved.Orders, saved.Back
	}
}

// encode returns the content of the file. With ten thousand streams it runs every half
// second beside their deliveries, so what seldom changes is cached.
func (b *Inbox) encode() ([]byte, error) {
	b.mu.Lock()
	subs := slices.AppendSeq(make([]*subscriber, 0, len(b.subs.ByKey)), maps.Values(b.subs.ByKey))
	b.mu.Unlock()
	queues := map[principal.Owner]SavedQueue{}
	for _, o := range b.Owners() {
		o.Mu.Lock()
		if o.Queue.Cursor > 0 || o.Queue.Orders > 0 {
			queues[o.Name] = SavedQueue{o.Queue.Cursor, o.Queue.Orders, o.Queue.Undelivered()}
		}
		o.Mu.Unlock()
	}
	polling, err := json.Marshal(queues)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, 256*(len(subs)+1)+len(polling))
	data = fmt.Appendf(data, `{"version":%d,"polling":%s,"subscriptions":{`, fileVersion, polling)
	for _, s := range subs {
		if data, err = s.appendJSON(data); err != nil {
			return nil, err
		}
	}
	return append(bytes.TrimSuffix(data, []byte(",\n")), "}}\n"...), nil
}

// appendJSON appends the subscription, if there is one, and a comma.
func (s *subscriber) appendJSON(data []byte) ([]byte, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if !s.Subscribed() {
		return data, nil
	}
	if s.cachedJSON == "" {
		fixed, err := json.Marshal(map[string]SavedSubscription{s.Key: {
			Owner: s.Client.Owner, Client: s.Client.Key, Symbols: s.Filter.Symbols, Types: s.Filter.Types, Kinds: s.Filter.Kinds, Instruments: s.Filter.Instruments,
			Since: s.FilterFrom, Kept: s.EarlierMatches, Expires: s.Expires.UTC(),
		}})
		if err != nil {
			return nil, err
		}
		s.cachedJSON = string(fixed[1 : len(fixed)-2]) // up to the brace that ends the subscription
	}
	data = append(append(data, s.cachedJSON...), `,"cursor":`...)
	data = strconv.AppendUint(data, s.Cursor, 10)
	data = append(data, `,"seen":"`...)
	data = s.LastSeen.UTC().AppendFormat(data, time.RFC3339Nano)
	return append(data, "\"},\n"...), nil
}

const (
	// writeDelay gathers the changes of many readers into one write, and leaves the write
	// half a second to stay within one second of the changes.
	writeDelay = 500 * time.Millisecond

	pruneEvery = time.Hour
)

// fileWriter tracks whether the file has every change.
type fileWriter struct {
	changes atomic.Uint64
	dirty   chan struct{} // holds a token while the file may lack a change

	mu    sync.Mutex // one write at a time
	saved uint64     // of the changes, how many the file has
}

// markDirty is called after a change.
func (w *fileWriter) markDirty() {
	w.changes.Add(1)
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// persist writes the file before a client is answered. Run logs a failure and keeps
// retrying.
func (b *Inbox) persist() error {
	if err := b.Flush(); err != nil {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "store_failed", Retryable: true, Cause: err,
			Message: "The change could not be saved to disk. It may be in effect now and undone by a restart; retry.",
		}
	}
	return nil
}

// Flush writes the file if it lacks a change. Of many concurrent callers one writes for all.
func (b *Inbox) Flush() error {
	if b.cfg.Path == "" {
		return nil
	}
	want := b.file.changes.Load()
	b.file.mu.Lock()
	defer b.file.mu.Unlock()
	if b.file.saved >= want {
		return nil
	}
	now := b.file.changes.Load()
	data, err := b.encode()
	if err == nil {
		err = disk.Replace(b.cfg.Path, data)
	}
	if err != nil {
		return fmt.Errorf("write subscriptions file: %w", err)
	}
	b.file.saved = now
	return nil
}

// Run implements notify.Inbox. It writes the file after changes and once more when ctx ends.
// While the file cannot be written it retries with each delay and logs that once.
func (b *Inbox) Run(ctx context.Context) error {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return b.Flush()
		case <-prune.C:
			b.mu.Lock()
			b.removeUnseen("", b.cfg.Now())
			b.mu.Unlock()
			b.Prune()
			continue
		case <-b.file.dirty:
		}
		if retry.Sleep(ctx, writeDelay) != nil {
			continue
		}
		err := b.Flush()
		switch {
		case err != nil && !failing:
			b.cfg.Log.ErrorContext(ctx, "saving subscriptions failed; a restart would repeat notifications", "error", err)
		case err == nil && failing:
			b.cfg.Log.InfoContext(ctx, "saving subscriptions recovered")
		}
		if failing = err != nil; failing {
			b.file.markDirty()
		}
	}
}
