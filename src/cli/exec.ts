import { isEnvelope } from "../client/envelope.ts";
import { formatToolResult } from "../client/format/format-tool-result.ts";
import { type Command, parseFlags, parseNumber, UsageError } from "./command.ts";
import { askServer, SERVER_FLAGS, SERVER_FLAGS_HELP, toRefusal } from "./server-connection.ts";

/** Milliseconds that the CLI waits beyond the call's own limit. */
const MARGIN_MS = 15_000;

/** Calls one tool of a running server. */
export const exec: Command = {
  help: `Usage: toolyard exec ACTION [JSON | -p key=value ...] [flags]

Calls a tool and prints its result. The exit code is 0 if the tool did its work, 1 if it did not, or if what it ran failed (the
outcome tool_error), 2 if the command line is wrong. What a tool says of its failure goes to standard error: what failed, what to do
next, and the error's name.

  -p key=value  one param; read as JSON where it is JSON, else as text
  --worker W    who calls (cli)
  --timeout S   seconds that the call may take
${SERVER_FLAGS_HELP}

  toolyard exec code:run '{"language":"javascript","code":"1+1"}'
  toolyard exec echo -p message=hello`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(
      args,
      {
        ...SERVER_FLAGS,
        param: { type: "string", short: "p", multiple: true },
        worker: { type: "string", default: "cli" },
        timeout: { type: "string" },
      },
      2,
    );
    const [action, json] = positionals;
    if (action === undefined) throw new UsageError("exec needs an action, such as code:run");
    const seconds = parseNumber("timeout", values.timeout, { min: 0, max: 2_000_000 });
    const answer = await askServer({
      url: values.url,
      apiKey: values["api-key"],
      path: "/execute",
      body: {
        worker_id: values.worker,
        action,
        params: { ...parseJson(json), ...parsePairs(values.param ?? []) },
        ...(seconds !== undefined && { timeout: seconds }),
      },
      timeoutMs: seconds === undefined || seconds === 0 ? false : seconds * 1000 + MARGIN_MS,
      terminal,
    });
    const { body } = answer;
    if (!isEnvelope(body)) throw toRefusal(answer);
    if (values.json) terminal.print(JSON.stringify(body));
    else if (body.code === 0) terminal.print(formatToolResult(body));
    else terminal.warn(formatToolResult(body, { verbose: true }));
    return body.code === 0 && (body.meta.outcome ?? "ok") === "ok" ? 0 : 1;
  },
};

function parseJson(text: string | undefined): object {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`the params are not JSON: ${text}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`the params are not a JSON object: ${text}`);
}

function parsePairs(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const split = pair.indexOf("=");
      if (split < 1) throw new UsageError(`-p takes key=value, not ${JSON.stringify(pair)}`);
      return [pair.slice(0, split), parseValue(pair.slice(split + 1))];
    }),
  );
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
