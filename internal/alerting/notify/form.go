package notify

import (
	"encoding/json"
	"errors"

	"candela/internal/alerting/notify/records"
)

// decodeSub reads a subscription, nil for none.
func decodeSub(data []byte) (*records.Subscription, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no record is an answer
	}
	var f records.Subscription
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Owner == "" || len(f.Kept) > MaxBacklog {
		return nil, errors.New("the subscription is not whole")
	}
	return &f, nil
}

func filterOf(f *records.Subscription) Filter {
	return Filter{Symbols: f.Symbols, Types: f.Types, Instruments: f.Instruments}
}
