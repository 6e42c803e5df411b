package owners

import "context"

type actorKey struct{}

// WithActor returns a context whose changes of owners name in the audit log who made them.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor returns who makes the changes of a context, "" if nobody is named.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}

// Note is what the audit log says about a change of an owner.
type Note struct {
	Plan *string `json:"plan,omitempty"` // of a change of the plan
	By   string  `json:"by,omitempty"`   // who made it
}
