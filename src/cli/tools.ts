import { type Command, parseFlags } from "./command.ts";
import { askServer, SERVER_FLAGS, SERVER_FLAGS_HELP, toRefusal } from "./server-connection.ts";
import { formatTable } from "./table.ts";

/** Lists the tools of a running server. */
export const tools: Command = {
  help: `Usage: toolyard tools [NAME] [flags]

Lists the tools; with a name, shows that tool and the JSON Schema of its params and result.

  --all         hidden ones too
${SERVER_FLAGS_HELP}`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(args, { ...SERVER_FLAGS, all: { type: "boolean" } }, 1);
    const [name] = positionals;
    const path =
      name === undefined
        ? `/api/v1/tools?include_hidden=${values.all === true}`
        : `/api/v1/tools/${encodeURIComponent(name)}/schema`;
    const answer = await askServer({ url: values.url, apiKey: values["api-key"], path, terminal });
    if (answer.status !== 200) throw toRefusal(answer);
    if (values.json) terminal.print(JSON.stringify(answer.body));
    else if (name === undefined) terminal.print(formatTable(toRows(answer.body)));
    else terminal.print(JSON.stringify(answer.body, null, 2));
    return 0;
  },
};

function toRows(body: unknown): readonly (readonly string[])[] {
  const listed = typeof body === "object" && body !== null && "tools" in body ? body.tools : [];
  if (!Array.isArray(listed)) return [];
  return listed.map((tool: { readonly full_name?: unknown; readonly description?: unknown }) => [
    String(tool.full_name ?? ""),
    String(tool.description ?? "").split("\n")[0] ?? "",
  ]);
}
