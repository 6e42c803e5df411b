package owners

import (
	"context"
	"slices"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
)

// Notices are published after the events that they follow from, so an erasure may come between. The
// erasure first writes that it has begun, then reads and removes what there is; a notice is first
// stored, then the record is read, and the notice is removed if an erasure has begun. So either the erasure
// finds the notice, or the notice finds the erasure.

// NoticeLog is the log of notifications, which takes each notice once.
type NoticeLog interface {
	NoticeCursor(ctx context.Context) (uint64, bool, error)
	SaveNoticeCursor(ctx context.Context, seq uint64) error
	AddNotices(ctx context.Context, notices []order.Notice) error
	RemoveNotices(ctx context.Context, notices []order.Notice) error
}

// Notices returns a log that keeps no notices of owners who are erased.
func (s *Store) Notices(to NoticeLog) NoticeLog { return &noticeLog{to, s} }

type noticeLog struct {
	NoticeLog
	owners *Store
}

// AddNotices adds the notices of owners who are there.
func (l *noticeLog) AddNotices(ctx context.Context, notices []order.Notice) error {
	left := slices.DeleteFunc(slices.Clone(notices), func(n order.Notice) bool { return l.owners.Standing(n.Owner).State == owners.Erased })
	if err := l.NoticeLog.AddNotices(ctx, left); err != nil {
		return err
	}
	erased := make(map[principal.Owner]bool)
	for _, n := range left {
		if _, known := erased[n.Owner]; known {
			continue
		}
		r, _, err := l.owners.load(ctx, n.Owner)
		if err != nil {
			return conn.Unavailable("read an owner", err)
		}
		erased[n.Owner] = r.gone()
	}
	gone := slices.DeleteFunc(left, func(n order.Notice) bool { return !erased[n.Owner] })
	if len(gone) == 0 {
		return nil
	}
	return l.RemoveNotices(ctx, gone)
}

// beginErasure writes that an erasure has begun.
func (s *Store) beginErasure(ctx context.Context, id principal.Owner) error {
	_, err := s.changeKnown(ctx, id, func(r *record) ([]conn.Change, error) {
		r.Erasing = true
		return nil, nil
	})
	return err
}
