import { ToolyardError } from "../core/errors.ts";
import type { HttpServiceClient } from "./http-client.ts";
import type { SandboxOptions } from "./sandbox-options.ts";

/**
 * Warms up what a sandbox's options ask for.
 *
 * @throws ToolyardError `backend_unavailable` when not all of it could be.
 */
export async function warmAtStart(client: HttpServiceClient, warmup: SandboxOptions["warmup"] = false): Promise<void> {
  if (warmup === false) return;
  const report = await client.warmup(warmup === true ? undefined : warmup);
  if (report.status === "success") return;
  const details = { results: report.results, errors: report.errors ?? {} };
  throw new ToolyardError("backend_unavailable", "not every backend could be warmed up", { details });
}
