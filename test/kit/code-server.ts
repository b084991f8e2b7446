import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CliProcess, startCli } from "../cli/cli-process.ts";

/** What a server of one runtime is started with. */
export interface CodeServerOptions {
  /** Holds the config and the data, and is what a server that comes next is started on. */
  readonly folder: string;
  readonly runtime: string;
  /** What the config says of the runtime. */
  readonly settings?: object;
  /** And of the backend. */
  readonly code?: object;
}

/** An answer's status and its JSON. */
export interface CodeAnswer {
  readonly status: number;
  // What tests expect of it is checked by the assertion itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** A real server with the code backend, in a process of its own that can be killed. */
export interface CodeServer extends CliProcess {
  readonly url: string;
  post(path: string, body: object): Promise<CodeAnswer>;
  /** Creates a session that outlives its server; throws when it cannot. */
  createSession(workerId: string, config?: object): Promise<string>;
  call(workerId: string, action: string, params: object, more?: object): Promise<CodeAnswer>;
  /** What `/ready` says of the runtime. */
  ready(): Promise<CodeAnswer["body"]>;
  /** As a crash would. */
  kill(): Promise<void>;
  /** As an operator would. */
  stop(): Promise<void>;
}

/** Starts one on a free port. */
export async function startCodeServer({
  folder,
  runtime,
  settings = {},
  code = {},
}: CodeServerOptions): Promise<CodeServer> {
  const config = join(folder, "config.json");
  const resources = { code: { backend: "code", config: { runtime, ...code } } };
  await writeFile(config, JSON.stringify({ resources, runtimes: { order: [runtime], [runtime]: settings } }));
  const server = startCli(["serve", "--config", config, "--port", "0", "--data", join(folder, "data")]);
  const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
  const post = async (path: string, body: object): Promise<CodeAnswer> => {
    const answer = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };
  return {
    ...server,
    url,
    post,
    async createSession(workerId, sessionConfig = {}) {
      const body = { worker_id: workerId, resource_type: "code", session_config: sessionConfig, ttl: 3_600 };
      const created = await post("/api/v1/session/create", body);
      if (created.status !== 200) throw new Error(`no session: ${JSON.stringify(created.body)}`);
      return String(created.body.data.session_id);
    },
    call: (workerId, action, params, more = {}) => post("/execute", { worker_id: workerId, action, params, ...more }),
    async ready() {
      const answer: unknown = await (await fetch(`${url}/ready`)).json();
      return typeof answer === "object" && answer !== null
        ? Reflect.get(Object(Reflect.get(answer, "runtimes")), runtime)
        : {};
    },
    async kill() {
      server.child.kill("SIGKILL");
      await server.ended;
    },
    async stop() {
      server.child.kill("SIGTERM");
      await server.ended;
    },
  };
}
