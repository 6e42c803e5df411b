package order_test

import (
	"encoding/json"
	"testing"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

func TestText_RoundTrips(t *testing.T) {
	t.Parallel()
	check := func(text string, got string, err error) {
		t.Helper()
		if err != nil || got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	for _, s := range order.Sides() {
		v, err := order.ParseSide(s)
		check(s, v.String(), err)
	}
	for _, s := range order.Types() {
		v, err := order.ParseType(s)
		check(s, v.String(), err)
	}
	for _, s := range order.Statuses() {
		v, err := order.ParseStatus(s)
		check(s, v.String(), err)
	}
	for _, s := range order.Kinds() {
		v, err := order.ParseKind(s)
		check(s, v.String(), err)
	}
	if v, err := order.ParseSide("BUY"); v != order.Buy || err != nil {
		t.Errorf("BUY is %v, %v", v, err)
	}
	if order.KindAdjusted.String() != "adjusted" || order.Uncertain.String() != "uncertain" {
		t.Error("the lists of names have shifted against the constants")
	}
	if order.Side(0).String() != "" || order.Status(99).String() != "" {
		t.Error("what is no value has a name")
	}
}

func TestText_RefusalsNameTheField(t *testing.T) {
	t.Parallel()
	_, err := order.ParseSide("long")
	if e := fault.Of(err); e == nil || e.Field != "side" || e.Allowed != "buy, sell" {
		t.Errorf("got %v", err)
	}
	_, err = order.ParseType("limt")
	if e := fault.Of(err); e == nil || len(e.Suggestions) != 1 || e.Suggestions[0] != "limit" {
		t.Errorf("got %v", err)
	}
}

func TestText_JSON(t *testing.T) {
	t.Parallel()
	type all struct {
		Side   order.Side
		Type   order.Type
		Status order.Status
		Kind   order.Kind
	}
	want := all{order.Sell, order.Limit, order.PartiallyFilled, order.KindCancelFailed}
	data, err := json.Marshal(want)
	if err != nil || string(data) != `{"Side":"sell","Type":"limit","Status":"partially_filled","Kind":"cancel_failed"}` {
		t.Fatalf("%s, %v", data, err)
	}
	var got all
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"Side":"","Type":"","Status":"","Kind":""}`), &got); err != nil || got != (all{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if json.Unmarshal([]byte(`{"Status":"pending"}`), &got) == nil {
		t.Error("a state that is none is read")
	}
}

func TestStatus_State(t *testing.T) {
	t.Parallel()
	for status, want := range map[order.Status]struct {
		state order.State
		final bool
	}{
		order.New:             {order.StatePending, false},
		order.Submitted:       {order.StatePending, false},
		order.Uncertain:       {order.StatePending, false},
		order.Accepted:        {order.StateOpen, false},
		order.PartiallyFilled: {order.StateOpen, false},
		order.PendingCancel:   {order.StateOpen, false},
		order.Filled:          {order.StateFilled, true},
		order.Canceled:        {order.StateCancelled, true},
		order.Expired:         {order.StateCancelled, true},
		order.Denied:          {order.StateRejected, true},
		order.Rejected:        {order.StateRejected, true},
	} {
		if status.State() != want.state || status.Final() != want.final {
			t.Errorf("%v: %v, final %v", status, status.State(), status.Final())
		}
	}
}
