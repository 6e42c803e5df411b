package natstest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is three servers for all tests of a package. They start with the first user.
type Shared struct {
	once    sync.Once
	dir     string
	servers *Cluster
	err     error
}

// Servers returns the servers. It is safe for concurrent use.
func (s *Shared) Servers() (*Cluster, error) {
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "candela-nats"); s.err == nil {
			s.servers, s.err = Start(s.dir, 3)
		}
	})
	return s.servers, s.err
}

// Main runs the tests of a package, stops the servers and returns the exit code. A leaked
// goroutine is a failure.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.servers != nil && s.err == nil {
		s.servers.Stop()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	if err := Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
