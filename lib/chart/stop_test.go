package chart

import (
	"bytes"
	"errors"
	"testing"
)

// TestPNG_EndsWithTheErrorOfPause ends a picture at each of its pauses in turn. The next picture of the same
// renderer must be that of a fresh one.
func TestPNG_EndsWithTheErrorOfPause(t *testing.T) {
	t.Parallel()
	want, err := NewRenderer().PNG(wide(500))
	if err != nil {
		t.Fatal(err)
	}
	pauses, gone := 0, errors.New("the client has gone")
	r, spec := NewRenderer(), wide(500)
	spec.Pause = func() error { pauses++; return nil }
	if _, err := r.PNG(spec); err != nil {
		t.Fatal(err)
	}
	if pauses < 10 {
		t.Fatalf("a picture pauses %d times", pauses)
	}
	for at := 1; at <= pauses; at += max(1, pauses/12) {
		left := at
		spec.Pause = func() error {
			if left--; left == 0 {
				return gone
			}
			return nil
		}
		if png, err := r.PNG(spec); !errors.Is(err, gone) || png != nil || left != 0 {
			t.Fatalf("at pause %d of %d: %d bytes, %v, %d pauses left", at, pauses, len(png), err, left)
		}
		spec.Pause = nil
		if got, err := r.PNG(spec); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("after a picture that ended at pause %d: %d bytes, want %d; %v", at, len(got), len(want), err)
		}
	}
}
