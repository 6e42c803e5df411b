#!/bin/sh
# After the package is installed or upgraded. The service is not started: it needs
# a passphrase first. One that runs is restarted, so that it runs what is installed.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart candela.service
fi
if [ ! -e /etc/candela/owner-password ]; then
	cat <<'NEXT'
candela is installed. A client on this machine starts it itself: candela --mcp
To serve others, type a passphrase into the first command and start the service:

  sudo sh -c 'cd /etc/candela && umask 077 && candela auth hash-password >owner-password.new && mv owner-password.new owner-password'
  sudo systemctl enable --now candela

For many people, who sign in at an identity provider, see /usr/share/candela/owners.conf.

NEXT
fi
