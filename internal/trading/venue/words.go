package venue

import "candela/internal/trading/order"

// Words are a venue's words for values. Those that are also written have one word for each value.
type Words[T comparable] map[string]T

// Write returns the word for a value, "" for none.
func (w Words[T]) Write(value T) string {
	for text, v := range w {
		if v == value {
			return text
		}
	}
	return ""
}

// Kind is what kind of order it is in the venue's words. One that waits for a trigger is of the type that it
// becomes.
type Kind struct {
	Type   order.Type
	Waits  bool
	Trails bool
	Maker  bool // it rests, or is refused
	Target bool // it waits for a better price; read, and never written
}

// KindOf returns the kind of an order.
func KindOf(o order.Spec) Kind {
	return Kind{Type: o.Type, Waits: o.IsStop(), Trails: o.TrailPercent.IsPositive(), Maker: o.PostOnly}
}
