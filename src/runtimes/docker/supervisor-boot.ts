import { SUPERVISOR_FILE } from "../kernel/sources.ts";
import { SUPERVISOR_FOLDER } from "./container-options.ts";
import { SOCKET_NAME, TOKEN_NAME } from "./session-folder.ts";

const BOOT = `
import os, runpy, socket
host = socket.socket(socket.AF_UNIX)
host.connect("${SUPERVISOR_FOLDER}/${SOCKET_NAME}")
with open("${SUPERVISOR_FOLDER}/${TOKEN_NAME}", "rb") as file:
    proof = b'{"t":"auth","token":"' + file.read() + b'"}'
host.sendall(len(proof).to_bytes(4, "big") + proof)
fd = host.detach()
if fd != 3:
    os.dup2(fd, 3)
    os.close(fd)
runpy.run_path("${SUPERVISOR_FOLDER}/${SUPERVISOR_FILE}")
`;

/** The command of a container with a supervisor. */
export function toSupervisorCommand(python: string): readonly string[] {
  return [python, "-B", "-c", BOOT];
}
