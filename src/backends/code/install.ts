import { ToolyardError } from "../../core/errors.ts";
import type { NetworkPolicy } from "../../core/runtime.ts";
import type { InstallParams, InstallResult } from "./code-schemas.ts";
import type { CodeContext } from "./session.ts";
import type { z } from "zod";

/** The hosts that each manager asks, unless the environment names a mirror. */
const REGISTRIES = {
  pip: ["pypi.org", "files.pythonhosted.org"],
  npm: ["registry.npmjs.org"],
} as const;

/**
 * Installs packages with the sandbox's own package manager, under its user's folder.
 *
 * @throws ToolyardError `address_refused` when the session has no network and not every package is a path; `timeout`.
 */
export async function installPackages(
  params: z.output<typeof InstallParams>,
  maxTimeoutMs: number,
  context: CodeContext,
): Promise<InstallResult> {
  const { manager, packages } = params;
  const { sandboxes, timeoutMs: defaultTimeoutMs } = context.session.data;
  const box = sandboxes.able("exec");
  const local = packages.every((name) => /^(\.{0,2}\/)/.test(name));
  const offline = toOffline(sandboxes.spec.network);
  if (offline && !local) throw noNetwork(manager);
  const timeoutMs = Math.max(
    1,
    Math.min(params.timeout_ms ?? defaultTimeoutMs, maxTimeoutMs, Math.floor(context.timeLeftMs)),
  );
  const result = await box.exec(
    { command: toCommand(manager, packages, offline), timeoutMs },
    { signal: context.signal, onOutput: (stream, text) => context.output(stream, text) },
  );
  const { stdout, stderr } = result;
  if (result.timedOut) {
    throw new ToolyardError("timeout", `${manager} did not end within ${timeoutMs} ms`, {
      details: { limit: "timeout", timeout_ms: timeoutMs, stdout: stdout.text, stderr: stderr.text },
    });
  }
  return {
    manager,
    packages,
    installed: result.exitCode === 0,
    exit_code: result.exitCode,
    stdout: stdout.text,
    stderr: stderr.text,
    duration_ms: result.durationMs,
  };
}

function toOffline(network: NetworkPolicy | undefined): boolean {
  return network === undefined || network === "none" || network.allow.length === 0;
}

function toCommand(manager: "pip" | "npm", packages: readonly string[], offline: boolean): string[] {
  if (manager === "npm") {
    return ["npm", "install", "--no-audit", "--no-fund", ...(offline ? ["--offline"] : []), "--", ...packages];
  }
  // The sandbox is nobody's system: the mark that keeps users of a distribution from its own packages means nothing in it.
  const own = [
    "--user",
    "--break-system-packages",
    "--no-input",
    // It would take a session's disk, and nobody installs the same twice.
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--no-warn-script-location",
  ];
  return ["python3", "-m", "pip", "install", ...own, ...(offline ? ["--no-index"] : []), "--", ...packages];
}

function noNetwork(manager: "pip" | "npm"): ToolyardError {
  const hosts = REGISTRIES[manager];
  return new ToolyardError("address_refused", `${manager} cannot reach its registry: the session's network is none`, {
    details: { manager, network: "none" },
    suggestion:
      `Create the session with session_config {"network": {"allow": ${JSON.stringify(hosts)}}}, if the server's config ` +
      "allows it, or put the package into the sandbox and name its path.",
  });
}
