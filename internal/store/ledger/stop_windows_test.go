package ledger_test

import "os"

// There is no such signal, and no loop device either.
var sigstop = os.Kill
