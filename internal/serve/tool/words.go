package tool

import (
	"encoding/json"
	"slices"

	"candela/internal/work/research"
	"candela/internal/work/wording"
	"candela/lib/ta"
)

// Word is an argument of a research tool as a command has it: the text of a flag, or JSON that its user wrote.
type Word struct {
	Name string
	Text string
	JSON json.RawMessage // valid, in place of Text
}

// BacktestOf reads the words of a command into the request for a back-test.
func BacktestOf(l ta.Library, words []Word) (research.Question, error) {
	r, input := (&charts{library: l}).declareBacktest()
	return r.ask, input.readWords(words)
}

// AlertTestOf reads the words of a command into the request for the test of an alert.
func AlertTestOf(l ta.Library, words []Word) (research.Question, error) {
	r, input := (&charts{library: l}).declareAlertTest()
	return r.ask, input.readWords(words)
}

// ScanOf reads the words of a command into the request for a scan.
func ScanOf(l ta.Library, words []Word) (research.Question, error) {
	r, input := (&charts{library: l}).declareScan()
	return r.ask, input.readWords(words)
}

// readWords reads each word into its argument. Of two with the same name the later one counts.
func (fs args) readWords(words []Word) error {
	given := make([]string, len(fs))
	for k, w := range words {
		if slices.ContainsFunc(words[k+1:], func(later Word) bool { return later.Name == w.Name }) {
			continue
		}
		raw := w.JSON
		if i := fs.find(w.Name); raw == nil && i >= 0 {
			raw = wording.OfWord(fs[i].schema.Type, w.Text)
		}
		if err := fs.readOne(given, w.Name, raw); err != nil {
			return err
		}
	}
	return fs.missing(given)
}
