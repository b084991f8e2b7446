import { isEnvelope } from "../client/envelope.ts";
import { field, listField } from "../client/format/fields.ts";
import { type Command, parseFlags } from "./command.ts";
import { askServer, SERVER_FLAGS, SERVER_FLAGS_HELP, toRefusal } from "./server-connection.ts";
import { formatTable } from "./table.ts";

const COLUMNS = ["resource_type", "session_id", "status", "last_activity", "expires_at"] as const;

/** Lists a worker's sessions. */
export const sessions: Command = {
  help: `Usage: toolyard sessions [--worker W] [flags]

  --worker W    whose (cli, which is who "toolyard exec" calls as)
${SERVER_FLAGS_HELP}`,

  async run(args, terminal) {
    const { values } = parseFlags(args, { ...SERVER_FLAGS, worker: { type: "string", default: "cli" } });
    const answer = await askServer({
      url: values.url,
      apiKey: values["api-key"],
      path: "/api/v1/session/list",
      body: { worker_id: values.worker },
      terminal,
    });
    const { body } = answer;
    if (!isEnvelope(body) || body.code !== 0) throw toRefusal(answer);
    const rows = listField(body.data, "sessions").map((session) =>
      COLUMNS.map((column) => String(field(session, column) ?? "")),
    );
    if (values.json) terminal.print(JSON.stringify(body));
    else if (rows.length === 0) terminal.print(`${values.worker} has no sessions`);
    else terminal.print(formatTable([COLUMNS, ...rows]));
    return 0;
  },
};
