package brokertest

import (
	"context"
	"fmt"
	"maps"

	"github.com/shopspring/decimal"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
)

// Swapping is a Memory that ends orders and places others in one step.
type Swapping struct{ *Memory }

var _ broker.Swapper = Swapping{}

// Swap cancels orders and takes others, all or nothing, unless a fault says otherwise.
func (s Swapping) Swap(ctx context.Context, ended []order.Handle, groups [][]order.Spec) (broker.Swapped, error) {
	return change(ctx, s.Memory, func() (broker.Swapped, error) {
		restore := s.save()
		done, err := s.swap(ended, groups)
		if err != nil {
			restore()
		}
		return done, err
	})
}

func (s Swapping) swap(ended []order.Handle, groups [][]order.Spec) (broker.Swapped, error) {
	var done broker.Swapped
	for _, group := range groups {
		for _, o := range group {
			if s.find(o.ID) != nil {
				return done, fmt.Errorf("memory: %w: the id %s is taken", broker.ErrUnknown, o.ID)
			}
		}
	}
	for _, h := range ended {
		r := s.named(h)
		if r == nil || !open(r.Status) && r.Status != order.Held {
			return done, fmt.Errorf("memory: %w: %s is not open", broker.ErrRejected, h)
		}
	}
	for _, h := range ended {
		r := s.named(h)
		s.end(r, order.Canceled, "")
		done.Ended = append(done.Ended, *r)
	}
	for _, group := range groups {
		var reports []order.Report
		var err error
		if len(group) == 1 {
			reports = make([]order.Report, 1)
			reports[0], err = s.checked(group[0])
		} else {
			reports, err = s.checkedGroup(group)
		}
		if err != nil {
			return done, err
		}
		done.Placed = append(done.Placed, reports)
	}
	return done, nil
}

// save returns what puts the venue back to where it is. The caller holds the lock until then.
func (m *Memory) save() (restore func()) {
	reports, balance := make([]order.Report, len(m.orders)), make(map[string]decimal.Decimal)
	for i, r := range m.orders {
		reports[i] = *r
	}
	maps.Copy(balance, m.balance)
	trades, last, sent := len(m.trades), m.last, make(map[*queue]int)
	for q := range m.streams {
		sent[q] = len(q.reports)
	}
	return func() {
		for i, r := range reports {
			*m.orders[i] = r
		}
		m.orders, m.balance, m.trades, m.last = m.orders[:len(reports)], balance, m.trades[:trades], last
		for q, n := range sent {
			q.reports = q.reports[:n]
		}
	}
}
