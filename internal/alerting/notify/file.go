package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"candela/internal/kit/disk"
	"candela/internal/market"
)

// fileVersion is the form of subscriptions.json.
const fileVersion = 1

// file is subscriptions.json. It holds no token: the key of a subscription is
// what stands for one, its SHA-256.
type file struct {
	Version       int                          `json:"version"`
	Subscriptions map[string]savedSubscription `json:"subscriptions"`
	Polling       map[string]savedQueue        `json:"polling"` // by owner
}

type savedSubscription struct {
	Owner   string          `json:"owner"`
	Client  string          `json:"client,omitempty"` // principal.Caller.ClientKey
	Symbols []market.Symbol `json:"symbols,omitempty"`
	Types   []string        `json:"alert_types,omitempty"`
	Named   []market.Symbol `json:"instruments,omitempty"`
	Since   uint64          `json:"since"`
	Kept    []uint64        `json:"kept,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	Cursor  uint64          `json:"cursor,omitzero"` // this and the next change often; appendTo writes them
	Seen    time.Time       `json:"seen,omitzero"`
}

type savedQueue struct {
	Cursor uint64   `json:"cursor"`
	Back   []uint64 `json:"back,omitempty"`
}

// Open returns a log without entries whose readers are those of the file. A file
// that cannot be understood is put aside, and the log says so; one that cannot be
// read or put aside is an error, because writing would destroy it.
func Open(cfg Config) (*Log, error) {
	l := newLog(cfg)
	if cfg.Path == "" {
		return l, nil
	}
	data, err := os.ReadFile(cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	saved, err := parseFile(data)
	if err != nil {
		return l, l.putAside(err)
	}
	l.load(saved)
	return l, nil
}

func parseFile(data []byte) (file, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return f, err
	}
	if f.Version != fileVersion {
		return f, fmt.Errorf("it has version %d, and this program knows version %d", f.Version, fileVersion)
	}
	for key, s := range f.Subscriptions {
		if key == "" || s.Owner == "" || !ascending(s.Kept) || len(s.Kept) > MaxBacklog {
			return f, fmt.Errorf("subscription %.12q is not whole", key)
		}
	}
	for owner, q := range f.Polling {
		if owner == "" || !ascending(q.Back) {
			return f, fmt.Errorf("polling queue of %q is not whole", owner)
		}
	}
	return f, nil
}

func ascending(seqs []uint64) bool {
	return slices.IsSorted(seqs) && len(slices.Compact(slices.Clone(seqs))) == len(seqs)
}

// putAside keeps what could not be understood, for the owner to look at.
func (l *Log) putAside(reason error) error {
	aside := l.cfg.Path + ".bad-" + l.cfg.Now().UTC().Format("20060102T150405.000Z")
	if err := disk.Rename(l.cfg.Path, aside); err != nil {
		return fmt.Errorf("subscriptions: %w; and it cannot be put aside: %w", reason, err)
	}
	l.cfg.Log.Error("the file of subscriptions cannot be understood and is put aside: clients must subscribe again, and get_notifications may repeat",
		"path", l.cfg.Path, "kept_as", aside, "error", reason)
	return nil
}

// load takes over what an earlier run knew. None of its tokens is known to be
// good until it is seen.
func (l *Log) load(f file) {
	for key, saved := range f.Subscriptions {
		saved.Owner = l.now(saved.Owner)
		filter := Filter{Symbols: saved.Symbols, Types: saved.Types, Instruments: saved.Named}
		s := &subscriber{
			owner: l.owner(saved.Owner), id: client{saved.Owner, saved.Client}, key: key,
			filter: filter, since: saved.Since, kept: saved.Kept, cursor: saved.Cursor,
			seen: saved.Seen, expires: saved.Expires, orphan: true,
		}
		s.matcher.Store(newMatcher(filter))
		l.enter(s)
	}
	for name, saved := range f.Polling {
		if l.now(name) != name {
			l.former[name] = saved
			continue
		}
		l.owner(name).queue = queue{cursor: saved.Cursor, back: saved.Back}
	}
}

// now is what an owner is called now.
func (l *Log) now(owner string) string {
	if name, ok := l.cfg.Formerly[owner]; ok {
		return name
	}
	return owner
}

// encode returns what the file should hold. With ten thousand streams it runs
// beside their deliveries every half second, so what seldom changes is encoded
// once and kept with its subscriber.
func (l *Log) encode() ([]byte, error) {
	l.mu.Lock()
	all := make([]*subscriber, 0, len(l.subscribers))
	for _, s := range l.subscribers {
		all = append(all, s)
	}
	l.mu.Unlock()
	queues := map[string]savedQueue{}
	for _, o := range l.allOwners() {
		o.mu.Lock()
		if o.queue.cursor > 0 {
			queues[o.name] = savedQueue{o.queue.cursor, o.queue.unsettled()}
		}
		o.mu.Unlock()
	}
	polling, err := json.Marshal(queues)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, 256*(len(all)+1)+len(polling))
	data = fmt.Appendf(data, `{"version":%d,"polling":%s,"subscriptions":{`, fileVersion, polling)
	for _, s := range all {
		if data, err = s.appendTo(data); err != nil {
			return nil, err
		}
	}
	return append(bytes.TrimSuffix(data, []byte(",\n")), "}}\n"...), nil
}

// appendTo appends the subscription, if there is one, and a comma.
func (s *subscriber) appendTo(data []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.matcher.Load() == nil {
		return data, nil
	}
	if s.encoded == "" {
		fixed, err := json.Marshal(map[string]savedSubscription{s.key: {
			Owner: s.id.owner, Client: s.id.key, Symbols: s.filter.Symbols, Types: s.filter.Types, Named: s.filter.Instruments,
			Since: s.since, Kept: s.kept, Expires: s.expires.UTC(),
		}})
		if err != nil {
			return nil, err
		}
		s.encoded = string(fixed[1 : len(fixed)-2]) // up to the brace that ends the subscription
	}
	data = append(append(data, s.encoded...), `,"cursor":`...)
	data = strconv.AppendUint(data, s.cursor, 10)
	data = append(data, `,"seen":"`...)
	data = s.seen.UTC().AppendFormat(data, time.RFC3339Nano)
	return append(data, "\"},\n"...), nil
}

// replaceFile writes a file so that a crash leaves the old one or the new one,
// whole.
func replaceFile(path string, data []byte) error {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeSynced(temp, data); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := disk.Rename(temp, path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // a path of ours in the state directory
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
