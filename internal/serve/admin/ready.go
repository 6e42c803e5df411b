package admin

import (
	"fmt"
	"strings"
	"time"
)

// Part is the state of one part of the program.
type Part struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why it is not
}

// parts says of each part whether it does what it should.
func (c *Config) parts() map[string]Part {
	all := map[string]Part{"server": because(c.Listening(), "clients are not answered: the program starts or stops")}
	if c.Cluster != nil {
		all["nats"], all["replica"] = c.nats(), because(!c.Cluster.Now().Draining, "the replica hands over what it owns and stops")
	}
	if c.Trading != nil {
		c.trading(all)
	}
	return all
}

// deaf is how long the servers may take no heartbeat. A new leader of theirs needs up
// to eight seconds, and a balancer could do nothing about that.
const deaf = 10 * time.Second

// nats is ready while the servers answer and take writes.
func (c *Config) nats() Part {
	now := c.Cluster.Now()
	if !c.Cluster.Conn().Connected {
		return because(false, "there is no connection to a NATS server")
	}
	if now.Late {
		return because(false, "the clock of this machine and those of the NATS servers differ by more than a minute: set them by NTP")
	}
	silent := c.Now().Sub(now.Beat)
	return because(now.Beat.IsZero() || silent < deaf, fmt.Sprintf("the NATS servers have taken nothing for %v", silent.Round(time.Second)))
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
		all["engine"] = because(false, "the engine does not run")
	case e.Failure != "":
		all["engine"] = because(false, fmt.Sprintf("%d fired alerts are not committed", e.Uncommitted))
	default:
		all["engine"] = because(e.Loading == 0, fmt.Sprintf("%d of %d prices and series are not loaded: their alerts wait", e.Loading, e.Prices+e.Series))
	}
	all["feeds"] = because(len(e.LaggingVenues) == 0, "bars do not come from "+strings.Join(e.LaggingVenues, ", "))
	d, here := t.Desk()
	switch {
	case !here: // another replica answers for it
	case !d.Reconciled:
		all["broker"] = because(false, "the account was not compared with the venue since the start: no order passes")
	default:
		all["broker"] = because(d.Connected, "the venue's reports do not flow")
	}
}

func because(ready bool, reason string) Part {
	if ready {
		reason = ""
	}
	return Part{ready, reason}
}
