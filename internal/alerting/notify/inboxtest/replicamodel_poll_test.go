package inboxtest

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// drain compares what a polling call gets with what nobody has.
func (f *fleet) drain(c *craft, owner string) {
	time.Sleep(6 * time.Second) // by then a replica that died is known to have
	b, err := c.Poll(f.t.Context(), principal.Caller{Subject: owner, Key: "poller"}, 0, notify.Bound{})
	f.must(err)
	var got []uint64
	for _, e := range b.Entries {
		got = append(got, e.Seq)
	}
	want, rest := []uint64(nil), []uint64(nil)
	for _, seqs := range f.lost[owner] {
		f.queue[owner] = append(f.queue[owner], seqs...)
	}
	delete(f.lost, owner)
	for _, seq := range f.queue[owner] {
		if c.has(seq) {
			want = append(want, seq)
		} else {
			rest = append(rest, seq)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.fail("%s polled %v, want %v", c.member.Self(), got, want)
	}
	f.queue[owner] = rest
	if len(got) > 0 {
		f.hauls = append(f.hauls, &haul{b, got, c})
	}
	f.polled += len(got)
}

// settle says of a batch that it arrived or did not.
func (f *fleet) settle() {
	if len(f.hauls) == 0 {
		return
	}
	i := f.rng.IntN(len(f.hauls))
	h := f.hauls[i]
	f.hauls = slices.Delete(f.hauls, i, i+1)
	arrived := f.rng.IntN(2) == 0
	owner := h.batch.Entries[0].Owner
	h.batch.Settle(arrived)
	if !arrived {
		f.queue[owner] = append(f.queue[owner], h.seqs...)
	}
}

// end ends a replica, in order or not.
func (f *fleet) end(c *craft, crash bool) {
	if len(f.crafts) == 1 {
		return
	}
	f.crafts = slices.DeleteFunc(f.crafts, func(other *craft) bool { return other == c })
	if crash {
		f.settleWrites(c)
		f.crashed = time.Now()
		c.store.Close()
	}
	for _, s := range f.subs {
		if s.at != c {
			continue
		}
		if s.model.connected = false; crash {
			s.mayRepeat(time.Now())
		} else {
			s.stream.Close()
		}
		s.stream, s.at = nil, nil
	}
	if !crash {
		c.store.Fail(nil)
	}
	c.halt()
	for _, h := range f.hauls {
		if h.at == c {
			owner := h.batch.Entries[0].Owner
			f.lost[owner] = append(f.lost[owner], h.seqs)
		}
	}
	f.hauls = slices.DeleteFunc(f.hauls, func(h *haul) bool { return h.at == c })
	if crash && f.rng.IntN(2) == 0 {
		time.AfterFunc(4*time.Second, c.member.Die) // the others take a while to find out
	} else {
		c.member.Die()
	}
}

// settleWrites lets settled batches be written before a crash: one that is not would
// be polled again, which is right and hard to foretell.
func (f *fleet) settleWrites(c *craft) {
	c.store.Fail(nil)
	time.Sleep(1100 * time.Millisecond)
	for _, s := range f.subs { // and something is delivered after that
		if s.at == c {
			f.take(s)
			f.take(s)
		}
	}
}

// mayRepeat allows the next stream to repeat what was delivered in the last two seconds: one
// between two writes of cursors, and one more because writes fail.
func (s *sailor) mayRepeat(now time.Time) {
	floor := s.deliveredBefore(now.Add(-2 * time.Second))
	if s.shaky {
		floor = min(floor, s.floor) // the stream has not caught up since
	}
	s.shaky, s.floor = true, floor
}

func (s *sailor) deliveredBefore(t time.Time) uint64 {
	for _, one := range slices.Backward(s.times) {
		if !one.at.After(t) {
			return one.seq
		}
	}
	return 0
}
