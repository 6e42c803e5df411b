package control

import "golang.org/x/sys/windows"

// errNoFamily is what the system says of a kind of socket that it does not have.
// Windows has sockets in files since version 1803 of Windows 10.
const errNoFamily = windows.WSAEAFNOSUPPORT
