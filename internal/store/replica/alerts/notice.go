package alerts

import (
	"context"
	"errors"
	"strconv"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func (s *Store) noticeCursor() string { return s.states.Subject(table.NoticedKind, "orders") }

// NoticeCursor returns the number of the last message of orders whose notices are stored here, and false
// if none was ever saved.
func (s *Store) NoticeCursor(ctx context.Context) (uint64, bool, error) {
	m, ok, err := s.states.Latest(ctx, s.noticeCursor())
	if err != nil || !ok || len(m.Data) == 0 {
		return 0, false, conn.Unavailable("read the cursor of notices", err)
	}
	seq, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err != nil {
		return 0, false, conn.Corrupted("read the cursor of notices", err)
	}
	return seq, true, nil
}

// SaveNoticeCursor saves what NoticeCursor returns.
func (s *Store) SaveNoticeCursor(ctx context.Context, seq uint64) error {
	return s.states.WriteAll(ctx, "save the cursor of notices", []conn.Change{{Subject: s.noticeCursor(), Data: strconv.AppendUint(nil, seq, 10)}})
}

// AddNotices stores notices that are not stored yet, each on a subject of its own, which the servers
// accept once. One that is too old to be read is left out.
func (s *Store) AddNotices(ctx context.Context, notices []order.Notice) error {
	for _, n := range notices {
		if s.now().Sub(n.At) >= notify.PollTTL {
			continue
		}
		e := notify.Entry{Owner: n.Owner, Kind: notify.Order, Symbol: n.Symbol, Type: n.Event, At: s.now(), Data: n.Data}
		c, err := s.noticeChange(&e, n.ID)
		if err != nil {
			return err
		}
		c.CompareAndSet = true
		err = s.alerts.RetryWrite(ctx, "store notice", func(ctx context.Context) error {
			_, err := s.alerts.Write(ctx, c)
			if errors.Is(err, conn.ErrConflict) {
				return nil // another replica, or an earlier attempt
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveNotices removes notices. None of them is stored again.
func (s *Store) RemoveNotices(ctx context.Context, notices []order.Notice) error {
	gone := make([]conn.Change, len(notices))
	for i, n := range notices {
		gone[i] = conn.Change{Subject: s.noticeSubject(n.Owner, n.Symbol, n.ID), TTL: table.TombstoneTTL}
	}
	return s.alerts.WriteAll(ctx, "remove notices", gone)
}

func (s *Store) noticeSubject(owner principal.Owner, about market.Symbol, id string) string {
	name := "account"
	if !about.IsZero() {
		name = about.String()
	}
	return s.alerts.OwnerSubject(owner, alertKind, conn.EncodeToken(name), id)
}

// noticeChange returns the message of a notice.
func (s *Store) noticeChange(e *notify.Entry, id string) (conn.Change, error) {
	r := alertRecord{
		State: cancelled, Data: e.Data, End: conn.ChangeInfo{ID: id, At: conn.StoredTime(e.At)},
		Alert: alertData{ID: id, Owner: e.Owner, Symbol: e.Symbol, Instrument: e.Symbol, Type: alert.PriceAbove.String(), Kind: e.StoredType()},
	}
	data, err := r.encode()
	left := max(time.Minute, firedTTL-s.now().Sub(e.At)).Round(time.Second)
	return conn.Change{Subject: s.noticeSubject(e.Owner, e.Symbol, id), Data: data, TTL: left}, err
}
