package control

import (
	"context"
	"slices"
	"strings"
	"testing"

	"candela/internal/trading/guard"
)

// thorough is a trader that can cancel all orders.
type thorough struct{ trader }

func (d *thorough) HaltAll(_ context.Context, who, reason string) (guard.State, error) {
	d.commands = append(d.commands, who+" --all: "+reason)
	return guard.State{}, nil
}

func TestServer_HaltsAll(t *testing.T) {
	t.Parallel()
	home, desk := shortDir(t), &thorough{}
	answer(t, Server{Home: home, Trader: desk})
	if _, reached, err := HaltAll(t.Context(), home, "news"); err != nil || !reached {
		t.Errorf("%v, %v", reached, err)
	}
	if _, _, err := Halt(t.Context(), home, "news"); err != nil {
		t.Error(err)
	}
	if want := []string{"candela halt --all: news", "candela halt: news"}; !slices.Equal(desk.commands, want) {
		t.Errorf("commands %q", desk.commands)
	}
}

// TestServer_HaltsAllOrSaysSo holds that a trader that cannot do it does not do less.
func TestServer_HaltsAllOrSaysSo(t *testing.T) {
	t.Parallel()
	home, desk := shortDir(t), &trader{}
	answer(t, Server{Home: home, Trader: desk})
	if _, reached, err := HaltAll(t.Context(), home, ""); !reached || err == nil || !strings.Contains(err.Error(), "without --all") || len(desk.commands) > 0 {
		t.Errorf("%v, %v, commands %q", reached, err, desk.commands)
	}
}
