package deskproxy

import (
	"context"

	"candela/internal/trading/order"
)

// Pack encodes a reply to another replica.
func Pack(value any, limit int) ([]byte, error) { return encodeReply(value, limit) }

// PackOrder encodes the reply to a call about one order.
func PackOrder(o order.Order, limit int) ([]byte, error) {
	return encodeReply(orderReply{Order: order.Placed{Order: o}}, limit)
}

// Unpack decodes the result of Pack.
func Unpack(data []byte, value any) error { return decodeReply(data, value) }

// Travel returns an error as the calling replica decodes it.
func Travel(err error) error {
	var sent, got orderReply
	_ = sent.encode(err)
	data, _ := encodeReply(sent, 1<<20)
	if err := decodeReply(data, &got); err != nil {
		return err
	}
	return got.decode()
}

// SoughtHaltFiles asks the other replicas for their halt files, as before the start of trading.
func (d *Desk) SoughtHaltFiles(ctx context.Context) []string { return d.waitHaltFiles(ctx) }

// SilentReplicas returns the replicas that do not report their halt-file status.
func (d *Desk) SilentReplicas(ctx context.Context) []string {
	_, silent := d.haltFiles(ctx)
	return silent
}
