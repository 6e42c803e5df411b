package alerts

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/retry"
)

const (
	// maxListAge is how old a saved list may be. The servers keep the end of an alert longer than
	// that, so a reader that continues after the list sees it.
	maxListAge = 12 * time.Hour
	// maxClockError is how far in the future a list may have been saved.
	maxClockError = 5 * time.Minute

	firstSave = 15 * time.Second // after all alerts are listed: a replica that starts has other work
	saveEvery = time.Hour
)

// Lister is an engine whose list can be saved. See engine.Engine.Listed.
type Lister interface {
	Listed(ctx context.Context, from int) (alerts []alert.Alert, next int, err error)
}

// errSkipped means that a change could not be decoded.
var errSkipped = errors.New("changes of alerts were skipped")

// KeepList saves the list of alerts now and then, once all are listed, until ctx ends.
func (a *Coordinator) KeepList(ctx context.Context, from Lister) {
	select {
	case <-a.indexed:
	case <-ctx.Done():
		return
	}
	for wait := firstSave; retry.Sleep(ctx, wait) == nil; wait = saveEvery {
		if err := a.SaveList(ctx, from); err != nil && ctx.Err() == nil {
			a.cfg.Log.WarnContext(ctx, "list of alerts not saved; a start without it takes longer", "file", a.cfg.ListFile, "error", err)
		}
	}
}

// SaveList saves the list of alerts, for the next start of this replica. The engine may go on
// meanwhile: what changes after the sequence number in the file is read again then.
func (a *Coordinator) SaveList(ctx context.Context, from Lister) error {
	head, err := a.cfg.ChangeFeed.listHead()
	if err != nil {
		return err
	}
	return writeList(a.cfg.ListFile, a.cfg.ChangeFeed.store.alerts.Seals.Files, head, storedRecords(ctx, from))
}

// storedRecords yields the records of the listed alerts.
func storedRecords(ctx context.Context, from Lister) iter.Seq2[any, error] {
	type listed struct {
		State string    `json:"state"`
		Alert alertData `json:"alert"`
	}
	return func(yield func(any, error) bool) {
		for next, more := 0, true; more; more = next != 0 {
			var page []alert.Alert
			var err error
			if page, next, err = from.Listed(ctx, next); err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				r := listed{State: active}
				if page[i].Extended() {
					r.State = activeRule
				}
				if r.Alert, err = newAlertData(page[i]); !yield(&r, err) {
					return
				}
			}
		}
	}
}

// listHead returns the head of a list that is made now or later.
func (t *ChangeFeed) listHead() (listHead, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.skipped {
		return listHead{}, errSkipped
	}
	h := listHead{Stream: t.store.alerts.StreamID(), Through: t.known(), At: t.store.now()}
	r := t.recent
	r.sets = slices.DeleteFunc(slices.Clone(r.sets), func(s alertSeq) bool { return s.seq > h.Through })
	h.setRecent(r)
	return h, nil
}

// indexSaved lists the alerts of the saved list, if there is one that holds, and lets the reading
// begin after it.
func (a *Coordinator) indexSaved(ctx context.Context, e Engine, u *unread) error {
	if a.cfg.ListFile == "" {
		return nil
	}
	box := a.cfg.ChangeFeed.store.alerts.Seals.Files
	head, err := readHead(a.cfg.ListFile, box)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = a.cfg.ChangeFeed.checkHead(&head, u)
	}
	if err != nil {
		a.cfg.Log.InfoContext(ctx, "saved list of alerts not used; reading all alerts", "file", a.cfg.ListFile, "error", err)
		return nil
	}
	if err := a.indexRecords(ctx, e, listRecords(a.cfg.ListFile, box)); err != nil {
		return err
	}
	u.after, u.recent = head.Through, head.recent()
	return nil
}

// checkHead returns why a list does not hold.
func (t *ChangeFeed) checkHead(h *listHead, u *unread) error {
	age := t.store.now().Sub(h.At)
	switch {
	case h.Stream != t.store.alerts.StreamID():
		return errors.New("it is of another stream")
	case h.Through > u.through:
		return errors.New("the servers have lost changes since")
	case age > maxListAge:
		return errors.New("it is too old: " + age.Round(time.Minute).String())
	case age < -maxClockError:
		return errors.New("it is of the future: " + h.At.String())
	}
	return nil
}

// indexRecords lists the alerts of a saved list, in batches.
func (a *Coordinator) indexRecords(ctx context.Context, e Engine, records iter.Seq2[[]byte, error]) error {
	brief := newBriefReader()
	batch := make([]alert.Alert, 0, indexBatch)
	for data, err := range records {
		if err != nil {
			return err
		}
		r, err := brief.decode(data)
		var one alert.Alert
		if err == nil {
			one, err = r.Alert.alert()
		}
		if err != nil {
			a.cfg.ChangeFeed.skip(ctx, "saved list", 0, err)
			continue
		}
		if batch = append(batch, one); len(batch) == indexBatch {
			if err := e.Index(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return e.Index(ctx, batch)
}
