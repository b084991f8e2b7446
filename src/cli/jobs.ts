import { isEnvelope } from "../client/envelope.ts";
import { field, listField } from "../client/format/fields.ts";
import { formatToolResult } from "../client/format/format-tool-result.ts";
import { type Command, parseFlags, UsageError } from "./command.ts";
import { askServer, SERVER_FLAGS, SERVER_FLAGS_HELP, toRefusal } from "./server-connection.ts";
import { formatTable } from "./table.ts";

const COLUMNS = ["job_id", "state", "worker_id", "action", "created_at", "ended_at"] as const;

/** Lists jobs, or shows, awaits or cancels one. */
export const jobs: Command = {
  help: `Usage: toolyard jobs [ID] [flags]

Lists jobs, newest first; with an ID, shows that job and its result. The exit code is 0 only if the job did not fail.

  --worker W    one worker's jobs
  --wait        until the job is over
  --cancel      cancel the job
${SERVER_FLAGS_HELP}`,

  async run(args, terminal) {
    const flags = {
      ...SERVER_FLAGS,
      worker: { type: "string" },
      wait: { type: "boolean" },
      cancel: { type: "boolean" },
    } as const;
    const { values, positionals } = parseFlags(args, flags, 1);
    const [id] = positionals;
    if (id === undefined && (values.wait === true || values.cancel === true)) {
      throw new UsageError("--wait and --cancel need the ID of a job");
    }
    const base = `/api/v1/jobs${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
    const ask = async (path: string, body?: object) => {
      const answer = await askServer({
        url: values.url,
        path,
        ...(body && { body }),
        timeoutMs: values.wait === true ? false : 30_000,
        terminal,
      });
      if (!isEnvelope(answer.body) || answer.body.code !== 0) throw toRefusal(answer);
      return answer.body;
    };

    if (id === undefined) {
      const query = values.worker === undefined ? "" : `?worker_id=${encodeURIComponent(values.worker)}`;
      const body = await ask(`${base}${query}`);
      const rows = listField(body.data, "jobs").map((job) => COLUMNS.map((column) => String(field(job, column) ?? "")));
      if (values.json) terminal.print(JSON.stringify(body));
      else terminal.print(rows.length === 0 ? "there are no jobs" : formatTable([COLUMNS, ...rows]));
      return 0;
    }

    let body = values.cancel === true ? await ask(`${base}/cancel`, {}) : await ask(base);
    while (values.wait === true && field(body.data, "ended_at") === null) body = await ask(`${base}/wait`);
    const result = field(body.data, "result");
    if (values.json) terminal.print(JSON.stringify(body));
    else {
      const row = COLUMNS.map((column) => String(field(body.data, column) ?? ""));
      terminal.print(formatTable([COLUMNS, row]));
      if (isEnvelope(result)) terminal.print(formatToolResult(result));
    }
    return isEnvelope(result) && result.code !== 0 ? 1 : 0;
  },
};
