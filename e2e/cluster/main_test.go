package cluster

import (
	"flag"
	"os"
	"testing"

	"candela/e2e/build"
)

// natsServer is the server that NATS is made of.
const natsServer = "github.com/nats-io/nats-server/v2"

// programs are those that tests of this package run.
var programs build.Programs

func TestMain(m *testing.M) {
	if base := os.Getenv(listenersVar); base != "" {
		os.Exit(runListeners(base))
	}
	flag.Parse()
	// The tests wait more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(programs.Run(m))
}
