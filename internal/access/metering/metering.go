// Package metering counts what the owners of a server for many use, by the hour, and keeps the
// counts in files, for a host that charges for them or plans with them.
package metering

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/disk"
	"candela/internal/kit/principal"
)

const (
	// every is how often the counts of the hour are written: a crash loses those since.
	every = 5 * time.Minute
	// keep is how long files are kept.
	keep = 400 * 24 * time.Hour
	// maxTools bounds the tools that are counted for one owner.
	maxTools = 64
)

// Line is what one owner used in an hour, at one run of one program.
type Line struct {
	ID           string          `json:"id"` // hour, run and owner: a line that was read before has the same
	Hour         time.Time       `json:"hour"`
	Owner        principal.Owner `json:"owner"`
	Calls        int             `json:"calls"`
	Failed       int             `json:"failed"`       // of the calls, those that returned an error
	Milliseconds int64           `json:"processor_ms"` // charts, indicators, scripts and back-tests
	Tools        map[string]int  `json:"tools"`        // calls by tool
}

// Meter counts. It is safe for concurrent use.
type Meter struct {
	dir string
	run string // differs at every start
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	hour    time.Time
	owners  map[principal.Owner]*count
	written []Line // in the file of the hour
}

type count struct {
	calls, failed int
	spent         time.Duration
	tools         map[string]int
}

// New returns a meter that writes into a folder, which it makes.
func New(dir string, now func() time.Time, log *slog.Logger) *Meter {
	return &Meter{dir: dir, run: rand.Text()[:10], now: now, log: log, hour: hourOf(now()), owners: map[principal.Owner]*count{}}
}

func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// Called counts a call of a tool.
func (m *Meter) Called(owner principal.Owner, tool string, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.count(owner)
	c.calls++
	if failed {
		c.failed++
	}
	if _, known := c.tools[tool]; known || len(c.tools) < maxTools {
		c.tools[tool]++
	}
}

// Spent counts time at a processor.
func (m *Meter) Spent(owner principal.Owner, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(owner).spent += took
}

// SpentThisHour returns an owner's time at a processor since the hour began, here since the start, and when the next hour begins.
func (m *Meter) SpentThisHour(owner principal.Owner) (took time.Duration, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hour := hourOf(m.now())
	if c := m.owners[owner]; c != nil && hour.Equal(m.hour) {
		took = c.spent
	}
	return took, hour.Add(time.Hour)
}

// Used returns how many owners have used something in the hour that is counted.
func (m *Meter) Used() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.owners)
}

func (m *Meter) count(owner principal.Owner) *count {
	c := m.owners[owner]
	if c == nil {
		c = &count{tools: map[string]int{}}
		m.owners[owner] = c
	}
	return c
}

// Run writes the counts from time to time, and once more when ctx ends.
func (m *Meter) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	m.prune(ctx)
	for {
		next := time.NewTimer(m.left())
		select {
		case <-tick.C:
			m.write(ctx)
		case <-next.C:
			m.write(ctx)
			m.prune(ctx)
		case <-ctx.Done():
			next.Stop()
			m.write(context.WithoutCancel(ctx))
			return
		}
		next.Stop()
	}
}

// left returns how long the hour that is counted lasts.
func (m *Meter) left() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hour.Add(time.Hour).Sub(m.now())
}

// write replaces the file of the hour. When the hour is over, counting begins again with what is
// not in its file.
func (m *Meter) write(ctx context.Context) {
	m.mu.Lock()
	hour, lines := m.hour, m.lines()
	m.mu.Unlock()
	err := m.replace(hour, lines)
	if err != nil {
		m.log.ErrorContext(ctx, "usage of owners not written", "error", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.written = lines
	}
	if now := hourOf(m.now()); now.After(m.hour) {
		m.subtract(m.written)
		m.hour, m.written = now, nil
	}
}

// lines returns the counts, by owner.
func (m *Meter) lines() []Line {
	all := make([]Line, 0, len(m.owners))
	for _, owner := range slices.Sorted(maps.Keys(m.owners)) {
		c := m.owners[owner]
		all = append(all, Line{
			ID: fmt.Sprintf("%s-%s-%s", m.hour.Format(hourForm), m.run, owner), Hour: m.hour, Owner: owner,
			Calls: c.calls, Failed: c.failed, Milliseconds: c.spent.Milliseconds(), Tools: maps.Clone(c.tools),
		})
	}
	return all
}

// subtract removes what was written. What came while it was written stays.
func (m *Meter) subtract(written []Line) {
	for _, l := range written {
		c := m.owners[l.Owner]
		c.calls -= l.Calls
		c.failed -= l.Failed
		c.spent -= time.Duration(l.Milliseconds) * time.Millisecond
		for name, n := range l.Tools {
			if c.tools[name] -= n; c.tools[name] == 0 {
				delete(c.tools, name)
			}
		}
		if c.calls == 0 && c.spent < time.Millisecond {
			delete(m.owners, l.Owner)
		}
	}
}

func (m *Meter) replace(hour time.Time, lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	var body bytes.Buffer
	encode := json.NewEncoder(&body)
	for i := range lines {
		if err := encode.Encode(&lines[i]); err != nil {
			return err
		}
	}
	return disk.Replace(filepath.Join(m.dir, nameOf(hour, m.run)), body.Bytes())
}

// prune removes files that are too old.
func (m *Meter) prune(ctx context.Context) {
	files, err := list(m.dir)
	if err != nil {
		m.log.ErrorContext(ctx, "usage of owners not listed", "error", err)
		return
	}
	for _, f := range files {
		if f.hour.Add(keep).Before(m.now()) {
			if err := os.Remove(f.path); err != nil {
				m.log.ErrorContext(ctx, "old usage of owners not removed", "error", err)
			}
		}
	}
}
