import { request } from "node:http";
import type { Duplex } from "node:stream";
import { z } from "zod";
import { systemClock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxInstance } from "../../../core/runtime.ts";
import type { SandboxProcess } from "../../../core/sandbox-process.ts";

/** What a sandbox must be able to do to hold a browser. */
export const NEEDED = ["exec", "spawn", "files", "connect"] as const;
/** A sandbox that surely can. */
export type BrowserBox = SandboxInstance & Required<Pick<SandboxInstance, (typeof NEEDED)[number]>>;

/** @throws ToolyardError `runtime_unavailable` when it cannot do what a browser needs. */
export function asBrowserBox(box: SandboxInstance): BrowserBox {
  const lacking = NEEDED.filter((ability) => box[ability] === undefined);
  // Each of them was looked at just before.
  if (lacking.length === 0) return box as BrowserBox;
  throw new ToolyardError(
    "runtime_unavailable",
    `a sandbox of the runtime "${box.runtime}" can hold no browser: it has no ${lacking.join(", ")}`,
    { suggestion: "Use the docker or the local runtime, and an image that has python3." },
  );
}

export const DOWNLOADS = "/workspace/downloads";

const PORT = 9_222;
const READY_MS = 60_000;
/** One that runs answers at once, but for a machine that is busy. */
const FOUND_MS = 10_000;
const LOOK_MS = 50;
const SAID_CHARACTERS = 600;
const MAX_VERSION = 65_536;
/** Exit status of the script below where there is no Chromium. */
const MISSING = 69;

/** How the browser is to be. */
export interface ChromiumOptions {
  readonly width: number;
  readonly height: number;
  readonly userAgent: string | undefined;
  readonly locale: string;
  readonly timezone: string | undefined;
}

// Debian's own start script reads a folder of the system's that a sandbox may lack; the program itself needs none of it.
const SCRIPT = `for program in /usr/lib/chromium/chromium chromium chromium-browser google-chrome; do
  command -v "$program" >/dev/null && exec "$program" "$@"
done
exit ${MISSING}`;

function toFlags({ width, height, userAgent, locale }: ChromiumOptions, proxy: string | undefined): string[] {
  return [
    "--headless=new",
    `--remote-debugging-port=${PORT}`,
    "--user-data-dir=/tmp/chromium",
    `--window-size=${width},${height}`,
    `--lang=${locale}`,
    ...(userAgent === undefined ? [] : [`--user-agent=${userAgent}`]),
    // The sandbox around it is the boundary: it forbids the namespaces that Chromium would make one of its own with.
    "--no-sandbox",
    "--hide-scrollbars",
    // A tab that another one covers goes on: calls name tabs, not what lies on top.
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-popup-blocking",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-prompt-on-repost",
    "--allow-pre-commit-input",
    "--enable-automation",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=Translate,OptimizationHints,MediaRouter,IsolateOrigins,site-per-process",
    // Frames of other sites are seen with their page: the browser is the session's own, and nothing of value is beside them.
    "--disable-site-isolation-trials",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    // Names are resolved by the proxy alone; what is in the sandbox itself is reached straight.
    ...(proxy === undefined ? [] : [`--proxy-server=${proxy}`, "--proxy-bypass-list=localhost;127.0.0.1;[::1]"]),
    "about:blank",
  ];
}

/**
 * Starts Chromium in a sandbox and answers where its debugger is.
 *
 * @returns the path of the WebSocket on its port
 * @throws ToolyardError `runtime_unavailable` where there is none, `dependency_failed` with what it complained of; the signal's reason
 */
export async function startChromium(box: BrowserBox, options: ChromiumOptions, signal: AbortSignal): Promise<string> {
  const proxy = await proxyOf(box, signal);
  const command = ["sh", "-c", SCRIPT, "toolyard-browser", ...toFlags(options, proxy)];
  const { timezone } = options;
  const environment = { ...(timezone !== undefined && { TZ: timezone }), LANG: "C.UTF-8" };
  const chromium = await box.spawn({ command, environment }, signal);
  const until = systemClock.now() + READY_MS;
  while (chromium.exit === null && systemClock.now() < until) {
    // oxlint-disable-next-line no-await-in-loop -- until it answers
    const path = await debuggerPath(box, signal).catch(() => undefined);
    if (path !== undefined) return path;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
    signal.throwIfAborted();
  }
  throw await toStartError(chromium, signal);
}

/** Where the debugger of a browser is that was started before. @throws ToolyardError `sandbox_dead` when none answers */
export async function findChromium(box: BrowserBox, signal: AbortSignal): Promise<string> {
  const until = systemClock.now() + FOUND_MS;
  let failure: unknown;
  while (systemClock.now() < until) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until it answers
      return await debuggerPath(box, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }
  throw new ToolyardError("sandbox_dead", "the browser in the sandbox does not answer", { cause: failure });
}

/** A new connection to the browser's debugger. */
export function connectDebugger(box: BrowserBox, signal: AbortSignal): Promise<Duplex> {
  return box.connect(PORT, signal);
}

async function proxyOf(box: BrowserBox, signal: AbortSignal): Promise<string | undefined> {
  const { stdout } = await box.exec(
    { command: ["sh", "-c", 'printf %s "$http_proxy"'], timeoutMs: 10_000 },
    { signal },
  );
  return stdout.text === "" ? undefined : stdout.text;
}

const Version = z.object({ webSocketDebuggerUrl: z.url() });

async function debuggerPath(box: BrowserBox, signal: AbortSignal): Promise<string> {
  const socket = await connectDebugger(box, signal);
  const text = await new Promise<string>((resolve, reject) => {
    const asking = request(
      {
        createConnection: () => socket as never,
        path: "/json/version",
        headers: { host: `127.0.0.1:${PORT}` },
        signal,
      },
      (answer) => {
        let body = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => {
          body += part;
          if (body.length > MAX_VERSION) answer.destroy(new Error("it says more than a version"));
        });
        answer.on("end", () => resolve(body));
        answer.on("error", reject);
      },
    );
    asking.on("error", reject);
    asking.end();
  });
  return new URL(Version.parse(JSON.parse(text)).webSocketDebuggerUrl).pathname;
}

async function toStartError(chromium: SandboxProcess, signal: AbortSignal): Promise<ToolyardError> {
  if (chromium.exit?.exitCode === MISSING) {
    return new ToolyardError("runtime_unavailable", "the sandbox has no Chromium", {
      suggestion: "For docker: toolyard images build desktop. For local: apt-get install chromium.",
    });
  }
  const { chunks } = await chromium.read({ cursor: 0, signal });
  const said = Buffer.concat(chunks.map(({ data }) => data))
    .toString("utf8")
    .trim();
  await chromium.remove();
  return new ToolyardError("dependency_failed", "Chromium did not start", {
    details: { said: said.slice(-SAID_CHARACTERS) },
  });
}
