package member

import (
	"encoding/json"
	"errors"
	"time"

	"candela/internal/kit/fault"
)

// WireError is an error sent between replicas.
type WireError struct {
	IsFault     bool          `json:"marked"` // it was a fault
	Kind        fault.Kind    `json:"kind"`
	Code        string        `json:"code,omitempty"`
	Message     string        `json:"message,omitempty"`
	Field       string        `json:"field,omitempty"`
	Value       string        `json:"value,omitempty"`
	Allowed     string        `json:"allowed,omitempty"`
	Suggestions []string      `json:"suggestions,omitempty"`
	Retryable   bool          `json:"retryable,omitempty"`
	RetryAfter  time.Duration `json:"retry_after,omitempty"`
	Cause       string        `json:"cause,omitempty"` // for the log of the calling replica
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
	form := WireError{Cause: err.Error()}
	if f := fault.Of(err); f != nil {
		form = WireError{
			IsFault: true, Kind: f.Kind, Code: f.Code, Message: f.Message, Field: f.Field, Value: f.Value, Allowed: f.Allowed,
			Suggestions: f.Suggestions, Retryable: f.Retryable, RetryAfter: f.RetryAfter,
		}
		if f.Cause != nil {
			form.Cause = f.Cause.Error()
		}
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
	return &fault.Error{
		Kind: form.Kind, Code: form.Code, Message: form.Message, Field: form.Field, Value: form.Value, Allowed: form.Allowed,
		Suggestions: form.Suggestions, Retryable: form.Retryable, RetryAfter: form.RetryAfter, Cause: cause,
	}
}
