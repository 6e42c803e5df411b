package desk_test

import (
	"encoding/json"
	"testing"

	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// TestStatus_WireNamesStayTheSame pins the JSON that replicas of different versions
// send each other.
func TestStatus_WireNamesStayTheSame(t *testing.T) {
	t.Parallel()
	const want = `{"Broker":"paper","Mode":"paper","State":{},"Open":2,"Uncertain":1,"Connected":true,"Compared":true}`
	got, err := json.Marshal(desk.Status{Broker: "paper", Mode: order.Paper, Open: 2, Uncertain: 1, Connected: true, Reconciled: true})
	if err != nil || string(got) != want {
		t.Errorf("status is sent as\n%s\nwant\n%s (%v)", got, want, err)
	}
}
