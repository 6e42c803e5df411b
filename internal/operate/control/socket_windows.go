package control

import "golang.org/x/sys/windows"

// errNoFamily is the system's error for an unsupported kind of socket.
// Windows has sockets in files since version 1803 of Windows 10.
const errNoFamily = windows.WSAEAFNOSUPPORT
