import { systemClock } from "../core/clock.ts";
import { didYouMean } from "../config/near-name.ts";
import { type Command, parseFlags, type Terminal, UsageError } from "./command.ts";
import { type BuiltImage, buildImage, type BuildRequest } from "./images/build.ts";
import { openEngine } from "./images/engine.ts";
import { inspectImages } from "./images/inventory.ts";
import { type ImageRecipe, readRecipes } from "./images/recipe.ts";
import { BuildReporter, formatMegabytes } from "./images/reporter.ts";
import { formatTable } from "./table.ts";

const FLAGS = {
  base: { type: "string" },
  bootstrap: { type: "boolean" },
  packages: { type: "string", multiple: true },
  force: { type: "boolean" },
  verbose: { type: "boolean" },
  socket: { type: "string" },
  json: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseFlags<typeof FLAGS>>["values"];

/** Debian's own rule for names; nothing else may reach the shell of a build. */
const PACKAGE = /^[a-z0-9][a-z0-9+.-]+$/;
const IMAGE = /^[a-z0-9][a-z0-9._/:@-]{0,254}$/i;
const COLUMNS = ["image", "state", "size", "version", "base", "built at"] as const;
const CANCELLED = 130;

/** Builds and lists the images that sandboxes are made from. */
export const images: Command = {
  help: `Usage: toolyard images build [NAME ...] [flags]
       toolyard images list

Builds the sandbox images (all, or those that are named) on the Docker Engine that --socket or DOCKER_HOST names, or the
machine's own. The base is debian:bookworm-slim where a registry answers, and made from Debian's packages with mmdebstrap
where none does. What is there already, built from the same files, is not built again.

  --base IMAGE     build on this Debian 12 image
  --bootstrap      make the base from Debian's packages, without asking a registry
  --packages P     further Debian packages, such as "golang-go npm"; may be given again
  --force          build anew, with packages as they are today
  --verbose        show all that the build prints
  --socket PATH    the engine's unix socket
  --json           print the outcome as JSON`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(args, FLAGS, Number.POSITIVE_INFINITY);
    const [subcommand, ...names] = positionals;
    if (subcommand !== "build" && subcommand !== "list") throw new UsageError("images takes build or list");
    const request = toRequest(values);
    if (subcommand === "build") return build(await chooseRecipes(names), { values, request, terminal });
    const foreign = Object.keys(values).find((flag) => flag !== "json" && flag !== "socket");
    if (foreign !== undefined) throw new UsageError(`--${foreign} belongs to images build`);
    if (names[0] !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(names[0])}`);
    return list(values, terminal);
  },
};

/** Reads what is to be built from the flags; checks everything that a build would interpret. */
export function toRequest({ base, bootstrap, packages = [] }: Values): BuildRequest {
  if (base !== undefined && bootstrap === true) throw new UsageError("--base and --bootstrap exclude each other");
  if (base !== undefined && !IMAGE.test(base))
    throw new UsageError(`--base takes an image, not ${JSON.stringify(base)}`);
  const named = packages.flatMap((text) => text.split(/[\s,]+/)).filter((name) => name !== "");
  const bad = named.find((name) => !PACKAGE.test(name));
  if (bad !== undefined) throw new UsageError(`--packages takes Debian packages, not ${JSON.stringify(bad)}`);
  return { base: { image: base, bootstrap }, packages: [...new Set(named)].toSorted() };
}

async function chooseRecipes(names: readonly string[]): Promise<readonly ImageRecipe[]> {
  const recipes = await readRecipes();
  const known = recipes.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new UsageError(`there is no image ${name}${didYouMean(name, known) || `; there are ${known.join(", ")}`}`);
  }
  return names.length === 0 ? recipes : recipes.filter(({ name }) => names.includes(name));
}

interface BuildInvocation {
  readonly values: Values;
  readonly request: BuildRequest;
  readonly terminal: Terminal;
}

async function build(recipes: readonly ImageRecipe[], { values, request, terminal }: BuildInvocation): Promise<number> {
  const engine = await openEngine(values.socket);
  const cancelled = new AbortController();
  // A second one finds no listener and ends the process at once.
  const cancel = (): void => cancelled.abort();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, cancel);
  const built: BuiltImage[] = [];
  try {
    for (const recipe of recipes) {
      const { verbose, force = false } = values;
      const reporter = new BuildReporter({ name: recipe.name, write: terminal.warn, now: systemClock.now, verbose });
      // One after another on purpose: side by side they take as long, and their lines would mingle.
      // oxlint-disable-next-line no-await-in-loop
      built.push(await buildImage(engine, recipe, request, { reporter, signal: cancelled.signal, force }));
    }
  } catch (error) {
    if (!cancelled.signal.aborted) throw error;
    terminal.warn("cancelled; what was built before is kept");
    return CANCELLED;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, cancel);
  }
  if (values.json) terminal.print(JSON.stringify({ images: built.map(toJson) }));
  else for (const { reference } of built) terminal.print(reference);
  return 0;
}

function toJson({ name, reference, version, base, unchanged, sizeBytes, durationMs }: BuiltImage): object {
  const duration_ms = Math.round(durationMs);
  return { name, reference, version, base, unchanged, size_bytes: sizeBytes, duration_ms };
}

async function list({ json, socket }: Values, terminal: Terminal): Promise<number> {
  const entries = await inspectImages(await openEngine(socket), await readRecipes());
  if (json) terminal.print(JSON.stringify({ images: entries }));
  else {
    const rows = entries.map(({ reference, state, size_bytes: size, version, base, built_at: builtAt }) => [
      ...[reference, state, size === null ? "" : formatMegabytes(size), version ?? "", base ?? "", builtAt ?? ""],
    ]);
    terminal.print(formatTable([COLUMNS, ...rows]));
  }
  const missing = entries.filter(({ state }) => state !== "built").map(({ name }) => name);
  if (missing.length > 0) terminal.warn(`to build what is missing: toolyard images build ${missing.join(" ")}`);
  return 0;
}
