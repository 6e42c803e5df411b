package ledger_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/store/ledger"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
)

var powercuts = flag.Int("powercuts", longtest.Pick(3, 10), "how often the power of the loop-mounted disk is cut")

// TestPowerCut_Disk runs on an ext4 file system of its own. That needs root, loop
// devices and the first user namespace; where one is missing it has no cases, and
// the log says which. The stage powercut of .ci/run looks at that.
func TestPowerCut_Disk(t *testing.T) {
	disk, err := newDisk(t)
	if err != nil {
		t.Logf("NOT RUN: no disk can be mounted here: %v", err)
		return
	}
	t.Run("cut", func(t *testing.T) { cutPower(t, disk) })
	t.Run("full", func(t *testing.T) { fillDisk(t, disk) })
	t.Run("failed", func(t *testing.T) { failDisk(t, disk) })
}

// TestPowerCut_TornFiles copies the files of a store that is being written and tears what was
// not yet synced: every byte of the log beyond the last acknowledged commit may be
// there, missing or garbage. That a commit syncs is SQLite's promise, and what the
// test above shows.
func TestPowerCut_TornFiles(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), newModel()
	l, err := ledger.Open(t.Context(), dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	wal := ledger.FileName + "-wal"
	for round := range 40 / shorter {
		synced := size(t, filepath.Join(dir, wal))
		before := &model{state: maps.Clone(m.state), doubtful: make(map[string]string)}
		a := newAlert(int64(round))
		before.doubtful[a.ID] = "put"
		if err := l.PutAlert(t.Context(), owner(), a); err != nil {
			t.Fatal(err)
		}
		m.state[a.ID] = "put"
		db, log := read(t, filepath.Join(dir, ledger.FileName)), read(t, filepath.Join(dir, wal))
		if len(log) <= synced {
			continue // the log started again
		}
		cut := synced + rand.IntN(len(log)-synced)
		garbage := bytes.Clone(log)
		for i := cut; i < len(garbage); i++ {
			garbage[i] = byte(rand.Uint32())
		}
		for _, torn := range [][]byte{log[:cut], garbage} {
			copied := t.TempDir()
			place(t, filepath.Join(copied, ledger.FileName), db)
			place(t, filepath.Join(copied, wal), torn)
			(&model{state: maps.Clone(before.state), doubtful: maps.Clone(before.doubtful)}).check(t, copied)
		}
	}
}

func size(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func place(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// disk is an ext4 file system in a file, mounted through a loop device.
type disk struct {
	image string
	mount string
	up    bool
}

// newDisk makes and mounts a disk, and takes it down with the test.
func newDisk(t *testing.T) (*disk, error) {
	t.Helper()
	dir := t.TempDir()
	d := &disk{image: filepath.Join(dir, "image"), mount: filepath.Join(dir, "mount")}
	if err := os.Mkdir(d.mount, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(d.image, 32<<20); err != nil {
		return nil, err
	}
	if err := system(t, "mkfs.ext4", "-q", "-F", d.image); err != nil {
		return nil, err
	}
	t.Cleanup(func() { d.unmount(t) })
	return d, d.attach(t)
}

func (d *disk) attach(t *testing.T) error {
	t.Helper()
	// commit: the journal would otherwise be written every five seconds without
	// being asked to.
	err := system(t, "mount", "-o", "loop,commit=300", d.image, d.mount)
	d.up = err == nil
	return err
}

func (d *disk) unmount(t *testing.T) {
	t.Helper()
	if !d.up {
		return
	}
	if err := system(t, "umount", d.mount); err != nil {
		t.Errorf("a mount is left behind at %s: %v", d.mount, err)
		return
	}
	d.up = false
}

func system(t *testing.T, name string, args ...string) error {
	t.Helper()
	// Not under the test's own context: cleaning up runs after that has ended.
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// cutPower stops a process that writes, takes the image as it is on the disk at
// that moment, without what the file system still holds in memory, and goes on with
// that.
func cutPower(t *testing.T, d *disk) {
	t.Helper()
	home := filepath.Join(d.mount, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := system(t, "sync", "-f", home); err != nil {
		t.Fatal(err)
	}
	m, heard, taken := newModel(), 0, 0
	for i := range *powercuts {
		child, lines := startWriter(t, home)
		said := listen(lines)
		<-said.began
		if i%2 == 0 {
			<-said.acknowledged // however slow the disk is
		}
		time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
		stop(t, child)
		// A name of its own: one that is written over is written out at once.
		unsynced := filepath.Join(d.mount, fmt.Sprintf("unsynced-%d", i))
		place(t, unsynced, []byte("in memory"))
		cut := read(t, d.image)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		heard += m.hear(said.all(t))
		_ = child.Wait() // killed, as it says
		d.unmount(t)
		place(t, d.image, cut)
		if err := d.attach(t); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(unsynced); err != nil || len(data) == 0 {
			taken++
		}
		m.check(t, home)
		if t.Failed() {
			return
		}
	}
	if heard == 0 {
		t.Fatal("no write was acknowledged: nothing was tested")
	}
	// The system may write a file out by itself just then, but not each time.
	if taken == 0 {
		t.Fatal("what was never synced survived every cut: these are no power cuts")
	}
	t.Logf("%d power cuts, %d acknowledged changes, none lost; an unsynced file was lost in %d", *powercuts, heard, taken)
}

// stop freezes a process and waits until it stands still.
func stop(t *testing.T, child *exec.Cmd) {
	t.Helper()
	if err := child.Process.Signal(sigstop); err != nil {
		t.Fatal(err)
	}
	for range 120_000 { // two minutes: the disk may be slow
		if standsStill(t, child.Process.Pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the writer does not stop")
}

// standsStill reports whether every thread has stopped: one that is in the middle of
// a sync does so when that is done.
func standsStill(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if _, state, _ := strings.Cut(string(status), ") "); err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// fillDisk writes until the disk is full: the fault says so, nothing is torn, and
// with space the store goes on.
func fillDisk(t *testing.T, d *disk) {
	t.Helper()
	home := filepath.Join(d.mount, "full")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, home)
	a := newAlert(1)
	if err := l.PutAlert(t.Context(), owner(), a); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(d.mount, "ballast")
	_ = os.WriteFile(ballast, make([]byte, 64<<20), 0o600) // until there is no room
	m := newModel()
	m.state[a.ID] = "put"
	var err error
	for range 1000 {
		b := newAlert(2)
		b.Note = strings.Repeat("x", 4000)
		if err = l.PutAlert(t.Context(), owner(), b); err != nil {
			m.doubtful[b.ID] = "put"
			break
		}
		m.state[b.ID] = "put"
	}
	if e := fault.Of(err); e == nil || e.Kind != fault.Unavailable || e.Code != "store_full" {
		t.Errorf("a full disk gives %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c := newAlert(3)
	if err := l.PutAlert(t.Context(), owner(), c); err != nil {
		t.Errorf("with space again: %v", err)
	}
	m.state[c.ID] = "put"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	m.check(t, home)
}

// failDisk takes the disk away under the store, as the kernel does when it fails.
func failDisk(t *testing.T, d *disk) {
	t.Helper()
	home := filepath.Join(d.mount, "failed")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := newAlert(1)
	if err := l.PutAlert(t.Context(), owner(), a); err != nil {
		t.Fatal(err)
	}
	// The journal is given up, as after a write that failed.
	if err := system(t, "mount", "-o", "remount,abort", d.mount); err != nil {
		t.Error(err)
	}
	err = l.PutAlert(t.Context(), owner(), newAlert(2))
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a failed disk gives %v", err)
	}
	again := l.PutAlert(t.Context(), owner(), newAlert(3))
	if fault.KindOf(again) != fault.Unavailable {
		t.Errorf("the next write gives %v", again)
	}
	t.Logf("first %v; then %v", err, again)
	_ = l.Close() // the disk is gone
	d.unmount(t)
	if err := d.attach(t); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	m.state[a.ID] = "put"
	for a := range open(t, home).Alerts(t.Context()) {
		if m.state[a.ID] == "" {
			t.Logf("a change with an unknown outcome is there: %s", a.ID)
		}
		delete(m.state, a.ID)
	}
	if len(m.state) > 0 {
		t.Error("the acknowledged alert is lost")
	}
}
