package deploy

import (
	"bytes"
	"encoding/json"
)

// written are the intents of a bar as they are recorded. A start compares all of them and reads few.
type written struct{ json.RawMessage }

// wantedAt is what was wanted at a bar.
type wantedAt struct {
	bar     int64
	intents written
}

// count returns how many there are. Within a text of JSON a quotation mark has a backslash before it, so that none looks
// like a key.
func (w written) count() int { return bytes.Count(w.RawMessage, []byte(`"key":"`)) }

// read returns the intents.
func (w written) read() (all []Intent) {
	if len(w.RawMessage) > 0 {
		_ = json.Unmarshal(w.RawMessage, &all) // an entry that is not one of these was never written
	}
	return all
}

// are reports whether intents are equal to the recorded ones in every term.
func (w written) are(all []Intent) bool {
	if len(all) == 0 || w.count() != len(all) {
		return len(all) == w.count()
	}
	var room [512]byte
	text := appendIntents(room[:0], all)
	if bytes.Equal(text, w.RawMessage) {
		return true
	}
	return bytes.Equal(text, appendIntents(nil, w.read())) // a store may write it in another way
}
