#!/bin/sh
# Before the package is removed. $1 is "remove" (deb) or 0 (rpm) for a removal, and
# something else for an upgrade, which leaves the service running. What the service
# has stored stays in /var/lib/candela.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now candela.service
	fi
	;;
esac
