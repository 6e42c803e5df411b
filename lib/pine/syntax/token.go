package syntax

// kind is the kind of a token.
type kind uint8

const (
	tokEOF     kind = iota
	tokNewline      // end of a logical line
	tokIndent       // the next line is deeper
	tokDedent       // a block ends
	tokName
	tokNumber
	tokString
	tokColor
	tokOp
)

// token is one token. Text is the name, operator or literal as written; for a string it is
// its value.
type token struct {
	kind kind
	text string
	span Span
}

func (t token) is(op string) bool  { return t.kind == tokOp && t.text == op }
func (t token) word(w string) bool { return t.kind == tokName && t.text == w }

// describe returns the token for a message.
func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the script"
	case tokNewline:
		return "the end of the line"
	case tokIndent:
		return "a deeper indentation"
	case tokDedent:
		return "the end of the block"
	case tokString:
		return "a string"
	default:
		return `"` + t.text + `"`
	}
}

// Error is a finding of the parser.
type Error struct {
	Span
	Code    string // pine_syntax, pine_layout or pine_size
	Message string
	Fix     string // empty if nothing is known
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Limits of a script.
const (
	MaxBytes   = 256 << 10
	maxTokens  = 200_000
	maxNesting = 64
	MaxErrors  = 20
	// maxChain bounds the operands of one operator chain, such as a + b + c.
	maxChain = 1000
)

// The codes of errors.
const (
	codeSyntax = "pine_syntax"
	codeLayout = "pine_layout"
	CodeSize   = "pine_size"
)
