package replicated

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"candela/internal/alerting/notify/records"
)

// cursorsPerRecord bounds one cursor record to some 80 KB.
const cursorsPerRecord = 1000

// cursorPage is a cursor record of another replica. It is decoded when needed, which is
// mostly after that replica died.
type cursorPage struct {
	rev     uint64
	data    []byte
	cursors records.Cursors // nil before it is decoded
}

// moveCursors records that a cursor has moved. It stores only if needed, so that ten thousand
// streams do not write to one word.
func (b *Inbox) moveCursors() {
	if !b.cursorsMoved.Load() {
		b.cursorsMoved.Store(true)
	}
}

// writeCursors writes the cursors of the streams at this replica if one has moved.
func (b *Inbox) writeCursors(ctx context.Context) error {
	if !b.cursorsMoved.Swap(false) {
		return nil
	}
	var pages []records.Cursors
	for i, s := range b.attachedHere() {
		if i%cursorsPerRecord == 0 {
			pages = append(pages, make(records.Cursors, cursorsPerRecord))
		}
		s.Mu.Lock()
		if s.Stream != nil {
			pages[len(pages)-1][s.Key] = [2]uint64{s.attachment.epoch, s.Cursor}
		}
		s.Mu.Unlock()
	}
	list := make([]records.Record, max(len(pages), b.cursorPages))
	for i := range list {
		list[i] = records.Record{Kind: records.CursorKind, Name: b.self + "/" + strconv.Itoa(i)}
		if i < len(pages) {
			list[i].Data = records.Encode(pages[i])
		}
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := b.cfg.Store.Write(ctx, list); err != nil {
		b.cursorsMoved.Store(true)
		return err
	}
	b.cursorPages = len(pages)
	return nil
}

func (b *Inbox) attachedHere() []*subscriber {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	return slices.AppendSeq(make([]*subscriber, 0, len(b.attached)), maps.Keys(b.attached))
}

func (b *Inbox) handleCursors(r records.Record) {
	replica, _, _ := strings.Cut(r.Name, "/")
	if replica == b.self {
		return
	}
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	if len(r.Data) == 0 {
		delete(b.remote[replica], r.Name)
		return
	}
	if b.remote[replica] == nil {
		b.remote[replica] = map[string]*cursorPage{}
	}
	b.remote[replica][r.Name] = &cursorPage{rev: r.Rev, data: r.Data}
}

// refreshCursor moves the cursor of a stream at another replica to where that replica last
// wrote it, unless the attachment is newer. Mu is held.
func (b *Inbox) refreshCursor(s *subscriber) {
	if s.attachment.replica == b.self {
		return
	}
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	newest := s.attachmentRev
	for _, page := range b.remote[s.attachment.replica] {
		if page.rev <= newest || page.cursors == nil && json.Unmarshal(page.data, &page.cursors) != nil {
			continue
		}
		page.data = nil
		if at, ok := page.cursors[s.Key]; ok && at[0] == s.attachment.epoch {
			s.SetCursor(at[1])
			newest = page.rev
		}
	}
}

// pruneCursors drops the cursors of dead replicas that no attachment names.
func (b *Inbox) pruneCursors() {
	used := map[string]bool{}
	b.mu.Lock()
	for _, s := range b.subs.ByKey {
		s.Mu.Lock()
		used[s.attachment.replica] = used[s.attachment.replica] || s.attachment.open
		s.Mu.Unlock()
	}
	b.mu.Unlock()
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	for replica := range b.remote {
		if !used[replica] && !b.live(replica) {
			delete(b.remote, replica)
		}
	}
}
