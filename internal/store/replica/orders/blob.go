package orders

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
)

// blobKind is the kind of subject of the stream of blobs: blob.<name>.<page>.
const blobKind = "blob"

// blobRef refers to a value that is too large for one message. Its name is used once, so that no
// reader mixes two values.
type blobRef struct {
	Name  string `json:"name"`
	Pages int    `json:"pages"`
	Hash  string `json:"sha256"`
}

// errCorruptBlob means that a blob differs from what was written.
var errCorruptBlob = errors.New("blob incomplete or corrupted")

// blobStore is the stream of blobs. It is separate from the order stream, whose messages are kept
// forever: blobs are derived from those, and only the newest are used.
type blobStore struct {
	*conn.Conn
	name string // of the stream

	mu     sync.Mutex
	opened jetstream.Stream
}

// stream returns the stream and creates it if it does not exist: small accounts need none.
func (b *blobStore) stream(ctx context.Context) (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	var err error
	b.opened, err = b.OpenStream(ctx, jetstream.StreamConfig{
		Name: "BOOKS", Storage: jetstream.FileStorage, Subjects: []string{b.Subject(blobKind, ">")}, MaxMsgsPerSubject: 1,
		AllowDirect: false, // direct reads may come from a server that lags behind
	})
	if err != nil {
		b.opened = nil
	}
	return b.opened, err
}

// reopen makes the next use open the stream again, or create it if it was removed.
func (b *blobStore) reopen() {
	b.mu.Lock()
	b.opened = nil
	b.mu.Unlock()
}

func (b *blobStore) pageSubject(name string, n int) string {
	return b.Subject(blobKind, name, strconv.Itoa(n))
}

// put writes a value. It is not used before a message refers to it.
func (b *blobStore) put(ctx context.Context, timeout time.Duration, value []byte) (blobRef, error) {
	opening, cancel := context.WithTimeout(ctx, max(conn.CreateTimeout, timeout))
	defer cancel()
	if _, err := b.stream(opening); err != nil {
		return blobRef{}, err
	}
	size := maxPage
	if maxPayload := int(b.NATS().MaxPayload()); maxPayload > 0 {
		size = min(size, maxPayload/2)
	}
	hash := sha256.Sum256(value)
	put := blobRef{Name: rand.Text(), Pages: max(1, (len(value)+size-1)/size), Hash: hex.EncodeToString(hash[:])}
	err := conn.ForEach(put.Pages, func(i int) error {
		page := value[min(i*size, len(value)):min((i+1)*size, len(value))]
		return conn.RetryWriteFor(ctx, timeout, "write snapshot", func(ctx context.Context) error {
			_, err := b.Publish(ctx, b.name, conn.Change{Subject: b.pageSubject(put.Name, i), Data: page})
			return err
		})
	})
	if err != nil {
		b.reopen()
		return blobRef{}, err
	}
	return put, nil
}

// maxPages bounds the pages of a blob that a reference may claim.
const maxPages = 1 << 16

func (b *blobStore) get(ctx context.Context, ref blobRef) ([]byte, error) {
	if ref.Pages < 1 || ref.Pages > maxPages {
		return nil, errCorruptBlob
	}
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	pages := make([][]byte, ref.Pages)
	err = conn.ForEach(ref.Pages, func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, b.RetryFor)
		defer cancel()
		m, err := stream.GetLastMsgForSubject(ctx, b.pageSubject(ref.Name, i))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return errCorruptBlob
		}
		if err != nil {
			return err
		}
		page := b.Seals.Unseal(ctx, conn.Message{Subject: b.pageSubject(ref.Name, i), Data: m.Data, Seq: m.Sequence}, 0)
		if page.Forged != "" {
			return errCorruptBlob
		}
		pages[i] = page.Data
		return nil
	})
	if err != nil {
		b.reopen()
		return nil, err
	}
	value := bytes.Join(pages, nil)
	if hash := sha256.Sum256(value); hex.EncodeToString(hash[:]) != ref.Hash {
		return nil, errCorruptBlob
	}
	return value, nil
}

// remove deletes unreferenced blobs. deleteOrphans deletes those that remain after an error.
func (b *blobStore) remove(ctx context.Context, timeout time.Duration, names []string, options ...jetstream.StreamPurgeOpt) {
	stream, err := b.stream(ctx)
	for _, name := range names {
		if err == nil {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			err = stream.Purge(ctx, append(options, jetstream.WithPurgeSubject(b.Subject(blobKind, name, ">")))...)
			cancel()
		}
		if err != nil {
			b.reopen()
			b.Log.WarnContext(ctx, "old snapshot not deleted; retried at the next takeover", "error", err)
			return
		}
	}
}

// deleteOrphans deletes blobs of writers that ended before referring to them. used are the
// referenced names. Only a new writer calls it: earlier writers can no longer commit a reference,
// and blobs that are newer than the list may belong to a successor. still checks after listing
// that the caller is still the writer.
func (b *blobStore) deleteOrphans(ctx context.Context, timeout time.Duration, used map[string]bool, still func(context.Context) error) {
	if len(used) == 0 {
		return // there may be no stream
	}
	stream, err := b.stream(ctx)
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(b.Subject(blobKind, ">")))
	}
	if err == nil {
		err = still(ctx)
	}
	if err != nil {
		b.reopen()
		b.Log.WarnContext(ctx, "orphaned snapshots not checked", "error", err)
		return
	}
	left := make(map[string]bool)
	for subject := range info.State.Subjects {
		name, _, _ := strings.Cut(strings.TrimPrefix(subject, b.Subject(blobKind, "")), ".")
		if !used[name] && !left[name] {
			left[name] = true
			b.remove(ctx, timeout, []string{name}, jetstream.WithPurgeSequence(info.State.LastSeq+1))
		}
	}
}
