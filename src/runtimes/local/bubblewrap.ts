import { existsSync } from "node:fs";
import type { SandboxSpec } from "../../core/runtime.ts";

/** The user that sandboxes run as, inside and, where the server is root, outside too. */
export const SANDBOX_UID = 65534;

const SUPERVISOR_FOLDER = "/run/toolyard";

/** One interpreter of the host and what must be visible in the sandbox for it to run. */
export interface Interpreter {
  readonly path: string;
  /** Folders to bind read-only beside the system's own; empty for one under /usr. */
  readonly binds: readonly string[];
}

/** What one sandbox is launched with. */
export interface Launch {
  readonly bwrap: string;
  readonly python: Interpreter;
  readonly node?: Interpreter;
  /** File name → the descriptor that bwrap reads its content from. */
  readonly files: Readonly<Record<string, number>>;
  readonly passwdFd: number;
  /** Where bwrap reads the filter of system calls from, where there is one. */
  readonly callFilterFd?: number;
  readonly diskMiB: number;
  readonly environment: SandboxSpec["environment"];
  /** bwrap ≥ 0.8 can forbid further user namespaces. */
  readonly canDisableUserNamespaces: boolean;
}

const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"];
// What the dynamic linker and Debian's command symlinks need; nothing here tells who the host is.
const SYSTEM_FILES = ["/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"];
// What programs under /usr keep of themselves there; they do not start without it.
const PROGRAM_FOLDERS = ["/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/R", "/etc/php"];

/**
 * Builds bwrap's arguments: every namespace unshared, no network, the system's programs read-only, private and
 * size-bound /workspace, /tmp and /dev/shm, and nothing else of the host.
 */
export function toBubblewrapArguments(launch: Launch): string[] {
  const size = String(launch.diskMiB * 1024 * 1024);
  const tmpfs = (path: string) => ["--perms", "1777", "--size", size, "--tmpfs", path];
  const binds = new Set([...launch.python.binds, ...(launch.node?.binds ?? [])]);
  const environment = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/workspace",
    // It installs into HOME, where it can break nothing of a system.
    PIP_BREAK_SYSTEM_PACKAGES: "1",
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    PYTHONDONTWRITEBYTECODE: "1",
    ...launch.environment,
    ...(launch.node === undefined ? {} : { TOOLYARD_NODE: launch.node.path }),
  };
  return [
    "--unshare-all",
    "--unshare-user",
    ...(launch.canDisableUserNamespaces ? ["--disable-userns"] : []),
    ...["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"],
    ...["--uid", String(SANDBOX_UID), "--gid", String(SANDBOX_UID), "--hostname", "sandbox"],
    ...["--ro-bind", "/usr", "/usr"],
    ...SYSTEM_FOLDERS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...[...SYSTEM_FILES, ...PROGRAM_FOLDERS].flatMap((path) => ["--ro-bind-try", path, path]),
    ...[...binds].flatMap((path) => ["--ro-bind", path, path]),
    ...(launch.callFilterFd === undefined ? [] : ["--seccomp", String(launch.callFilterFd)]),
    ...["--proc", "/proc", "--dev", "/dev"],
    // Else message queues could neither be listed nor removed, and would outlive a reset.
    ...["--mqueue", "/dev/mqueue"],
    ...tmpfs("/dev/shm"),
    ...tmpfs("/tmp"),
    ...tmpfs("/workspace"),
    ...["--perms", "0444", "--ro-bind-data", String(launch.passwdFd), "/etc/passwd"],
    ...Object.entries(launch.files).flatMap(([name, fd]) => [
      ...["--perms", "0444", "--ro-bind-data", String(fd), `${SUPERVISOR_FOLDER}/${name}`],
    ]),
    // The tmpfs that bwrap builds the root and /dev on would otherwise take any amount of files.
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace", "--clearenv"],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--", launch.python.path, "-B", `${SUPERVISOR_FOLDER}/supervisor.py`],
  ];
}

/** Where an interpreter may be, best first: the system's own needs no further binds. */
export function findInterpreters(name: string, others: readonly string[]): Interpreter[] {
  const system = [`/usr/bin/${name}`, `/usr/local/bin/${name}`].map((path) => ({ path, binds: [] }));
  const elsewhere = others.map((path) => ({ path, binds: [path.replace(/\/bin\/[^/]+$/, "")] }));
  return [...system, ...elsewhere].filter(({ path }) => existsSync(path));
}
