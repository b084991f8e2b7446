import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { vi } from "vitest";

/** A real PostgreSQL server that listens on a socket in a folder of its own. */
export interface PostgresServer {
  /** A URL of a database for a role; the superuser is `admin`. */
  url(database: string, role: string): string;
  /** Runs statements as the superuser. */
  run(database: string, statements: readonly string[]): Promise<void>;
  /** What the server's backends run now, but for this question. */
  running(database: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Where the server's programs are; `undefined` where it is not installed. */
export function findPostgres(): string | undefined {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base) ? readdirSync(base).toSorted((left, right) => Number(right) - Number(left)) : [];
  const folders = [...versions.map((version) => join(base, version, "bin")), ...(process.env["PATH"] ?? "").split(":")];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** PostgreSQL refuses to run as root: its own user where there is one, nobody else. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const [, , uid, gid] = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Makes a cluster and starts a server on it, which knows no password and does without the disk's safety. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  // A socket's path is short.
  const folder = mkdtempSync(join(tmpdir(), "ty-pg-"));
  const owner = unprivileged();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, "data");
  const options = { ...owner, cwd: folder, env: { LC_ALL: "C.UTF-8", TZ: "UTC" }, stdio: "ignore" } as const;
  const initialize = ["-D", data, "-U", "admin", "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"];
  execFileSync(join(programs, "initdb"), initialize, options);
  const settings = ["fsync=off", "listen_addresses=", `unix_socket_directories=${folder}`, "max_connections=30"];
  const server = spawn(
    join(programs, "postgres"),
    ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
    options,
  );
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const url = (database: string, role: string) => `postgresql://${role}@/${database}?host=${folder}`;
  const within = async <T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url(database, "admin") });
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  await vi.waitFor(() => within("postgres", () => Promise.resolve()), { timeout: 60_000, interval: 100 });
  return {
    url,
    run: (database, statements) =>
      within(database, async (client) => {
        // oxlint-disable-next-line no-await-in-loop
        for (const statement of statements) await client.query(statement);
      }),
    running: (database) =>
      within("postgres", async (client) => {
        const { rows } = await client.query<{ query: string }>(
          "SELECT query FROM pg_stat_activity WHERE state = 'active' AND datname = $1",
          [database],
        );
        return rows.map(({ query }) => query);
      }),
    async stop() {
      // Fast shutdown: it does not wait for its clients.
      server.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
