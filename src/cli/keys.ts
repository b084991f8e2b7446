import { type Command, parseFlags, type Terminal, UsageError } from "./command.ts";
import { parseDuration } from "./duration.ts";
import { type KeyDoor, withKeys } from "./key-door.ts";
import { SERVER_FLAGS } from "./server-connection.ts";
import { formatTable } from "./table.ts";

const COLUMNS = ["id", "name", "tenant", "scopes", "status", "created_at", "expires_at"] as const;

const FLAGS = {
  ...SERVER_FLAGS,
  data: { type: "string" },
  name: { type: "string" },
  tenant: { type: "string" },
  scope: { type: "string", multiple: true },
  expires: { type: "string" },
  grace: { type: "string" },
} as const;

/** The flags that one of the subcommands takes alone. */
const OWN_FLAGS: Readonly<Record<string, string>> = {
  name: "create",
  tenant: "create",
  scope: "create",
  expires: "create",
  grace: "rotate",
};

type Values = ReturnType<typeof parseFlags<typeof FLAGS>>["values"];

/** Makes, lists, revokes and rotates API keys. */
export const keys: Command = {
  help: `Usage: toolyard keys create --name N [--tenant T] [--scope S ...] [--expires 30d] [flags]
       toolyard keys list
       toolyard keys revoke ID
       toolyard keys rotate ID [--grace 1h]

Works on the data folder, or on the server that uses it. A key is shown once, when it is made; only its hash is kept. As soon as
there is a key, a server asks every caller for one.

  --name N      what it is for
  --tenant T    whose it is (default); tenants do not see each other's sessions, jobs and events
  --scope S     what it may do (*): resource:verb, such as code:execute or *:read; the verbs are execute, session, read, admin
  --expires D   how long it is good (for ever): 90s, 15m, 1h, 30d, 2w
  --grace D     how long the old key stays good beside its successor (1h)
  --data DIR    the data folder (.toolyard)
  --url U       the server, in place of a data folder (TOOLYARD_URL)
  --api-key K   who you are to the server (TOOLYARD_API_KEY)
  --json        print the answer as JSON`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(args, FLAGS, 2);
    const [subcommand = "", id] = positionals;
    const foreign = Object.entries(OWN_FLAGS).find(([flag, owner]) => flag in values && owner !== subcommand);
    const work = Object.hasOwn(SUBCOMMANDS, subcommand) ? SUBCOMMANDS[subcommand] : undefined;
    if (work === undefined) throw new UsageError(`keys takes ${Object.keys(SUBCOMMANDS).join(", ")}`);
    if (foreign !== undefined) throw new UsageError(`--${foreign[0]} belongs to keys ${foreign[1]}`);
    const place = { url: values.url, apiKey: values["api-key"], dataDir: values.data, terminal };
    const run = work({ values, id, terminal });
    await withKeys(place, run);
    return 0;
  },
};

interface Invocation {
  readonly values: Values;
  readonly id: string | undefined;
  readonly terminal: Terminal;
}

/** Each checks the command line before anything is opened. */
const SUBCOMMANDS: Readonly<Record<string, (invocation: Invocation) => (door: KeyDoor) => Promise<void>>> = {
  create({ values, id, terminal }) {
    if (values.name === undefined) throw new UsageError("keys create needs --name");
    if (id !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(id)}`);
    const expiresInMs = parseDuration("expires", values.expires);
    const request = { name: values.name, tenant: values.tenant, scopes: values.scope, expiresInMs };
    return async (door) => {
      const created = await door.create(request);
      terminal.print(values.json ? JSON.stringify(created) : created.key);
      if (!values.json) terminal.warn("This is the only time that the key is shown: keep it safe.");
      if (created.closes_server) terminal.warn("The server asks every caller for a key from now on.");
    };
  },
  list({ values, id, terminal }) {
    if (id !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(id)}`);
    return async (door) => {
      const list = await door.list();
      const rows = list.map((key) => COLUMNS.map((column) => String(key[column] ?? "never")));
      if (values.json) terminal.print(JSON.stringify({ keys: list, count: list.length }));
      else if (rows.length === 0) terminal.print("there are no keys");
      else terminal.print(formatTable([COLUMNS, ...rows]));
    };
  },
  revoke({ values, id, terminal }) {
    const known = needId(id, "revoke");
    return async (door) => {
      const revoked = await door.revoke(known);
      terminal.print(values.json ? JSON.stringify(revoked) : `${revoked.id} (${revoked.name}) is revoked`);
    };
  },
  rotate({ values, id, terminal }) {
    const known = needId(id, "rotate");
    const graceMs = parseDuration("grace", values.grace);
    return async (door) => {
      const successor = await door.rotate(known, graceMs);
      terminal.print(values.json ? JSON.stringify(successor) : successor.key);
      if (!values.json) {
        terminal.warn(`This is the only time that the key is shown; ${known} stays good for ${values.grace ?? "1h"}.`);
      }
    };
  },
};

function needId(id: string | undefined, subcommand: string): string {
  if (id === undefined) throw new UsageError(`keys ${subcommand} needs the id of a key; "toolyard keys list" has them`);
  return id;
}
