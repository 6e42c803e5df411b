// Package cli has what the commands share: a call with its words and flags, and the texts of numbers of things.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"candela/internal/app"
	"candela/internal/config"
	"candela/lib/fault"
)

// Call is one call of a command.
type Call struct {
	Args    []string // after the command's name
	Environ []string
	app.Deps
}

// Runner runs a command.
type Runner func(context.Context, Call) error

// Config loads the configuration that arguments and the environment describe, to look at it
// rather than to start a server.
func (in Call) Config(args []string) (*config.Config, error) {
	return app.LoadConfig(config.Input{Args: args, Environ: in.Environ, Inspect: true})
}

// Flags loads the configuration for a command that takes flags only, which allowed says.
func (in Call) Flags(command, allowed string) (*config.Config, error) {
	if word, _ := CutWord(in.Args); word != "" {
		return nil, fault.Field(command, word, allowed)
	}
	return in.Config(in.Args)
}

// CutWord returns the first argument that is neither a flag nor the value of one, "" if there
// is none, and the others. A command with flags of its own cuts them first.
func CutWord(args []string) (word string, rest []string) {
	i := config.FirstWord(app.Parts(), args)
	if i < 0 {
		return "", args
	}
	return args[i], slices.Concat(args[:i], args[i+1:])
}

// CutWords returns all arguments that are neither flags nor values of them, and the others.
func CutWords(args []string) (words, rest []string) {
	for {
		word, others := CutWord(args)
		if word == "" {
			return words, others
		}
		words, args = append(words, word), others
	}
}

// Each runs a command for each of the names it was given. One that fails does not hide the others: its error is named, and all
// errors are returned at the end.
func Each[N ~string](ctx context.Context, names []N, run func(context.Context, N) error) error {
	if len(names) == 1 {
		return run(ctx, names[0])
	}
	var errs []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, fmt.Errorf("%s and those after it were not done: %w", name, err))...)
		}
		if err := run(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errors.Join(append(errs, fmt.Errorf("%d of %d were done", len(names)-len(errs), len(names)))...)
}

// Subcommand is a command that is named after another one.
type Subcommand struct {
	name string
	run  Runner
}

// OneOf runs the subcommand that the first argument names.
func OneOf(of string, all ...Subcommand) Runner {
	return func(ctx context.Context, in Call) error {
		name := ""
		if len(in.Args) > 0 {
			name, in.Args = in.Args[0], in.Args[1:]
		}
		names := make([]string, len(all))
		for i, c := range all {
			if names[i] = c.name; c.name == name {
				return c.run(ctx, in)
			}
		}
		if name == "" {
			return fault.Missing(of+" COMMAND", strings.Join(names, ", "))
		}
		return fault.Field(of+" COMMAND", name, strings.Join(names, ", "), fault.Nearest(name, names)...)
	}
}

// Flag is a flag of a command's own that has a value.
type Flag struct {
	name string
	set  func(value string) error
}

// TextFlag is a flag whose value must not be empty.
func TextFlag(name string, to *string, allowed string) Flag {
	return Flag{name, func(value string) error {
		if *to = value; value == "" {
			return fault.Missing(name, allowed)
		}
		return nil
	}}
}

// CutFlags sets the flags of a command's own and returns the other arguments. A value stands
// behind its flag, after = or as the next argument, which then is no flag.
func CutFlags(args []string, switches map[string]*bool, values []Flag) (rest []string, err error) {
	for len(args) > 0 && err == nil {
		arg := args[0]
		args = args[1:]
		name, value, assigned := strings.Cut(arg, "=")
		i := slices.IndexFunc(values, func(f Flag) bool { return f.name == name })
		switch on := switches[arg]; {
		case on != nil:
			*on = true
		case i < 0:
			rest = append(rest, arg)
		default:
			if !assigned && len(args) > 0 && !strings.HasPrefix(args[0], "--") {
				value, args = args[0], args[1:]
			}
			err = values[i].set(value)
		}
	}
	return rest, err
}

// CutJSON removes --json from the arguments and reports whether it was there.
func CutJSON(args []string) (rest []string, asJSON bool) {
	i := slices.Index(args, "--json")
	if i < 0 {
		return args, false
	}
	return slices.Delete(slices.Clone(args), i, i+1), true
}

// PrintJSON prints indented JSON.
func PrintJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// Choose returns the word for one or for several.
func Choose(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Count formats a number of things.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Sub is a subcommand.
func Sub(name string, run Runner) Subcommand { return Subcommand{name, run} }

// ValueFlag is a flag whose value set takes.
func ValueFlag(name string, set func(value string) error) Flag { return Flag{name, set} }

// Plain escapes characters that control a terminal: clients choose some of the text.
func Plain(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// ShortToken shortens a token's key to what distinguishes tokens.
func ShortToken(key string) string { return key[:min(12, len(key))] }
