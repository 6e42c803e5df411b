package check

import "testing"

func TestLibrary_OwnTA(t *testing.T) {
	t.Parallel()
	p, found := Check(taLibrary, Options{})
	for _, d := range found {
		if d.Severity == Error {
			t.Errorf("%d:%d %s %s", d.Line, d.Column, d.Code, d.Message)
		}
	}
	if p == nil || p.Kind != Library {
		t.Fatal("not a library")
	}
	accepted(t, head+"import TradingView/ta/7 as ta\nplot(ta.sma(close, 3) + ta.dema(close, 5))\n[up, down] = ta.aroon(14)\nplot(up - down)\n")
}

func TestLibrary_OfTheCaller(t *testing.T) {
	t.Parallel()
	lib := "//@version=6\nlibrary(\"geo\")\nexport const float half = 0.5\nk = 2\nexport type point\n    float x = 1\nexport enum side\n    left\n    right\nexport method twice(point p) => p.x * k\nexport make(float x) => point.new(x)\nplot(close)\n"
	options := Options{Library: func(user, name string, version int) (string, bool) {
		return lib, user == "me" && name == "geo" && version == 1
	}}
	p, found := Check(head+"import me/geo/1 as g\ng.point p = g.make(close)\nq = g.point.new(2)\ns = g.side.left\nplot(p.twice() + q.x + g.half + (s == g.side.right ? 1 : 0))\n", options)
	if p == nil {
		t.Fatalf("%+v", found)
	}
	if len(p.Plots) != 1 {
		t.Errorf("the library's own plot counts: %d", len(p.Plots))
	}
	_, found = Check(head+"import me/other/2\nplot(close)\n", options)
	if len(found) != 1 || found[0].Code != "pine_import" {
		t.Errorf("%+v", found)
	}
}
