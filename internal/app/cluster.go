package app

import (
	"context"
	"time"

	"candela/internal/cluster"
	"candela/internal/fault"
)

// awaitServers is how long a replica waits at its start for NATS servers that do
// not answer: they may have been started with it.
const (
	awaitServers = 30 * time.Second
	askServers   = time.Second
)

// shared is what a replica has in common with the others.
type shared struct {
	conn   *cluster.Conn
	tokens *cluster.Tokens
}

// openShared connects to the servers and reads who was let in.
func (rt Runtime) openShared(ctx context.Context) (*shared, error) {
	s := &shared{}
	var err error
	if s.conn, err = rt.connect(ctx); err != nil {
		return nil, err
	}
	if s.tokens, err = s.conn.OpenTokens(ctx, rt.Config.HTTP.MaxConnections, rt.Log); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// connect connects to the servers, and waits a while for some that are not there.
func (rt Runtime) connect(ctx context.Context) (*cluster.Conn, error) {
	n := rt.Config.NATS
	cfg := cluster.Config{
		URL: n.URL, Credentials: n.Credentials, CA: n.CA, Cert: n.Cert, Key: n.Key, Prefix: n.Prefix, AllowSingle: n.AllowSingle,
	}
	for began := time.Now(); ; {
		conn, err := cluster.Connect(ctx, cfg, rt.Log)
		if err == nil || fault.KindOf(err) != fault.Unavailable || time.Since(began) > awaitServers {
			return conn, err
		}
		rt.Log.WarnContext(ctx, "no NATS server answers yet", "error", err)
		timer := time.NewTimer(askServers)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// close ends what openShared began.
func (s *shared) close() {
	s.tokens.Close()
	s.conn.Close()
}
