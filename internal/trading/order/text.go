package order

import (
	"slices"
	"strings"

	"candela/lib/fault"
)

// Sides lists the names of the sides.
func Sides() []string { return []string{"buy", "sell"} }

// Types lists the names of the types.
func Types() []string { return []string{"market", "limit"} }

// TimesInForce lists the names of the times in force.
func TimesInForce() []string { return []string{"gtc", "day", "ioc", "fok"} }

// Roles lists the names of the roles.
func Roles() []string { return []string{"entry", "stop_loss", "take_profit", "exit"} }

// Statuses lists the names of the states.
func Statuses() []string {
	return []string{
		"new", "denied", "submitted", "accepted", "partially_filled", "filled",
		"pending_cancel", "canceled", "expired", "rejected", "uncertain", "held", "pending_approval",
	}
}

// Kinds lists the names of the kinds of events.
func Kinds() []string {
	return []string{
		"created", "denied", "sent", "unsent", "lost", "gone", "accepted", "fill", "claimed", "cancel_asked",
		"cancel_failed", "canceled", "expired", "rejected", "doubted", "confirmed", "grouped", "resized",
		"held", "triggered", "approval_asked", "approved", "trailed", "planned", "adjusted", "wiped", "funded", "assigned",
	}
}

// ParseSide reads "buy" or "sell" in any case.
func ParseSide(s string) (Side, error) { return parse[Side]("side", s, Sides()) }

// ParseType reads "market" or "limit" in any case.
func ParseType(s string) (Type, error) { return parse[Type]("type", s, Types()) }

// ParseTimeInForce reads "gtc", "day", "ioc" or "fok" in any case.
func ParseTimeInForce(s string) (TimeInForce, error) {
	return parse[TimeInForce]("time_in_force", s, TimesInForce())
}

// ParseRole reads a role as String writes it.
func ParseRole(s string) (Role, error) { return parse[Role]("role", s, Roles()) }

// ParseStatus reads a state as String writes it.
func ParseStatus(s string) (Status, error) { return parse[Status]("status", s, Statuses()) }

// ParseKind reads a kind of event as String writes it.
func ParseKind(s string) (Kind, error) { return parse[Kind]("kind", s, Kinds()) }

// parse returns the index of a name, counted from 1.
func parse[T ~uint8](field, s string, names []string) (T, error) {
	i := slices.Index(names, strings.ToLower(s))
	if i < 0 {
		return 0, fault.Field(field, s, strings.Join(names, ", "), fault.Nearest(s, names)...)
	}
	return T(i + 1), nil
}

// name is the inverse of parse; "" for an unknown number.
func name(n uint8, names []string) string {
	if n == 0 || int(n) > len(names) {
		return ""
	}
	return names[n-1]
}

// String returns "buy" or "sell", "" for neither.
func (s Side) String() string { return name(uint8(s), Sides()) }

// String returns "market" or "limit", "" for neither.
func (t Type) String() string { return name(uint8(t), Types()) }

// String returns the time in force as clients see it, "" for none.
func (t TimeInForce) String() string { return name(uint8(t), TimesInForce()) }

// String returns the role as clients see it, "" for none.
func (r Role) String() string { return name(uint8(r), Roles()) }

// String returns the status as clients see it, "" for none.
func (s Status) String() string { return name(uint8(s), Statuses()) }

// String returns the kind as it is stored, "" for none.
func (k Kind) String() string { return name(uint8(k), Kinds()) }

// MarshalText writes what String returns.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes what String returns.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalText writes what String returns.
func (t TimeInForce) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalText writes what String returns.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText writes what String returns.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes what String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what ParseSide reads, and the empty text as no side.
func (s *Side) UnmarshalText(text []byte) error { return unmarshal(s, text, ParseSide) }

// UnmarshalText reads what ParseType reads, and the empty text as no type.
func (t *Type) UnmarshalText(text []byte) error { return unmarshal(t, text, ParseType) }

// UnmarshalText reads what ParseTimeInForce reads, and the empty text as none.
func (t *TimeInForce) UnmarshalText(text []byte) error { return unmarshal(t, text, ParseTimeInForce) }

// UnmarshalText reads what ParseRole reads, and the empty text as none.
func (r *Role) UnmarshalText(text []byte) error { return unmarshal(r, text, ParseRole) }

// UnmarshalText reads what ParseStatus reads, and the empty text as no state.
func (s *Status) UnmarshalText(text []byte) error { return unmarshal(s, text, ParseStatus) }

// UnmarshalText reads what ParseKind reads, and the empty text as no kind.
func (k *Kind) UnmarshalText(text []byte) error { return unmarshal(k, text, ParseKind) }

func unmarshal[T ~uint8](dst *T, text []byte, parse func(string) (T, error)) error {
	if len(text) == 0 {
		*dst = 0
		return nil
	}
	v, err := parse(string(text))
	if err == nil {
		*dst = v
	}
	return err
}

// State is the coarse status that older clients know.
type State string

// The states that a Status maps to.
const (
	StatePending   State = "Pending"
	StateOpen      State = "Open"
	StateFilled    State = "Filled"
	StateCancelled State = "Cancelled"
	StateRejected  State = "Rejected"
)

// State maps the status to the five states of older clients.
func (s Status) State() State {
	switch s {
	case Accepted, PartiallyFilled, PendingCancel:
		return StateOpen
	case Filled:
		return StateFilled
	case Canceled, Expired:
		return StateCancelled
	case Denied, Rejected:
		return StateRejected
	default: // New, Submitted, Uncertain, Held, PendingApproval
		return StatePending
	}
}
