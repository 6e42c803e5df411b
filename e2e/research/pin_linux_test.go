package research

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// pin keeps the test, and what it starts, on one processor until the test ends. It returns the
// command that starts a program on another one, nil if there is no other.
func pin(t *testing.T) (elsewhere []string) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if all.Count() < 2 {
		t.Log("there is one processor: all programs share it")
		return nil
	}
	first := nextProcessor(&all, 0)
	one.Set(first)
	bind(t, &one)
	t.Cleanup(func() { bind(t, &all) })
	return []string{"taskset", "-c", strconv.Itoa(nextProcessor(&all, first+1))}
}

// nextProcessor returns the first processor of a set that is not before from.
func nextProcessor(set *unix.CPUSet, from int) int {
	for !set.IsSet(from) {
		from++
	}
	return from
}

// bind lets every thread of this process, and those that they start, run on a set of processors.
func bind(t *testing.T, set *unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH {
			t.Fatal(err)
		}
	}
}
