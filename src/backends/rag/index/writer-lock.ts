import { ToolyardError } from "../../../core/errors.ts";
import { connect } from "./database.ts";

/**
 * Holds the right to write an index against other processes, which the operating system takes back from one that dies.
 *
 * @throws ToolyardError `conflict` while another process writes
 */
export async function lockForWriting(path: string): Promise<() => void> {
  const database = await connect(`${path}-writer`);
  try {
    database.pragma("busy_timeout = 2000");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw new ToolyardError("conflict", "Another process is writing this collection", {
      suggestion: "Wait until it has ended.",
      retryable: true,
      cause: error,
    });
  }
  return () => database.close();
}
