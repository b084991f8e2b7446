import { type Input, tool } from "../../../core/tool.ts";
import type { VmContext } from "../session.ts";
import * as schema from "./episode-schemas.ts";

/** The surface of an episode: what was done so far, how it looks now, and how well it went. */
export class EpisodeTools {
  @tool({
    description: "Tell what was done so far: each action with who did it, when, its params and how it ended.",
    params: schema.HistoryParams,
    result: schema.HistoryResult,
    annotations: { readOnlyHint: true, idempotentHint: true },
  })
  history({ after, limit }: Input<typeof schema.HistoryParams>, { session }: VmContext) {
    const { history, ended } = session.data.episode;
    return { actions: history.since(after, limit), total: history.total, ended };
  }
}
