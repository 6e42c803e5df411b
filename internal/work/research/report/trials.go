package report

import (
	"slices"
	"sync"
	"time"
)

// Bounds of a counter of trials.
const (
	countFor   = 30 * 24 * time.Hour
	mostShapes = 10_000
)

// Trials counts how often an owner has tried rules of one shape on a symbol, over calls, for
// thirty days or since the start of the program. It is safe for concurrent use.
type Trials struct {
	Now func() time.Time

	mu     sync.Mutex
	shapes map[string][]tried
}

type tried struct {
	at time.Time
	n  int
}

// Add counts n more trials of a shape, which names its owner, and returns how many there
// were with them, and since when.
func (t *Trials) Add(shape string, n int) (total int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	if t.shapes == nil || len(t.shapes) >= mostShapes {
		t.shapes = map[string][]tried{}
	}
	all := slices.DeleteFunc(t.shapes[shape], func(e tried) bool { return now.Sub(e.at) > countFor })
	if last := len(all) - 1; last >= 0 && now.Sub(all[last].at) < time.Hour {
		all[last].n += n // so that a shape has few entries
	} else {
		all = append(all, tried{now, n})
	}
	t.shapes[shape] = all
	for _, e := range all {
		total += e.n
	}
	return total, all[0].at
}
