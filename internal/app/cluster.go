package app

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/serve/admin"
	"candela/internal/store/cluster"
)

const (
	// maxTokens bounds the clients that are let in at all replicas together, however
	// many connections each of those takes.
	maxTokens = 100_000

	// comeBack is when clients are told to come back whose streams a replica ends.
	comeBack = time.Second
)

// shared is what a replica has in common with the others. It is open before any part
// runs, and closed when all have stopped.
type shared struct {
	conn          *cluster.Conn
	tokens        *cluster.Tokens
	draining      atomic.Bool
	sharedTrading // empty without --trade: then nothing has an owner
}

// openShared connects to the servers, reads who was let in, and takes part. Whom
// another passphrase than the owner's let in is out then.
func (rt Runtime) openShared(ctx context.Context, owner *oauth.Passphrase) (s *shared, err error) {
	s = &shared{}
	if s.conn, err = rt.connect(ctx); err != nil {
		return nil, err
	}
	defer func() { //nolint:contextcheck // the end is told even when ctx has ended
		if err != nil {
			s.close()
		}
	}()
	if rt.Config.OAuth.AutoApprove {
		owner = nil // nobody is asked for a passphrase
	}
	if s.tokens, err = s.conn.OpenTokens(ctx, owner, maxTokens, rt.Log); err != nil {
		return nil, err
	}
	if rt.Config.Trade {
		err = s.openTrading(ctx, rt)
	}
	return s, err
}

// replicaName is what the logs of the others call this replica.
func (rt Runtime) replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return net.JoinHostPort(host, strconv.Itoa(rt.Config.HTTP.Port))
}

// connect connects to the servers, and waits a while for some that are not there.
func (rt Runtime) connect(ctx context.Context) (*cluster.Conn, error) {
	return cluster.Await(ctx, cluster.ConfigOf(rt.Config.NATS), rt.Log)
}

// close ends what openShared began.
func (s *shared) close() {
	s.sharedTrading.close()
	if s.tokens != nil {
		s.tokens.Close()
	}
	s.conn.Close()
	s.leaving.Wait()
}

// drain is the part that starts last and stops first. From its start on, with all
// other parts up, the replica owns its share. At its end the replica is not ready any
// more, and the others take over what it owns while it still answers.
func (s *shared) drain(rt Runtime) Part {
	return Part{Name: "drain", Run: func(ctx, hard context.Context, ready func()) error {
		if s.members != nil {
			s.members.Enter(ctx)
		}
		ready()
		<-ctx.Done()
		s.draining.Store(true)
		if s.members == nil {
			return nil
		}
		limited, cancel := context.WithTimeout(hard, rt.Config.ShutdownTimeout/2)
		defer cancel()
		if err := s.handOver(limited); err != nil {
			rt.Log.WarnContext(ctx, "not everything was handed over; the other replicas find out", "error", err)
		}
		return nil
	}}
}

// watched is the replica for the admin listener.
func (s *shared) watched() *admin.Cluster {
	return &admin.Cluster{
		Conn: s.conn.Stats,
		Now: func() admin.Replica {
			r := admin.Replica{Members: 1, Draining: s.draining.Load()}
			if s.members != nil {
				r.Members, r.Beat, r.Owned = s.members.Count(), s.members.Beat(), s.alerts.Owned()
				r.Late = s.members.Late()
				r.Lag = s.tail.Stats().Behind
			}
			return r
		},
	}
}
