package admin

import (
	"fmt"
	"strings"
	"time"
)

// Part is the readiness of one part of the program.
type Part struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // if not ready
}

// parts returns the readiness of each part.
func (c *Config) parts() map[string]Part {
	all := map[string]Part{"server": because(c.Listening(), "not serving clients: the program is starting or stopping")}
	if c.Cluster != nil {
		all["nats"], all["replica"] = c.nats(), because(!c.Cluster.Now().Draining, "the replica is draining")
	}
	if c.Trading != nil {
		c.trading(all)
	}
	return all
}

// deaf is how long the NATS servers may accept no heartbeat. The election of a new leader
// takes up to eight seconds.
const deaf = 10 * time.Second

// nats is ready while the servers respond and accept writes.
func (c *Config) nats() Part {
	now := c.Cluster.Now()
	if !c.Cluster.Conn().Connected {
		return because(false, "no connection to a NATS server")
	}
	if now.Late {
		return because(false, "the clocks of this machine and the NATS servers differ by more than a minute: synchronise them with NTP")
	}
	silent := c.Now().Sub(now.Beat)
	return because(now.Beat.IsZero() || silent < deaf, fmt.Sprintf("the NATS servers have accepted no write for %v", silent.Round(time.Second)))
}

func (c *Config) trading(all map[string]Part) {
	t := c.Trading
	if t.Store != nil {
		switch stats, open := t.Store(); {
		case !open:
			all["store"] = because(false, "the store is not open")
		default:
			all["store"] = because(stats.Failing == "", "the last commit failed: "+stats.Failing)
		}
	}
	e := t.Engine()
	switch {
	case !e.Running:
		all["engine"] = because(false, "the engine is not running")
	case e.Failure != "":
		all["engine"] = because(false, fmt.Sprintf("%d fired alerts are not committed", e.Uncommitted))
	default:
		all["engine"] = because(e.Loading == 0, fmt.Sprintf("%d of %d prices and series are not loaded; their alerts are not evaluated", e.Loading, e.Prices+e.Series))
	}
	all["feeds"] = because(len(e.LaggingVenues) == 0, "no bars from "+strings.Join(e.LaggingVenues, ", "))
	d, here := t.Desk()
	switch {
	case !here: // another replica reports it
	case !d.Reconciled:
		all["broker"] = because(false, "the account is not reconciled with the venue since the start; orders are denied")
	default:
		all["broker"] = because(d.Connected, "the venue's report stream is down")
	}
}

func because(ready bool, reason string) Part {
	if ready {
		reason = ""
	}
	return Part{ready, reason}
}
