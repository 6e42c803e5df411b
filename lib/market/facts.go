package market

// Facts is what a venue says about an instrument besides its bars. An empty text and a 0
// mean that it is not known.
type Facts struct {
	Symbol      Symbol  // as the venue spells it, with the venue
	Class       string  // such as crypto or stock
	Base, Quote string  // what is traded, and the currency of the price
	Tick        float64 // prices are multiples of it
	Step        float64 // quantities are multiples of it
}
