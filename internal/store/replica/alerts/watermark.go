package alerts

import "candela/internal/market/provider"

// maxRecent is how many of the newest alerts are known by sequence number.
const maxRecent = 8192

type seriesKey = provider.Sub

// A watermark is the newest evaluated bar of a series. It covers only alerts with a sequence number
// up to knownThrough, those its writer knew, so a stale writer cannot hide bars from newer alerts.
type watermark struct {
	at           int64
	knownThrough uint64 // 0 for all alerts
}

// recentAlerts holds the sequence numbers of the newest alerts. Of others it only knows that they
// are older, which bounds its size.
type recentAlerts struct {
	sets  []alertSeq // ascending
	floor uint64     // alerts not in sets have a sequence number up to it
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

// coverage returns a function that reports whether a watermark covers an alert.
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
