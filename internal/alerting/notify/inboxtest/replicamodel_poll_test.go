package inboxtest

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// drain compares a poll with the unpolled entries of the model.
func (f *cluster) drain(c *replica, owner principal.Owner) {
	time.Sleep(6 * time.Second) // by then a dead replica is detected
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
		f.unsettled = append(f.unsettled, &unsettledBatch{b, got, c})
	}
	f.polled += len(got)
}

// settle settles a batch as delivered or not.
func (f *cluster) settle() {
	if len(f.unsettled) == 0 {
		return
	}
	i := f.rng.IntN(len(f.unsettled))
	h := f.unsettled[i]
	f.unsettled = slices.Delete(f.unsettled, i, i+1)
	arrived := f.rng.IntN(2) == 0
	owner := h.batch.Entries[0].Owner
	h.batch.Settle(arrived)
	if !arrived {
		f.queue[owner] = append(f.queue[owner], h.seqs...)
	}
}

// end stops a replica or lets it crash.
func (f *cluster) end(c *replica, crash bool) {
	if len(f.replicas) == 1 {
		return
	}
	f.replicas = slices.DeleteFunc(f.replicas, func(other *replica) bool { return other == c })
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
	for _, h := range f.unsettled {
		if h.at == c {
			owner := h.batch.Entries[0].Owner
			f.lost[owner] = append(f.lost[owner], h.seqs)
		}
	}
	f.unsettled = slices.DeleteFunc(f.unsettled, func(h *unsettledBatch) bool { return h.at == c })
	if crash && f.rng.IntN(2) == 0 {
		time.AfterFunc(4*time.Second, c.member.Die) // the others detect it later
	} else {
		c.member.Die()
	}
}

// settleWrites lets settled batches be written before a crash: unwritten ones would be polled again,
// which is correct but hard to model.
func (f *cluster) settleWrites(c *replica) {
	c.store.Fail(nil)
	time.Sleep(1100 * time.Millisecond)
	for _, s := range f.subs { // and something is delivered after that
		if s.at == c {
			f.take(s)
			f.take(s)
		}
	}
}

// mayRepeat allows the next stream to repeat entries delivered in the last two seconds: one between
// two writes of cursors, and one more because writes fail.
func (s *modelSubscriber) mayRepeat(now time.Time) {
	floor := s.deliveredBefore(now.Add(-2 * time.Second))
	if s.shaky {
		floor = min(floor, s.floor) // the stream has not caught up since
	}
	s.shaky, s.floor = true, floor
}

func (s *modelSubscriber) deliveredBefore(t time.Time) uint64 {
	for _, one := range slices.Backward(s.times) {
		if !one.at.After(t) {
			return one.seq
		}
	}
	return 0
}
