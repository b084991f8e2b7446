import { spawn } from "node:child_process";
import { accessSync, constants, globSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Availability, Language, RuntimeStatus } from "../../core/runtime.ts";
import { findInterpreters, type Interpreter, SANDBOX_UID } from "./bubblewrap.ts";

const PROBE_MS = 10_000;
const REMEDY = "apt-get install bubblewrap python3";

/** What this machine has for local sandboxes. */
export interface Findings {
  readonly bwrap: string | undefined;
  readonly canDisableUserNamespaces: boolean;
  readonly python: Interpreter | undefined;
  readonly node: Interpreter | undefined;
  readonly status: RuntimeStatus;
}

/** Looks for bwrap and interpreters by running them in a sandbox, since a path that exists may be unreadable inside. */
export async function probe(signal: AbortSignal): Promise<Findings> {
  const bwrap = findProgram("bwrap");
  if (process.platform !== "linux" || bwrap === undefined) {
    const reason =
      process.platform === "linux" ? "bubblewrap (bwrap) is not installed" : "it needs Linux and bubblewrap";
    return nothing(bwrap, reason, REMEDY);
  }
  const probing = { bwrap, signal, flags: ["--disable-userns"] };
  let basic = await run(probing, { path: "/usr/bin/true", binds: [] }, []);
  const canDisableUserNamespaces = basic.ok;
  if (!basic.ok) basic = await run({ ...probing, flags: [] }, { path: "/usr/bin/true", binds: [] }, []);
  if (!basic.ok) {
    const remedy =
      "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 (or user.max_user_namespaces > 0)";
    return nothing(bwrap, `bwrap cannot make a sandbox: ${basic.output}`, remedy);
  }
  const [python, node, bash] = await Promise.all([
    firstThatRuns(probing, findInterpreters("python3", pythonsElsewhere())),
    firstThatRuns(probing, findInterpreters("node", [process.execPath])),
    firstThatRuns(probing, findInterpreters("bash", [])),
  ]);
  if (python.interpreter === undefined) {
    const reason = `its supervisor needs a python3 that runs in the sandbox: ${python.reason}`;
    return { ...nothing(bwrap, reason, REMEDY), canDisableUserNamespaces };
  }
  const languages: Record<Language, Availability> = {
    python: toAvailability(python, REMEDY),
    javascript: toAvailability(node, "apt-get install nodejs, or use the quickjs runtime for JavaScript"),
    bash: toAvailability(bash, "apt-get install bash"),
  };
  return {
    bwrap,
    canDisableUserNamespaces,
    python: python.interpreter,
    node: node.interpreter,
    status: { available: true, languages },
  };
}

interface Probing {
  readonly bwrap: string;
  readonly signal: AbortSignal;
  readonly flags: readonly string[];
}

interface Found {
  readonly interpreter: Interpreter | undefined;
  readonly version?: string;
  readonly reason: string;
}

function nothing(bwrap: string | undefined, reason: string, remedy: string): Findings {
  const missing = { available: false, reason, remedy };
  const languages = { python: missing, javascript: missing, bash: missing };
  return {
    bwrap,
    canDisableUserNamespaces: false,
    python: undefined,
    node: undefined,
    status: { ...missing, languages },
  };
}

function toAvailability({ interpreter, version, reason }: Found, remedy: string): Availability {
  if (interpreter === undefined) return { available: false, reason, remedy };
  return version === undefined ? { available: true } : { available: true, version };
}

async function firstThatRuns(probing: Probing, candidates: readonly Interpreter[]): Promise<Found> {
  const reasons: string[] = [];
  for (const interpreter of candidates) {
    // One after another on purpose: the first is nearly always right.
    // oxlint-disable-next-line no-await-in-loop
    const { ok, output } = await run({ ...probing, flags: [] }, interpreter, ["--version"]);
    if (ok) {
      const version = /\d+(\.\d+)+/.exec(output)?.[0];
      return { interpreter, reason: "", ...(version === undefined ? {} : { version }) };
    }
    reasons.push(`${interpreter.path}: ${output}`);
  }
  return { interpreter: undefined, reason: reasons.join("; ") || "none was found" };
}

function run(
  { bwrap, signal, flags }: Probing,
  { path, binds }: Interpreter,
  argv: readonly string[],
): Promise<{ ok: boolean; output: string }> {
  const folders = ["/bin", "/lib", "/lib32", "/lib64"].flatMap((folder) => ["--ro-bind-try", folder, folder]);
  const args = [
    ...["--unshare-all", "--unshare-user", ...flags, "--die-with-parent", "--new-session", "--as-pid-1"],
    ...["--uid", String(SANDBOX_UID), "--gid", String(SANDBOX_UID), "--ro-bind", "/usr", "/usr", ...folders],
    ...binds.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--", path, ...argv],
  ];
  return new Promise((resolve) => {
    const child = spawn(bwrap, args, {
      ...(process.getuid?.() === 0 ? { uid: SANDBOX_UID, gid: SANDBOX_UID } : {}),
      cwd: "/",
      env: {},
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
      signal,
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(0, 1000);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => resolve({ ok: false, output: error.message }));
    child.on("close", (code) => resolve({ ok: code === 0, output: output.trim() || `exit code ${code}` }));
  });
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/usr/local/bin"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function pythonsElsewhere(): string[] {
  const home = process.env["HOME"] ?? "/root";
  return globSync(`${home}/.pyenv/versions/3.{9,1?}*/bin/python3`).toSorted().toReversed();
}
