package admin

import (
	"fmt"
	"strings"
)

// Part is the state of one part of the program.
type Part struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why it is not
}

// parts says of each part whether it does what it should.
func (c *Config) parts() map[string]Part {
	all := map[string]Part{"server": because(c.Listening(), "clients are not answered: the program starts or stops")}
	t := c.Trading
	if t == nil {
		return all
	}
	stats, open := t.Store()
	switch {
	case !open:
		all["store"] = because(false, "the store is not open")
	default:
		all["store"] = because(stats.Failing == "", "the last commit failed: "+stats.Failing)
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
	all["feeds"] = because(len(e.Behind) == 0, "bars do not come from "+strings.Join(e.Behind, ", "))
	d := t.Desk()
	switch {
	case !d.Compared:
		all["broker"] = because(false, "the account was not compared with the venue since the start: no order passes")
	default:
		all["broker"] = because(d.Connected, "the venue's reports do not flow")
	}
	return all
}

func because(ready bool, reason string) Part {
	if ready {
		reason = ""
	}
	return Part{ready, reason}
}
