import { ToolyardError } from "../../core/errors.ts";
import { Presence } from "./presence.ts";
import { openStateFolder, type StateFolder } from "./state-folder.ts";

/** Where one server of a deployment works: the folder that all of them share, and its own presence in it. */
export interface Premises {
  readonly state: StateFolder;
  readonly presence: Presence;
}

/** @throws ToolyardError `runtime_unavailable` when the folder cannot be used. */
export async function openPremises(path: string): Promise<Premises> {
  try {
    const state = openStateFolder(path);
    return { state, presence: await Presence.open(state.path) };
  } catch (cause) {
    throw new ToolyardError("runtime_unavailable", "the docker runtime cannot use its state folder", {
      suggestion: "Name a short path that the server's user owns as runtimes.docker.state_folder in its config.",
      cause,
    });
  }
}
