import type Docker from "dockerode";
import { engineProblem, openEngine } from "../images/engine.ts";
import { type ImageEntry, inspectImages } from "../images/inventory.ts";
import { readRecipes } from "../images/recipe.ts";
import { formatMegabytes } from "../images/reporter.ts";
import { CommandError } from "../command.ts";
import { type Finding, good, missing, warning } from "../finding.ts";
import { judgeEngine } from "./engine-findings.ts";
import { parseEngineReport } from "./engine-report.ts";
import { checkBubblewrap, checkDataRoom, checkEngineRoom, checkUserNamespaces } from "./machine-findings.ts";

const LOOK_MS = 10_000;

/** Where a server would work. */
export interface Place {
  readonly dataDir: string;
  /** Of the engine, as the config names it. */
  readonly socket: string | undefined;
}

/** Looks at what keeps sandboxed code in, and at the room that there is; changes nothing. */
export async function preflight({ dataDir, socket }: Place): Promise<readonly Finding[]> {
  const looks = [checkEngine(socket), checkBubblewrap(), checkUserNamespaces(), checkDataRoom(dataDir)];
  return (await Promise.all(looks)).flat();
}

async function checkEngine(socket: string | undefined): Promise<readonly Finding[]> {
  let engine: Docker;
  try {
    engine = await openEngine(socket);
  } catch (error) {
    const detail = error instanceof CommandError ? error.message : `no Docker Engine answers: ${engineProblem(error)}`;
    return [missing("engine", detail, "Sandboxes then run in local or quickjs.")];
  }
  try {
    // The types know no signal; the options do.
    const bounded = { abortSignal: AbortSignal.timeout(LOOK_MS) } as never;
    const report = parseEngineReport(await engine.version(bounded), await engine.info(bounded));
    const images = await inspectImages(engine, await readRecipes());
    return [...judgeEngine(report), ...(await checkEngineRoom(report.info.DockerRootDir)), ...images.map(toFinding)];
  } catch (error) {
    return [
      missing("engine", `it answers, and then does not: ${engineProblem(error)}`, "See its log, or start it anew."),
    ];
  }
}

/** Says whether an image of ours is there and of this package's files. */
export function toFinding({ name, reference, state, size_bytes: size }: ImageEntry): Finding {
  const check = `image ${name}`;
  const remedy = `To build it: toolyard images build ${name}`;
  if (state === "missing") return missing(check, `the engine has no ${reference}`, remedy);
  if (state === "outdated")
    return warning(check, `${reference} was built from other files than this version has`, remedy);
  return good(check, `${reference}, ${formatMegabytes(size ?? 0)}`);
}
