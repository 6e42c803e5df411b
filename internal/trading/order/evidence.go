package order

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"candela/lib/market"
)

// MaxClaims is how many claims an order may have.
const MaxClaims = 8

// Claim is a condition that a client gives as a reason of an order.
type Claim struct {
	Symbol    market.Symbol   `json:"symbol,omitzero"`       // zero for that of the order
	Interval  market.Interval `json:"interval,omitzero"`     // of the bars; zero for a claim about the price
	Condition json.RawMessage `json:"condition"`             // of an alert, as a store keeps it
	Within    int             `json:"within_bars,omitempty"` // it may hold at any of so many newest closed bars; 0 for the newest alone
	Text      string          `json:"claim"`                 // the claim in words of candela

	At time.Time `json:"-"` // close of the bar at which it was found true before; zero for a new claim
}

// Newest is how many newest closed bars the claim is about.
func (c Claim) Newest() int { return max(c.Within, 1) }

// Same reports whether two claims ask for the same.
func (c Claim) Same(other Claim) bool {
	return c.Symbol == other.Symbol && c.Interval == other.Interval && c.Newest() == other.Newest() && bytes.Equal(c.Condition, other.Condition)
}

// Evidence is a claim with what candela found. Numbers are the shortest decimals that read back as the same value.
type Evidence struct {
	Claim
	Known   bool      `json:"known,omitempty"`
	True    bool      `json:"true,omitempty"`
	Later   bool      `json:"later,omitempty"`   // unknown for the moment: it may be known when it is asked again
	Value   string    `json:"value,omitempty"`   // the left side of the condition
	Against string    `json:"against,omitempty"` // the right side
	Bar     time.Time `json:"bar,omitzero"`      // when the bar closed, or the price was made
	BarsAgo int       `json:"bars_ago,omitempty"`
	Held    int       `json:"held,omitempty"` // at how many of the newest bars it was true
	Of      int       `json:"of,omitempty"`   // how many bars that were; 0 if they were not judged
	Missing string    `json:"missing,omitempty"`
	Parts   []Part    `json:"parts,omitempty"`

	MarketClosed bool `json:"market_closed,omitempty"` // of a claim about the price: there is no newer one until the market opens

	Anchored time.Time `json:"anchored,omitzero"` // open of the bar at which its earliest running sum begins
}

// Part is a member of a claim that joins several conditions.
type Part struct {
	Text    string `json:"claim"`
	Known   bool   `json:"known,omitempty"`
	True    bool   `json:"true,omitempty"`
	Value   string `json:"value,omitempty"`
	Against string `json:"against,omitempty"`
}

// False reports whether the claim is known not to be true.
func (e Evidence) False() bool { return e.Known && !e.True }

// HeldText says at how many of the newest bars a claim was true; "" if they were not judged.
func (e Evidence) HeldText() string {
	if e.Of == 0 {
		return ""
	}
	return strconv.Itoa(e.Held) + " of " + strconv.Itoa(e.Of) + " bars"
}

// Verdict is what was found in one word.
func (e Evidence) Verdict() string {
	switch {
	case !e.Known:
		return "unknown"
	case e.True:
		return "true"
	}
	return "false"
}

// Finding says what was found, with the value.
func (e Evidence) Finding() string {
	if e.Value == "" {
		return e.Verdict()
	}
	return e.Verdict() + ", " + e.Value
}

// Unanswered is the evidence of a claim to which there was no answer.
func (c Claim) Unanswered(missing string) Evidence {
	return Evidence{Claim: c, Later: true, Missing: missing}
}

// Unanswered is the evidence of claims to which there was no answer, nil without claims.
func Unanswered(claims []Claim, missing string) []Evidence {
	if len(claims) == 0 {
		return nil
	}
	all := make([]Evidence, len(claims))
	for i, c := range claims {
		all[i] = c.Unanswered(missing)
	}
	return all
}

// Again returns the claims of evidence, to judge them again.
func Again(all []Evidence) []Claim {
	claims := make([]Claim, len(all))
	for i, e := range all {
		claims[i] = e.Claim
		claims[i].At = e.Bar
	}
	return claims
}

// Found returns what was found of a claim, false if it was not judged.
func Found(all []Evidence, c Claim) (Evidence, bool) {
	i := slices.IndexFunc(all, func(e Evidence) bool { return e.Same(c) })
	if i < 0 {
		return Evidence{}, false
	}
	return all[i], true
}

// matches reports whether an order was placed with these claims.
func matches(claims []Claim, all []Evidence) bool {
	return slices.EqualFunc(claims, all, func(c Claim, e Evidence) bool { return c.Same(e.Claim) })
}
