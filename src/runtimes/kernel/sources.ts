import { readFileSync } from "node:fs";

/** The file that the sandbox's python3 runs; the others lie beside it. */
export const SUPERVISOR_FILE = "supervisor.py";

const NAMES: readonly string[] = [
  SUPERVISOR_FILE,
  "supervisor_cgroup.py",
  "supervisor_channel.py",
  "supervisor_command.py",
  "supervisor_commands.py",
  "supervisor_executions.py",
  "supervisor_frames.py",
  "supervisor_displays.py",
  "supervisor_host.py",
  "supervisor_keeper.py",
  "supervisor_kernel.py",
  "supervisor_log.py",
  "supervisor_operations.py",
  "supervisor_output.py",
  "supervisor_patience.py",
  "supervisor_pipe.py",
  "supervisor_ports.py",
  "supervisor_processes.py",
  "supervisor_state.py",
  "supervisor_stats.py",
  "supervisor_timers.py",
  "supervisor_wire.py",
  "supervisor_worker.py",
  "files_archive.py",
  "files_basic.py",
  "files_search.py",
  "files_watch.py",
  "files_wipe.py",
  "files_worker.py",
  "python_kernel.py",
  "python_packages.py",
  "python_report.py",
  "python_values.py",
  "python_displays.py",
  "python_state.py",
  "shell_kernel.sh",
  "node_kernel.mjs",
  "node_displays.mjs",
  "node_text.mjs",
  "node_values.mjs",
];

/** One file of the supervisor. */
export interface SupervisorSource {
  readonly name: string;
  readonly content: Buffer;
}

let sources: readonly SupervisorSource[] | undefined;

/**
 * Reads the files that a sandbox needs in one folder, {@link SUPERVISOR_FILE} among them, once.
 *
 * Handed over as data, not as a folder: the sandbox's user need not be able to read the one that the server lies in.
 */
export function readSupervisorSources(): readonly SupervisorSource[] {
  sources ??= NAMES.map((name) => ({ name, content: readFileSync(new URL(name, import.meta.url)) }));
  return sources;
}
