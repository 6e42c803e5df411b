package admin

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// runtimeMetric is a metric of the Go runtime or the process.
type runtimeMetric struct {
	metric
	sum []string // the runtime's own measures that it is the sum of, if any
}

// runtimeTable lists the metrics of the Go runtime and the process under their usual
// names. docs/operations.md lists only candela's own.
func runtimeTable() []runtimeMetric {
	return []runtimeMetric{
		{metric{"go_info", gauge, []string{"version"}, "Always 1; the version of Go.", always}, nil},
		{metric{"go_goroutines", gauge, nil, "Goroutines that exist.", always}, []string{"/sched/goroutines:goroutines"}},
		{metric{"go_threads", gauge, nil, "Threads of the operating system.", always}, nil},
		{metric{"go_sched_gomaxprocs_threads", gauge, nil, "Threads that run Go code at a time.", always}, []string{"/sched/gomaxprocs:threads"}},
		{metric{"go_gc_cycles_total", counter, nil, "Garbage collections that were finished.", always}, []string{"/gc/cycles/total:gc-cycles"}},
		{metric{"go_memstats_alloc_bytes_total", counter, nil, "Bytes that were allocated.", always}, []string{"/gc/heap/allocs:bytes"}},
		{metric{"go_memstats_mallocs_total", counter, nil, "Objects that were allocated.", always}, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
		{metric{"go_memstats_heap_objects", gauge, nil, "Objects on the heap.", always}, []string{"/gc/heap/objects:objects"}},
		{metric{"go_memstats_heap_alloc_bytes", gauge, nil, "Bytes of objects on the heap.", always}, []string{"/memory/classes/heap/objects:bytes"}},
		{metric{"go_memstats_heap_inuse_bytes", gauge, nil, "Bytes of spans that hold objects.", always}, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
		{metric{"go_memstats_heap_released_bytes", gauge, nil, "Bytes that were given back to the system.", always}, []string{"/memory/classes/heap/released:bytes"}},
		{metric{"go_memstats_next_gc_bytes", gauge, nil, "Size of the heap at which the next collection begins.", always}, []string{"/gc/heap/goal:bytes"}},
		{metric{"go_memstats_stack_inuse_bytes", gauge, nil, "Bytes of stacks.", always}, []string{"/memory/classes/heap/stacks:bytes"}},
		{metric{"go_memstats_sys_bytes", gauge, nil, "Bytes that the runtime has from the system.", always}, []string{"/memory/classes/total:bytes"}},
		{metric{"process_cpu_seconds_total", counter, nil, "Time on processors, of the program and of the system for it.", always}, nil},
		{metric{"process_resident_memory_bytes", gauge, nil, "Memory that is in use.", always}, nil},
		{metric{"process_virtual_memory_bytes", gauge, nil, "Addresses that are in use.", always}, nil},
		{metric{"process_open_fds", gauge, nil, "Files that are open.", always}, nil},
		{metric{"process_max_fds", gauge, nil, "Files that may be open.", always}, nil},
		{metric{"process_start_time_seconds", gauge, nil, "When the process began, since 1970.", always}, nil},
	}
}

// readRuntime reads the metrics of the Go runtime without stopping it.
func readRuntime(t *text) {
	var reads []metrics.Sample
	for _, m := range runtimeTable() {
		for _, name := range m.sum {
			reads = append(reads, metrics.Sample{Name: name})
		}
	}
	metrics.Read(reads)
	for _, m := range runtimeTable() {
		sum, known := 0.0, len(m.sum) > 0
		for _, one := range reads[:len(m.sum)] {
			if known = known && one.Value.Kind() == metrics.KindUint64; known {
				sum += float64(one.Value.Uint64())
			}
		}
		if reads = reads[len(m.sum):]; known {
			t.add(m.name, sample{value: sum})
		}
	}
	t.add("go_info", sample{labels: labels([]string{"version"}, []string{runtime.Version()}), value: 1})
}

// ticks is the number of clock ticks per second in Linux's /proc files.
const ticks = 100

// readProcess reads the metrics of the process from /proc, on Linux only.
func readProcess(t *text, began time.Time) {
	t.add("process_start_time_seconds", sample{value: float64(began.UnixMilli()) / 1000})
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The program name, in parentheses, may contain spaces.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		number := func(i int) float64 { // field numbers of proc(5)
			if i-3 >= len(fields) {
				return 0
			}
			n, _ := strconv.ParseFloat(fields[i-3], 64) // the kernel wrote it
			return n
		}
		t.add("process_cpu_seconds_total", sample{value: (number(14) + number(15)) / ticks})
		t.add("go_threads", sample{value: number(20)})
		t.add("process_virtual_memory_bytes", sample{value: number(23)})
		t.add("process_resident_memory_bytes", sample{value: number(24) * float64(os.Getpagesize())})
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		t.add("process_open_fds", sample{value: float64(len(files) - 1)}) // without the one that reads the folder
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		for line := range strings.Lines(string(limits)) {
			if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
				if n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64); err == nil {
					t.add("process_max_fds", sample{value: n})
				}
			}
		}
	}
}
