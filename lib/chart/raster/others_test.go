package raster

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"

	"eliasnaur.com/font/roboto/robotomedium"
)

func drawn(t *testing.T, stock *Stock, text string) (pixels []byte, missing []rune) {
	t.Helper()
	f, err := stock.Frame(200, 24, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	f.Text(stock.Face(Regular, 9), 5, 15, text, Hex(0xFFFFFF))
	return bytes.Clone(f.pix), f.Missing()
}

// The typeface itself has the letters of other alphabets, which need no other font.
func TestText_LettersOfTheTypeface(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\u00e9\u00fc\u00f1", "\u0421\u0442\u043e\u043f", "\u0391\u03b8\u03ae\u03bd\u03b1", "\u1ea4"} {
		if pixels, missing := drawn(t, NewStock(), text); len(missing) > 0 || bytes.Equal(pixels, mustDraw(t, " ")) {
			t.Errorf("%q lacks %q", text, missing)
		}
	}
}

func mustDraw(t *testing.T, text string) []byte {
	t.Helper()
	pixels, _ := drawn(t, NewStock(), text)
	return pixels
}

func TestText_NamesWhatNoFontHas(t *testing.T) {
	t.Parallel()
	_, missing := drawn(t, NewStock(), "A\u4e70\u5356\u4e70\ufe0f\u200d")
	if !slices.Equal(missing, []rune{0x4e70, 0x5356}) {
		t.Errorf("missing are %q", missing)
	}
	stock := NewStock()
	f, err := stock.Frame(400, 24, Hex(0))
	if err != nil {
		t.Fatal(err)
	}
	for r := rune(0x4e00); r < 0x4e00+100; r++ {
		f.Text(stock.Face(Regular, 9), 5, 15, string(r), Hex(0xFFFFFF))
	}
	if got := len(f.Missing()); got != maxMissing {
		t.Errorf("%d characters are named, want at most %d", got, maxMissing)
	}
	f.Release()
	if f, err = stock.Frame(400, 24, Hex(0)); err != nil || len(f.Missing()) != 0 {
		t.Errorf("a new picture lacks %q, %v", f.Missing(), err)
	}
}

// A font of the machine draws what the typeface lacks; what is no font is passed over.
func TestFallback(t *testing.T) {
	t.Parallel()
	stock, opened := NewStock(), 0
	// The other weight of the typeface stands for another font: it has the same letters, so they
	// come from it alone, asked directly.
	stock.Fallback(func() []io.ReaderAt {
		opened++
		return []io.ReaderAt{bytes.NewReader([]byte("no font")), bytes.NewReader(robotomedium.TTF)}
	})
	face := stock.Face(Regular, 9)
	if g := face.font.fallback.read('\u0416', face.font.ppem); g == nil || len(g.curves) == 0 {
		t.Error("the second file has the letter")
	}
	if g := face.font.fallback.read('\u4e70', face.font.ppem); g != nil || opened != 1 {
		t.Errorf("a letter that no file has is %v after %d openings", g, opened)
	}
}

// A font of the machine with joined Arabic, where there is one.
func TestFallback_OfTheMachine(t *testing.T) {
	t.Parallel()
	file, err := os.Open("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
	if err != nil {
		t.Logf("not on this machine: %v", err)
		return
	}
	t.Cleanup(func() { _ = file.Close() })
	stock := NewStock()
	stock.Fallback(func() []io.ReaderAt { return []io.ReaderAt{file} })
	if _, missing := drawn(t, stock, "\u0642\u0648\u0629 \u0627\u0644\u0634\u0631\u0627\u0621 \u05de\u05db\u05e8"); len(missing) > 0 {
		t.Errorf("missing are %q", missing)
	}
}

func TestFont_KeepsABoundedNumberOfGlyphs(t *testing.T) {
	t.Parallel()
	face := NewStock().Face(Regular, 9)
	for r := rune(0x4e00); r < 0x4e00+3*maxOthers; r++ {
		face.Width(string(r))
	}
	if n := len(face.font.others); n > maxOthers {
		t.Errorf("%d glyphs are kept, want at most %d", n, maxOthers)
	}
}

func TestVisual(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"RSI above 30":                  "RSI above 30",
		"\u05d0\u05d1 12.5 \u05d2":      "\u05d2 12.5 \u05d1\u05d0",
		"RSI (\u05d0\u05d1) up":         "RSI (\u05d1\u05d0) up",
		"\u05d0(\u05d1":                 "\u05d1)\u05d0",
		"\u0628\u0628\u0628":            "\ufe90\ufe92\ufe91",            // begin, middle and end of a word
		"\u0627\u0628":                  "\ufe8f\ufe8d",                  // alef joins nothing after it
		"\u0633\u0644\u0627\u0645":      "\ufee1\ufefc\ufeb3",            // lam with alef is one sign
		"\u0628\u064e\u0628":            "\ufe90\u064e\ufe91",            // a vowel parts nothing
		"\u0642\u0648\u0629 BTC":        "\ufe93\ufeee\ufed7 BTC",        // each script in its own direction
		"\u4e70\u5165":                  "\u4e70\u5165",                  // nothing to turn
		"\u05d0\u05d1 BTC \u05d2\u05d3": "\u05d1\u05d0 BTC \u05d3\u05d2", // a word of the line stays in its place
	} {
		if got := visual(text); got != want {
			t.Errorf("%q is drawn as %+q, want %+q", text, got, want)
		}
	}
}

func TestVisual_PlainTextIsNotCopied(t *testing.T) { //nolint:paralleltest // counts allocations
	if n := testing.AllocsPerRun(100, func() { visual("BTCUSDT 4h 67,314.25 \u2212") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
