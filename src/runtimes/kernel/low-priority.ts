import type { ChildProcess } from "node:child_process";
import { setPriority } from "node:os";

/** A tenth of the server's weight, by the kernel's own table. */
const NICE = 10;

/** Lets the server go before its sandboxes, so that a hundred that start at once, or spin, do not keep it from answering. */
export function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
  } catch {
    // It has ended already, or the system does not let us: then it runs like any other.
  }
}
