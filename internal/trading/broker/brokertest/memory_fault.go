package brokertest

import (
	"context"
	"fmt"
	"time"

	"candela/internal/trading/broker"
	"candela/lib/fault"
)

// Fault is what becomes of a Submit or Cancel. The zero value lets it through.
type Fault struct {
	Fate error // one of broker.ErrNotSent, ErrRejected and ErrUnknown
	Done bool  // it is done all the same
	Hang bool  // nothing comes until the context ends

	Late time.Duration // no answer comes, and it arrives after so long; with it Fate is broker.ErrUnknown

	Passing bool // of a refusal: it is not about the order, as broker.Passing says
}

// Fail applies the faults to the next requests that change something, one to each.
func (m *Memory) Fail(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, faults...)
}

// Calm ends the faults that no request has met.
func (m *Memory) Calm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = nil
}

// change runs a request that changes something, as the faults have it.
func change[T any](ctx context.Context, m *Memory, do func() (T, error)) (T, error) {
	var r, none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("memory: %w: %w", broker.ErrNotSent, err)
	}
	m.mu.Lock()
	m.running++
	m.most = max(m.most, m.running)
	defer func() {
		m.mu.Lock()
		m.running--
		m.mu.Unlock()
	}()
	var f Fault
	if len(m.faults) > 0 {
		f, m.faults = m.faults[0], m.faults[1:]
	}
	var err error
	if f.Late > 0 {
		m.postpone(f.Late, func() { _, _ = do() })
	}
	if f.Done || f.Fate == nil && !f.Hang {
		r, err = do()
	}
	m.mu.Unlock()
	if f.Hang {
		select {
		case <-ctx.Done():
			return none, fmt.Errorf("memory: %w: %w", broker.ErrUnknown, ctx.Err())
		case <-time.After(15 * time.Second):
			return none, fmt.Errorf("memory: %w: no answer", broker.ErrUnknown)
		}
	}
	if f.Fate != nil && f.Passing {
		return none, fmt.Errorf("memory: %w: %w", f.Fate, fault.Unreachable(nil, 0, "as the test has it"))
	}
	if f.Fate != nil {
		return none, fmt.Errorf("memory: %w: as the test has it", f.Fate)
	}
	return r, err
}
