package wording

import (
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/pattern"
)

// kindOfSymbol matches a word after a symbol that says what it is.
var kindOfSymbol = pattern.Of(`(?i)^([A-Z0-9.^-]{1,20})\s+(?:stocks?|shares?|equity|spot)$`)

// venueWord matches the name of a venue.
var venueWord = pattern.Of(`^[a-z]{2,20}$`)

// symbols reads how people write an instrument.
func (c *call) symbols() error {
	raw := c.get("symbol")
	text, ok := strictjson.Text(raw)
	if raw == nil || !ok || !c.known("symbol") {
		return nil
	}
	if match := kindOfSymbol().FindStringSubmatch(strings.TrimSpace(text)); match != nil {
		c.set("symbol", quote(match[1]), "symbol "+quote(echo(text))+" is "+match[1])
		text = match[1]
	}
	for _, name := range []string{"exchange", "venue", "source"} {
		venue := c.text(name)
		if c.known(name) || !venueWord().MatchString(venue) || strings.Contains(text, ":") {
			continue
		}
		whole := venue + ":" + text
		c.drop(name, "")
		c.set("symbol", quote(whole), name+" "+venue+" with symbol is "+echo(whole))
		break
	}
	return nil
}
