package deskproxy

import (
	"context"

	"candela/internal/trading/order"
)

// Pack writes an answer to another replica, and Unpack reads it.
func Pack(value any, most int) ([]byte, error) { return encodeReply(value, most) }

// PackOrder writes the answer to a call about one order.
func PackOrder(o order.Order, most int) ([]byte, error) {
	return encodeReply(orderReply{Order: o}, most)
}

// Unpack reads what Pack wrote.
func Unpack(data []byte, value any) error { return decodeReply(data, value) }

// Travel returns an error as it is after its way from another replica.
func Travel(err error) error {
	form, _ := encodeFault(err)
	data, _ := encodeReply(orderReply{Failure: form}, 1<<20)
	var a orderReply
	if err := decodeReply(data, &a); err != nil {
		return err
	}
	_, err = a.result()
	return err
}

// SoughtHaltFiles is what the desk does before it trades: it asks the other replicas for
// their halt files until they have answered, or for a while.
func (d *Desk) SoughtHaltFiles(ctx context.Context) []string { return d.waitHaltFiles(ctx) }

// SilentReplicas returns the names of those that do not say whether a halt file lies
// beside them.
func (d *Desk) SilentReplicas(ctx context.Context) []string {
	_, silent := d.haltFiles(ctx)
	return silent
}
