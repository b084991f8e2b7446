import { SUPERVISOR_FILE } from "../kernel/sources.ts";
import { SUPERVISOR_FOLDER } from "./container-options.ts";
import { SOCKET_NAME, TOKEN_NAME } from "./session-folder.ts";

/**
 * The command of a container with a supervisor.
 *
 * @param patienceSeconds how long it keeps everything running without a host.
 */
export function toSupervisorCommand(python: string, patienceSeconds: number): readonly string[] {
  const inside = (name: string) => `${SUPERVISOR_FOLDER}/${name}`;
  return [
    ...[python, "-B", inside(SUPERVISOR_FILE)],
    ...["--connect", inside(SOCKET_NAME), "--token", inside(TOKEN_NAME), "--patience", String(patienceSeconds)],
  ];
}
