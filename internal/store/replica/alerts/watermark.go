package alerts

import "candela/internal/market/provider"

// maxRecent is how many of the alerts that were set last are known by their number.
const maxRecent = 8192

type seriesKey = provider.Sub

// watermark is up to which bar a series was evaluated, and for which alerts: whoever wrote
// it knew of those with a number up to told. That makes it true whoever wrote it, an
// owner that was stopped for a minute or one that thinks for a moment longer that it
// is one.
type watermark struct {
	at           int64
	knownThrough uint64 // 0 for all there are
}

// recentAlerts is the numbers of the alerts that were set last. Of older ones only that
// they are older is known, which keeps it small however many alerts there are.
type recentAlerts struct {
	sets  []alertSeq // ascending
	floor uint64     // all that are not in sets have a number up to it
}

type alertSeq struct {
	seq uint64
	id  string
}

func (r *recentAlerts) add(seq uint64, id string) {
	if len(r.sets) >= 2*maxRecent {
		r.floor = r.sets[maxRecent-1].seq
		n := copy(r.sets, r.sets[maxRecent:])
		clear(r.sets[n:])
		r.sets = r.sets[:n]
	}
	r.sets = append(r.sets, alertSeq{seq, id})
}

// coverage returns a function that reports whether a mark holds for an alert.
func (r *recentAlerts) coverage() func(id string, m watermark) bool {
	numbers := make(map[string]uint64, len(r.sets))
	for _, s := range r.sets {
		numbers[s.id] = s.seq
	}
	floor := r.floor
	return func(id string, m watermark) bool {
		seq, known := numbers[id]
		if !known {
			seq = floor
		}
		return m.knownThrough == 0 || seq <= m.knownThrough
	}
}
