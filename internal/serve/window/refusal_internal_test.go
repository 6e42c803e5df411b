package window

import (
	"strings"
	"testing"

	"candela/lib/fault"
)

func TestElsewhere_NamesTheProcessAndTheFolder(t *testing.T) {
	t.Parallel()
	err := elsewhere("/home/of/state", 42)
	if f := fault.Of(err); f == nil || f.Code != "trading_elsewhere" || !strings.Contains(f.Message, "/home/of/state") || !strings.Contains(f.Message, "pid 42") {
		t.Errorf("the refusal is %v", err)
	}
	if text := elsewhere("/home/of/state", 0).Error(); strings.Contains(text, "pid") {
		t.Errorf("the refusal names an unknown process: %s", text)
	}
}
