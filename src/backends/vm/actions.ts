import type { ActionsOf } from "../../core/action.ts";
import type { AliasTools } from "./alias-tools.ts";
import type { EpisodeTools } from "./episode/episode-tools.ts";
import type { KnownTools } from "./known-tools.ts";
import type { StreamTools } from "./stream-tools.ts";
import type { UnionTools } from "./union-tools.ts";

/** The actions of the vm backend, for the typed client. */
export type VmActions = ActionsOf<KnownTools & UnionTools & AliasTools & EpisodeTools & StreamTools, "vm">;
