package member

import (
	"encoding/json"
	"errors"

	"candela/internal/kit/fault"
)

// WireError is an error sent between replicas.
type WireError struct {
	IsFault bool `json:"marked"` // it was a fault
	fault.Error
	Cause string `json:"cause,omitempty"` // for the log of the calling replica
}

func encodeFailure(err error) []byte {
	data, err := json.Marshal(ToWire(err))
	if err != nil { // cannot happen: plain texts and numbers
		return []byte(`{"cause":"error could not be encoded"}`)
	}
	return data
}

// ToWire encodes an error.
func ToWire(err error) WireError {
	f := fault.Of(err)
	if f == nil {
		return WireError{Cause: err.Error()}
	}
	form := WireError{IsFault: true, Error: *f}
	if f.Cause != nil {
		form.Cause = f.Cause.Error()
	}
	return form
}

// Err decodes the error.
func (form WireError) Err() error {
	var cause error
	if form.Cause != "" || !form.IsFault {
		cause = errors.New(form.Cause)
	}
	if !form.IsFault {
		return cause
	}
	f := form.Error
	f.Cause = cause
	return &f
}
