package chain

import "candela/internal/kit/principal"

// Part is the events of one message of a stream that is a chain for each owner.
type Part struct {
	Seq    uint64 // of the message
	Owner  principal.Owner
	Before Chain // of the owner before the events
	Events []Event
	// Loose are the events of a message without a chain, which a version that had none wrote. They have no numbers and hashes.
	Loose []Event
}

// All returns the events, chained or not.
func (p Part) All() []Event {
	if len(p.Loose) > 0 {
		return p.Loose
	}
	return p.Events
}
