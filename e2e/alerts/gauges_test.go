package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"candela/internal/app"
	"candela/internal/config"
)

// gaugesVar makes the test binary run the program and serve its gauges at the address in
// it. The program itself does not serve them.
const gaugesVar = "CANDELA_TEST_GAUGES"

// gauges are what a process holds.
type gauges struct {
	Heap       uint64 `json:"heap"` // bytes in use, after a collection
	Goroutines int    `json:"goroutines"`
	Files      int    `json:"files"` // descriptors
}

func (g gauges) String() string {
	return fmt.Sprintf("%.1f MB, %d goroutines, %d files", float64(g.Heap)/1e6, g.Goroutines, g.Files)
}

// runWithGauges is the program with the arguments of this process.
func runWithGauges(address string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		runtime.GC()
		runtime.GC() // what finalizers let go
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		files, _ := os.ReadDir("/proc/self/fd")
		_ = json.NewEncoder(w).Encode(gauges{m.HeapAlloc, runtime.NumGoroutine(), len(files)})
	})}
	go func() { _ = server.ListenAndServe() }()
	cfg, err := app.LoadConfig(config.Input{Args: os.Args[1:]})
	if err == nil {
		err = app.Run(ctx, cfg, app.Deps{Version: "soak", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Services: app.Wired()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
