package usage_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"candela/internal/access/usage"
)

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, clock)
	if err != nil {
		panic(err)
	}
	return t
}

func TestTracker_CountsTheDay(t *testing.T) {
	t.Parallel()
	var all usage.Tracker
	evening := at("2026-11-12 23:59:59")
	if u := all.Of("a", evening); !u.Last.IsZero() || u.Today != nil {
		t.Errorf("before a call: %+v", u)
	}
	all.Called("a", "place_order", false, evening.Add(-time.Minute))
	all.Called("a", "place_order", true, evening)
	all.Called("a", "get_positions", false, evening)
	all.Called("", "get_positions", false, evening) // over stdio there is no token
	u := all.Of("a", evening)
	if u.Last != evening || u.Tool != "get_positions" || u.Today["place_order"] != (usage.Count{Calls: 2, Failed: 1}) || len(u.Today) != 2 {
		t.Errorf("%+v", u)
	}
	u.Today["place_order"] = usage.Count{} // a copy
	if got := all.Of("a", evening).Today["place_order"].Calls; got != 2 {
		t.Errorf("a reader changed the count to %d", got)
	}
	if next := all.Of("a", evening.Add(time.Second)); next.Last != evening || next.Today != nil {
		t.Errorf("the next day: %+v", next)
	}
	all.Called("a", "get_orders", false, evening.Add(time.Second))
	if next := all.Of("a", evening.Add(time.Second)); len(next.Today) != 1 || next.Today["get_orders"].Calls != 1 {
		t.Errorf("the next day: %+v", next)
	}
}

func TestTracker_RemembersEndedClients(t *testing.T) {
	t.Parallel()
	var all usage.Tracker
	noon := at("2026-11-12 12:00:00")
	client := func(id string, life time.Duration) usage.Client {
		return usage.Client{ID: id, Key: "key " + id, Name: "Client " + id, Target: "https://a.example", Scope: "trade", Expires: noon.Add(life)}
	}
	all.Know(noon, client("1", time.Hour), client("2", 2*time.Hour), client("3", 3*time.Hour), client("4", 4*time.Hour))
	all.Called("key of nobody", "get_orders", false, noon)
	all.Revoke("2", noon.Add(time.Minute))
	all.Revoke("2", noon.Add(time.Minute)) // a second time
	all.Revoke("unknown", noon.Add(time.Minute))
	all.RevokeAll(noon.Add(90 * time.Minute))
	var got []string
	for _, e := range all.Ended(noon.Add(5 * time.Hour)) {
		got = append(got, e.Name+" "+string(e.Reason)+" "+e.At.Format(time.TimeOnly))
	}
	if len(got) != 4 || got[2] != "Client 1 expired 13:00:00" || got[3] != "Client 2 revoked 12:01:00" {
		t.Errorf("%q", got)
	}
}

func TestTracker_IsBounded(t *testing.T) {
	t.Parallel()
	var all usage.Tracker
	now := at("2026-11-12 12:00:00")
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := range 2000 {
				key := strconv.Itoa(part*2000 + i)
				all.Know(now, usage.Client{ID: key, Key: key, Expires: now.Add(time.Hour)})
				all.Called(key, "tool", false, now.Add(time.Duration(i)))
			}
		})
	}
	group.Wait()
	for i := range 1000 {
		all.Called("one", strconv.Itoa(i), false, now.Add(time.Minute))
	}
	if u := all.Of("one", now.Add(time.Minute)); len(u.Today) > 64 {
		t.Errorf("%d tools", len(u.Today))
	}
	if n := len(all.Ended(now.Add(2 * time.Hour))); n != 50 {
		t.Errorf("%d ended", n)
	}
}
