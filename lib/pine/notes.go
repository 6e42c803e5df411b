package pine

import (
	"fmt"
	"strings"

	"candela/lib/fault"
	"candela/lib/pine/check"
)

// maxNoted is how many changes of a converted script its notes list, maxNotes how many notes there are.
const (
	maxNoted = 20
	maxNotes = 8
)

// Notes say what a reader of values of the script should know: what was converted in a script of an older version, and
// where the values may differ from TradingView's.
func (p *Program) Notes() []string {
	var all []string
	if p.Converted != nil {
		all = append(all, p.converted())
	}
	for _, w := range p.Warnings {
		if len(all) < maxNotes && w.Code != check.CodeConverted {
			all = append(all, w.Message)
		}
	}
	return all
}

// converted lists the changes of a converted script, the first ones of many.
func (p *Program) converted() string {
	r := p.Converted
	shown := r.Changes[:min(len(r.Changes), maxNoted)]
	parts := make([]string, 0, len(shown)+1)
	for _, c := range shown {
		parts = append(parts, fmt.Sprintf("line %d, %s is %s", c.Line, fault.Truncate(c.Was, 40), fault.Truncate(c.Is, 40)))
	}
	if more := len(r.Changes) - len(shown) + r.More; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more, which check_script lists", more))
	}
	return fmt.Sprintf("The script is of version %d and was converted to version 5: %s.", r.From, strings.Join(parts, "; "))
}
