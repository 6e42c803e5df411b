package check

import "testing"

// A script of an older version whose lines end twice made the converter panic.
func TestCheck_ConvertsLinesThatEndTwice(t *testing.T) {
	t.Parallel()
	p := accepted(t, "//@version=4\r\r\nstudy(\"T\")\r\r\nx = input(3, type=input.integer)\r\r\nplot(sma(close, x), color=#ff0000, transp=50)\r\r\n")
	if p.Converted == nil {
		t.Fatal("not converted")
	}
}
