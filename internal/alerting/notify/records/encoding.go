package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/market"
)

// Subscription is the data of a SubscriptionKind record.
type Subscription struct {
	Instruments []market.Symbol `json:"instruments,omitempty"`
	Change      string          `json:"change"` // a random ID, by which a write is found after a lost acknowledgement
	Owner       string          `json:"owner"`
	Client      string          `json:"client,omitempty"`
	Symbols     []market.Symbol `json:"symbols,omitempty"`
	Types       []string        `json:"alert_types,omitempty"`
	Since       uint64          `json:"since"`
	Kept        SeqDeltas       `json:"kept,omitempty"`
	Expires     time.Time       `json:"expires,omitzero"`
	Seen        time.Time       `json:"seen"`
}

// Attachment is the data of an AttachmentKind record.
type Attachment struct {
	Owner     string    `json:"owner"`
	Epoch     uint64    `json:"n,omitempty"`    // counts the token's streams
	Replica   string    `json:"at,omitempty"`   // that serves or served the last of them
	Open      bool      `json:"open,omitempty"` // it still does
	FilterRev uint64    `json:"sub,omitempty"`  // the revision of the filter that Replica applies
	Cursor    uint64    `json:"cursor"`
	Seen      time.Time `json:"seen,omitzero"`
}

// Queue is the data of a QueueKind record.
type Queue struct {
	Cursor   uint64                          `json:"cursor"`
	Returned SeqDeltas                       `json:"back,omitempty"`
	Leases   map[string]map[string]SeqDeltas `json:"out,omitempty"` // by replica and batch
}

// Cursors is the data of a CursorKind record: the epoch and cursor of each token's stream.
// One record holds many streams because the store pays per record and every delivery moves
// a cursor.
type Cursors map[string][2]uint64

// SeqDeltas is an ascending list of sequence numbers, encoded as the differences between
// neighbours so that a hundred thousand fit one message.
type SeqDeltas []uint64

// MarshalJSON encodes the differences.
func (s SeqDeltas) MarshalJSON() ([]byte, error) {
	deltas := make([]uint64, len(s))
	last := uint64(0)
	for i, seq := range s {
		if seq <= last && i > 0 {
			return nil, fmt.Errorf("sequence %d after %d: not ascending", seq, last)
		}
		deltas[i], last = seq-last, seq
	}
	return json.Marshal(deltas)
}

// UnmarshalJSON decodes the differences.
func (s *SeqDeltas) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]uint64)(s)); err != nil {
		return err
	}
	last := uint64(0)
	for i := range *s {
		next := last + (*s)[i]
		if next < last || next == last && i > 0 {
			return fmt.Errorf("delta %d: not ascending", i)
		}
		(*s)[i], last = next, next
	}
	return nil
}

// Encode returns the data of a record. Every type above can be encoded.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("notify: encode record: " + err.Error())
	}
	return data
}

// DecodeSubscription decodes a SubscriptionKind record. Without data it returns nil.
func DecodeSubscription(data []byte) (*Subscription, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // a deleted record is not an error
	}
	var s Subscription
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Owner == "" || len(s.Kept) > notify.MaxBacklog {
		return nil, errors.New("invalid subscription record")
	}
	return &s, nil
}
