package metering_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/metering"
)

// sums adds the lines of a folder up by owner. A line that comes twice is an error.
func sums(t *testing.T, dir string, from, until time.Time) map[string]metering.Line {
	t.Helper()
	all, seen := map[string]metering.Line{}, map[string]bool{}
	for l, err := range metering.Read(dir, from, until) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[l.ID] {
			t.Errorf("line %s comes twice", l.ID)
		}
		seen[l.ID] = true
		sum := all[string(l.Owner)]
		sum.Calls += l.Calls
		sum.Failed += l.Failed
		sum.Milliseconds += l.Milliseconds
		if sum.Tools == nil {
			sum.Tools = map[string]int{}
		}
		for name, n := range l.Tools {
			sum.Tools[name] += n
		}
		all[string(l.Owner)] = sum
	}
	return all
}

// started runs a meter. end stops it and waits until it has written.
func started(dir string) (m *metering.Meter, end func()) {
	m = metering.New(dir, time.Now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	return m, func() { cancel(); running.Wait() }
}

func TestMeter_CountsByTheHour(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "usage")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().UTC().Truncate(time.Hour)
		m, end := started(dir)
		m.Called("ann", "generate_chart", false)
		m.Called("ann", "place_order", true)
		m.Spent("ann", 1500*time.Millisecond)
		time.Sleep(50 * time.Minute)
		m.Called("bob", "list_alerts", false)
		m.Spent("bob", 400*time.Microsecond)
		time.Sleep(11 * time.Minute) // the next hour
		m.Called("ann", "generate_chart", false)
		m.Spent("bob", 700*time.Microsecond) // with the part of a millisecond of before
		end()
		first := sums(t, dir, began, began.Add(time.Hour))
		if a := first["ann"]; a.Calls != 2 || a.Failed != 1 || a.Milliseconds != 1500 || a.Tools["place_order"] != 1 || first["bob"].Calls != 1 {
			t.Errorf("the first hour: %+v", first)
		}
		all := sums(t, dir, time.Time{}, time.Time{})
		if a, b := all["ann"], all["bob"]; a.Calls != 3 || a.Milliseconds != 1500 || a.Tools["generate_chart"] != 2 || b.Calls != 1 || b.Milliseconds > 1 {
			t.Errorf("all: %+v", all)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// Counts that were written survive the end of the process, and a second run in the same hour adds to
// them.
func TestMeter_SurvivesACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		crashed, end := started(dir)
		defer end() // as the test ends; its last counts come too late to be judged
		crashed.Called("ann", "list_alerts", false)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		m, stop := started(dir)
		m.Called("ann", "list_alerts", false)
		stop()
		if a := sums(t, dir, time.Time{}, time.Time{})["ann"]; a.Calls != 2 {
			t.Errorf("%+v", a)
		}
	})
}

// A folder that cannot be written to loses nothing: the counts are in the file of a later hour.
func TestMeter_WritesLater(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "usage")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		m, end := started(dir)
		m.Called("ann", "list_alerts", false)
		time.Sleep(2 * time.Hour)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		m.Called("ann", "list_alerts", false)
		end()
		if a := sums(t, dir, time.Time{}, time.Time{})["ann"]; a.Calls != 2 {
			t.Errorf("%+v", a)
		}
	})
}

func TestMeter_ForgetsOldFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for days := range 3 {
			at := time.Now().UTC().AddDate(0, 0, -399-days)
			line := fmt.Sprintf(`{"id":"%d","hour":%q,"owner":"ann","calls":1}`+"\n", days, at.Format(time.RFC3339))
			if err := os.WriteFile(filepath.Join(dir, at.Format("2006-01-02T15")+"-run.jsonl"), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "README"), []byte("of the operator"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, end := started(dir)
		synctest.Wait()
		end()
		if a := sums(t, dir, time.Time{}, time.Time{})["ann"]; a.Calls != 2 {
			t.Errorf("%+v", a)
		}
		if _, err := os.Stat(filepath.Join(dir, "README")); err != nil {
			t.Error(err)
		}
	})
}

// A crowd counts at the same time; nothing is lost while files are written.
func TestMeter_CountsACrowd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m, end := started(dir)
		var crowd sync.WaitGroup
		for i := range 50 {
			crowd.Go(func() {
				for range 200 {
					m.Called("ann", fmt.Sprint("tool", i), i%2 == 0)
					m.Spent("ann", time.Millisecond)
					time.Sleep(time.Minute)
				}
			})
		}
		crowd.Wait()
		end()
		a := sums(t, dir, time.Time{}, time.Time{})["ann"]
		if a.Calls != 10_000 || a.Failed != 5_000 || a.Milliseconds != 10_000 || len(a.Tools) != 50 {
			t.Errorf("%+v", a)
		}
	})
}
