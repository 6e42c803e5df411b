package principal

// Scope is what a caller may do. Each scope includes those before it, so scopes are
// compared as numbers. The zero value may do nothing.
type Scope uint8

// The scopes.
const (
	NoScope Scope = iota // nothing
	Charts               // charts and indicators, nothing of the account
	Read                 // also see orders, positions, alerts and notifications
	Trade                // also place and cancel orders and set alerts
)

// Scopes returns the scopes that can be granted, in ascending order.
func Scopes() []Scope { return []Scope{Charts, Read, Trade} }

// String returns the name of the scope as OAuth clients know it.
func (s Scope) String() string {
	switch s {
	case Charts:
		return "charts"
	case Read:
		return "read"
	case Trade:
		return "trade"
	case NoScope:
	}
	return "none"
}

// ParseScope returns the scope with a name, or false if none that can be granted has it.
func ParseScope(name string) (Scope, bool) {
	switch name {
	case "charts":
		return Charts, true
	case "read":
		return Read, true
	case "trade":
		return Trade, true
	}
	return NoScope, false
}
