package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"candela/internal/market"
)

// subForm is a subscription as it is shared.
type subForm struct {
	Named   []market.Symbol `json:"instruments,omitempty"`
	Change  string          `json:"change"` // a name of its own for each change, by which it is found after a lost answer
	Owner   string          `json:"owner"`
	Client  string          `json:"client,omitempty"`
	Symbols []market.Symbol `json:"symbols,omitempty"`
	Types   []string        `json:"alert_types,omitempty"`
	Since   uint64          `json:"since"`
	Kept    steps           `json:"kept,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	Seen    time.Time       `json:"seen"`
}

// seatForm is a reader's place as it is shared.
type seatForm struct {
	Owner  string    `json:"owner"`
	N      uint64    `json:"n,omitempty"`     // counts the streams of the token
	At     string    `json:"at,omitempty"`    // the replica that has or had the last of them
	Open   bool      `json:"open,omitempty"`  // it has it still
	From   string    `json:"from,omitempty"`  // the replica that has to say where the stream before ended
	Given  bool      `json:"given,omitempty"` // it has said so: written for At, not by it
	Sub    uint64    `json:"sub,omitempty"`   // the revision of the filter that At goes by
	Cursor uint64    `json:"cursor"`
	Seen   time.Time `json:"seen,omitzero"`
}

// pollForm is an owner's polling queue as it is shared.
type pollForm struct {
	Cursor uint64                      `json:"cursor"`
	Back   steps                       `json:"back,omitempty"`
	Out    map[string]map[string]steps `json:"out,omitempty"` // by replica and batch
}

// steps is ascending seqs, written as the first and then the steps between them: a
// hundred thousand of them fit a message.
type steps []uint64

// MarshalJSON writes the steps.
func (s steps) MarshalJSON() ([]byte, error) {
	deltas := make([]uint64, len(s))
	last := uint64(0)
	for i, seq := range s {
		if seq <= last && i > 0 {
			return nil, fmt.Errorf("seq %d follows %d", seq, last)
		}
		deltas[i], last = seq-last, seq
	}
	return json.Marshal(deltas)
}

// UnmarshalJSON reads the steps.
func (s *steps) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]uint64)(s)); err != nil {
		return err
	}
	last := uint64(0)
	for i := range *s {
		next := last + (*s)[i]
		if next < last || next == last && i > 0 {
			return fmt.Errorf("step %d does not ascend", i)
		}
		(*s)[i], last = next, next
	}
	return nil
}

// encodeForm writes a form, which always can be.
func encodeForm(form any) []byte {
	data, err := json.Marshal(form)
	if err != nil {
		panic("notify: a record cannot be encoded: " + err.Error())
	}
	return data
}

// decodeSub reads a subscription, nil for none.
func decodeSub(data []byte) (*subForm, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no record is an answer
	}
	var f subForm
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Owner == "" || len(f.Kept) > PushCap {
		return nil, errors.New("the subscription is not whole")
	}
	return &f, nil
}

func (f *subForm) filter() Filter {
	return Filter{Symbols: f.Symbols, Kinds: f.Types, Instruments: f.Named}
}
