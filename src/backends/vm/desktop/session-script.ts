import type { DesktopSpec } from "./provider.ts";

/** Where a desktop's display listens for VNC, at the sandbox's own loopback, which nothing outside reaches. */
export const DISPLAY_PORT = 5900;
/** What the script prints once the display takes clients. */
export const READY_LINE = "the display is ready";
/** What it ends with where a program is missing, as a shell does. */
export const MISSING_PROGRAM = 127;

const FOLDER = "/tmp/.desktop";

/** Of everything in a desktop's sandbox: its display and its message bus have fixed places there. */
export const DESKTOP_ENVIRONMENT = {
  DISPLAY: ":1",
  XDG_RUNTIME_DIR: FOLDER,
  DBUS_SESSION_BUS_ADDRESS: `unix:path=${FOLDER}/bus`,
  PATH: `${FOLDER}/bin:/usr/local/bin:/usr/bin:/bin`,
  // Programs that would otherwise not tell what they show.
  GTK_MODULES: "gail:atk-bridge",
  QT_LINUX_ACCESSIBILITY_ALWAYS_ON: "1",
} as const satisfies Readonly<Record<string, string>>;

/**
 * Holds a desktop: it lives as long as its X server does.
 *
 * The frame rate is how soon the server looks what has changed, which whoever asks for the screen after a click waits for.
 */
const SCRIPT = `
for program in Xtigervnc fluxbox; do
  command -v "$program" >/dev/null || { echo "it has no $program" >&2; exit ${MISSING_PROGRAM}; }
done
rm -rf "$XDG_RUNTIME_DIR" /tmp/.X1-lock /tmp/.X11-unix/X1
mkdir -p "$XDG_RUNTIME_DIR/bin" "$HOME/.fluxbox" || exit 1
chmod 700 "$XDG_RUNTIME_DIR"
# Without a program that sets wallpapers it would complain in a window, which takes the focus from others.
[ -e "$HOME/.fluxbox/overlay" ] || echo 'background: none' > "$HOME/.fluxbox/overlay"
[ -e "$HOME/.Xresources" ] || echo 'XTerm*utf8: 1' > "$HOME/.Xresources"
# Where no image brings them along: see images/desktop/chromium-flags.
if [ ! -e /etc/chromium.d/toolyard ] && [ -x /usr/bin/chromium ]; then
  cat > "$XDG_RUNTIME_DIR/bin/chromium" <<'END'
#!/bin/sh
proxy=
[ -z "$http_proxy" ] || proxy="--proxy-server=$http_proxy --proxy-bypass-list=localhost;127.0.0.1;[::1]"
exec /usr/bin/chromium --no-sandbox --test-type --disable-gpu --disable-quic --no-first-run --no-default-browser-check \\
  --disable-background-networking --disable-component-update --disable-sync --password-store=basic \\
  --force-renderer-accessibility $proxy "$@"
END
  chmod 700 "$XDG_RUNTIME_DIR/bin/chromium"
fi
mkfifo "$XDG_RUNTIME_DIR/display" || exit 1
Xtigervnc "$DISPLAY" -displayfd 3 -geometry "$1x$2" -depth 24 -dpi "$3" -FrameRate 500 \\
  -rfbport ${DISPLAY_PORT} -localhost=1 -UseBlacklist=0 -SecurityTypes None -AlwaysShared -nolisten tcp \\
  3> "$XDG_RUNTIME_DIR/display" &
server=$!
if command -v dbus-daemon >/dev/null; then
  dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --nofork --nopidfile >/dev/null 2>&1 &
fi
read -r number < "$XDG_RUNTIME_DIR/display" || { wait "$server"; exit 1; }
command -v xsetroot >/dev/null && xsetroot -solid '#2f4f6f'
# Browsers look once, when they start, whether somebody reads what is in their windows.
command -v dbus-send >/dev/null && dbus-send --session --dest=org.a11y.Bus /org/a11y/bus \\
  org.freedesktop.DBus.Properties.Set string:org.a11y.Status string:IsEnabled variant:boolean:true 2>/dev/null
echo "${READY_LINE}"
fluxbox >/dev/null 2>&1 &
wait "$server"
`;

/** What opens pages. */
export const BROWSER = "chromium";

/** The name by which the process of a desktop is found again. */
export const SESSION_NAME = "toolyard-desktop";

export function toSessionCommand({ width, height, dpi }: Pick<DesktopSpec, "width" | "height" | "dpi">): string[] {
  return ["sh", "-c", SCRIPT, SESSION_NAME, String(width), String(height), String(dpi)];
}
