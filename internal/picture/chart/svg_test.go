package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// wellFormed reads the document as XML and returns the text in it.
func wellFormed(tb testing.TB, doc []byte) string {
	tb.Helper()
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			tb.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			text.Write(data)
		}
	}
}

func TestSVG_HasTheTextsOfTheScene(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	all := scenes()
	for _, name := range []string{"default", "levels", "styles", "scale_2", "sample"} {
		spec := all[name]()
		doc, err := r.SVG(spec)
		if err != nil {
			t.Fatal(err)
		}
		text := wellFormed(t, doc)
		p, err := r.frame(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range textsOf(&p.scene) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in the document", name, want)
			}
		}
		r.release(p)
	}
}

func TestSVG_EscapesUserText(t *testing.T) {
	t.Parallel()
	spec := basic(10)
	spec.Symbol = "<script>\x00&\"'"
	doc, err := NewRenderer().SVG(spec)
	if err != nil {
		t.Fatal(err)
	}
	if text := wellFormed(t, doc); !strings.Contains(text, "<script>\ufffd&\"'") {
		t.Errorf("the title is not in the document: %.200q", text)
	}
	if bytes.Contains(doc, []byte("<script")) {
		t.Error("a symbol became markup")
	}
}
