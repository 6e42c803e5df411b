package alpaca

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// The types of orders, as the API writes them.
const (
	typeMarket    = "market"
	typeLimit     = "limit"
	typeStop      = "stop"
	typeStopLimit = "stop_limit"
	typeTrailing  = "trailing_stop"
)

// ticket is an order.
type ticket struct {
	id, clientID       string
	symbol, class      string
	side, kind, force  string
	extended           bool
	quantity, limit    decimal.Decimal
	filled, spent      decimal.Decimal
	status             string
	replacedBy         string
	replaces           string
	created, submitted time.Time
	updated            time.Time
	ended              map[string]time.Time // by the field that holds it, such as filled_at
	until              int64                // the end of its session, 0 for none
	cancelAt           time.Time            // when a cancel that is slow is done
	replaceAt          time.Time            // likewise of a replacement
	claimUntil         time.Time            // when a cancel that is done lets go of what it claimed
	next               *ticket              // what is to replace it, while that is pending
	before             decimal.Decimal      // what was filled when next was asked for

	stop      decimal.Decimal // trigger, of a trail that of now
	trail     trail
	triggered bool // it is what it becomes

	// Of an order of several. The parent is the entry of a bracket and of an oto, and the
	// target of an oco.
	orderClass string
	parent     *ticket
	legs       []*ticket
	dormant    bool // a leg whose entry is not filled, or a replacement that is pending
}

func (t *ticket) left() decimal.Decimal { return t.quantity.Sub(t.filled) }

// open reports whether the order may still trade.
func (t *ticket) open() bool {
	switch t.status {
	case "filled", "canceled", "expired", "rejected", "replaced":
		return false
	}
	return true
}

// waits reports whether the order has a trigger that was not reached.
func (t *ticket) waits() bool {
	return !t.triggered && (t.kind == typeStop || t.kind == typeStopLimit || t.kind == typeTrailing)
}

// priced reports whether the order has a limit price.
func (t *ticket) priced() bool { return t.kind == typeLimit || t.kind == typeStopLimit }

// root returns the parent of the group, which is the order itself if it has none.
func (t *ticket) root() *ticket {
	if t.parent != nil {
		return t.parent
	}
	return t
}

// group returns the orders that were placed as one: the parent and its legs.
func (t *ticket) group() []*ticket { return append([]*ticket{t.root()}, t.root().legs...) }

// rivals returns the other orders of the group of which one is to be filled: the legs of an
// entry exclude each other, and so do both orders of an oco.
func (t *ticket) rivals() []*ticket {
	if t.parent == nil && t.orderClass != "oco" {
		return nil // an entry
	}
	return slices.DeleteFunc(t.group(), func(o *ticket) bool { return o == t || o.parent == nil && o.orderClass != "oco" })
}

// hasRival reports whether another order of the group that excludes it is open.
func (t *ticket) hasRival() bool {
	return slices.ContainsFunc(t.rivals(), (*ticket).open)
}

// claims reports whether the order holds what it sells or the money that it takes. Of two
// orders that exclude each other the one without a trigger does; a leg does not before its
// entry is filled.
func (t *ticket) claims() bool { return t.open() && !t.dormant && (!t.waits() || !t.hasRival()) }

// find returns the order with either id.
func (a *account) find(id, clientID string) *ticket {
	for _, t := range a.orders {
		if t.id == id || clientID != "" && t.clientID == clientID {
			return t
		}
	}
	return nil
}
