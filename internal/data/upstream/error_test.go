package upstream_test

import (
	"errors"
	"testing"

	"candela/internal/data/upstream"
	"candela/lib/fault"
)

func TestMalformedResponse(t *testing.T) {
	t.Parallel()
	f := fault.Of(upstream.MalformedResponse("there", "ETH", errors.New("byte 3: want a number")))
	if f.Kind != fault.Unavailable || f.Code != "bad_answer" || f.Message != "there ETH: the answer cannot be used: byte 3: want a number" {
		t.Errorf("got %+v", f)
	}
}
