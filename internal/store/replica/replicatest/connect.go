package replicatest

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
)

// control changes a connection during a test.
type control struct {
	natstest.Faults

	offset atomic.Int64 // of its clock, in nanoseconds
}

var controls sync.Map //nolint:gochecknoglobals // *conn.Conn to *control, for the tests of one process

func controlOf(c *conn.Conn) *control {
	found, ok := controls.Load(c)
	if !ok {
		panic("replicatest: the connection was not made by Connect")
	}
	return found.(*control) //nolint:forcetypeassert,errcheck // the map holds nothing else
}

// Connect connects to servers under a prefix and closes the connection with the test.
func Connect(tb testing.TB, to *natstest.Cluster, prefix string) *conn.Conn {
	tb.Helper()
	return ConnectAt(tb, to.URL(), prefix)
}

// ConnectAt is Connect for an address.
func ConnectAt(tb testing.TB, url, prefix string) *conn.Conn {
	tb.Helper()
	return connect(tb, url, prefix, false)
}

// ConnectMany is Connect for an installation with many owners.
func ConnectMany(tb testing.TB, to *natstest.Cluster, prefix string) *conn.Conn {
	tb.Helper()
	return connect(tb, to.URL(), prefix, true)
}

func connect(tb testing.TB, url, prefix string, many bool) *conn.Conn {
	tb.Helper()
	with := new(control)
	cfg := conn.Config{
		URL: url, Prefix: prefix, AllowSingle: true, Secret: natstest.Secret(), Dialer: with, ManyOwners: many,
		Now: func() time.Time { return time.Now().Add(time.Duration(with.offset.Load())) },
	}
	c, err := Insist(tb, func() (*conn.Conn, error) { return conn.Connect(tb.Context(), cfg, Quiet()) })
	if err != nil {
		tb.Fatal(err)
	}
	controls.Store(c, with)
	tb.Cleanup(func() {
		c.Close()
		controls.Delete(c)
	})
	c.RetryFor = Patience
	return c
}

// PrefixOf returns the prefix of a connection.
func PrefixOf(c *conn.Conn) string { return strings.TrimSuffix(c.Subject(""), ".") }

// DropCompareAndSet makes the servers accept every change of a connection, whatever its revision:
// they do not recognise the header.
func DropCompareAndSet(c *conn.Conn) {
	for _, header := range []string{jetstream.ExpectedLastSubjSeqHeader, jetstream.ExpectedLastSeqHeader} {
		controlOf(c).Replace(header+":", "X"+header[1:]+":", -1)
	}
}

// StaleReads makes the next reads of a latest message find nothing, like a lagging server: they
// ask for the subject of another prefix.
func StaleReads(c *conn.Conn, reads int) {
	from := `"last_by_subj":"` + c.Subject("")
	controlOf(c).Replace(from, from[:len(from)-2]+"~.", reads)
}

// HoldHeartbeats withholds a replica's heartbeats from the others until release is called. For the replica itself the
// servers answer, as for one whose heartbeats come too late.
func HoldHeartbeats(m *member.Group) (release func()) {
	c := m.Conn()
	pass := controlOf(c).Replace(c.Subject("member."), c.Subject("nobody."), -1)
	tick, end := time.NewTicker(time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				c.Heard()
			}
		}
	}()
	return sync.OnceFunc(func() {
		tick.Stop()
		close(end)
		pass()
	})
}

// ShiftClock sets the error of a connection's clock.
func ShiftClock(c *conn.Conn, by time.Duration) { controlOf(c).offset.Store(int64(by)) }

// ConnectRaw connects to servers as a client that is not a replica.
func ConnectRaw(tb testing.TB, c *natstest.Cluster) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(c.URL(), nats.Timeout(Patience))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// Admin returns JetStream for a client that is not a replica.
func Admin(tb testing.TB, c *natstest.Cluster) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(ConnectRaw(tb, c), jetstream.WithDefaultTimeout(Patience))
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

// WriteUnreadable writes messages that cannot be decoded.
func WriteUnreadable(tb testing.TB, to *natstest.Cluster, subjects ...string) {
	tb.Helper()
	js := Admin(tb, to)
	for _, subject := range subjects {
		if _, err := js.Publish(tb.Context(), subject, []byte("{no")); err != nil {
			tb.Fatal(err)
		}
	}
}
